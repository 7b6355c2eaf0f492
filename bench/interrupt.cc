#include "bench/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

namespace bench {
namespace {

// Set before the handler is, and never again.
const char* program_name = "";
const char* what_is_lost = "";

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // so that a signal's handler may set it

void Say(const char* what) {
  // Not by stdio, which may be in the midst of something.
  for (const char* part : {"\n", program_name, ": interrupted: ", what, "\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, std::strlen(part));
  }
}

void End(int) {
  Say(what_is_lost);
  ::_exit(130);
}

void Stop(int signal) {
  // Relaxed: nothing else comes with it.
  if (interrupted.exchange(true, std::memory_order_relaxed)) End(signal);
  Say("what is measured now is the last (once more: end at once)");
}

void HandleWith(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void EndOnInterrupt(const char* program, const char* loss) {
  program_name = program;
  what_is_lost = loss;
  HandleWith(&End);
}

const std::atomic<bool>& StopOnInterrupt(const char* program) {
  program_name = program;
  what_is_lost = kNoReport;
  HandleWith(&Stop);
  return interrupted;
}

}  // namespace bench
