#include "bench/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <cstring>

namespace bench {
namespace {

// Set before the handler is, and never again.
const char* parts[5];

void OnInterrupt(int) {
  // Not by stdio, which may be in the midst of something.
  for (const char* part : parts) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, std::strlen(part));
  }
  ::_exit(130);
}

}  // namespace

void EndOnInterrupt(const char* program, const char* loss) {
  parts[0] = "\n";
  parts[1] = program;
  parts[2] = ": interrupted: ";
  parts[3] = loss;
  parts[4] = "\n";
  struct sigaction action {};
  action.sa_handler = &OnInterrupt;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace bench
