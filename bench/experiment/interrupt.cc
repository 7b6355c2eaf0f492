#include "bench/experiment/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

namespace bench {
namespace {

const char* program_name = "";  // set once, before the handler is installed

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so a signal handler may set it

void Say(const char* what) {
  // Does not use stdio, which the signal may have interrupted.
  for (const char* part : {"\n", program_name, ": interrupted: ", what, "\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, std::strlen(part));
  }
}

void Stop(int) {
  // Relaxed: the flag publishes nothing else.
  if (interrupted.exchange(true, std::memory_order_relaxed)) {
    Say("no report was written; an existing one is from an earlier run");
    ::_exit(130);
  }
  Say("ends after the current measurement (a second Ctrl-C ends it at once)");
}

}  // namespace

const std::atomic<bool>& StopOnInterrupt(const char* program) {
  program_name = program;
  struct sigaction action {};
  action.sa_handler = &Stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return interrupted;
}

}  // namespace bench
