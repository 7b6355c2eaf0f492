// Runs a program and interrupts it.
#ifndef TRELLIS_TESTS_BENCH_INTERRUPTED_RUN_H_
#define TRELLIS_TESTS_BENCH_INTERRUPTED_RUN_H_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/read_file.h"

namespace bench {

// Interrupts the program once its stderr contains `said`; stderr goes to the file `err`.  Returns
// the program's exit code, or -1 if it ended before.
inline int RunInterrupted(const std::string& program, std::vector<std::string> arguments,
                          const std::string& said, const std::string& err) {
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    if (std::freopen("/dev/null", "w", stdout) == nullptr ||
        std::freopen(err.c_str(), "w", stderr) == nullptr) {
      ::_exit(99);
    }
    ::execv(program.c_str(), argv.data());
    ::_exit(98);
  }
  const auto has_said = [&] {
    return testing_support::ReadFile(err).find(said) != std::string::npos;
  };
  int status = 0;
  while (!has_said()) {
    std::this_thread::yield();
    if (::waitpid(child, &status, WNOHANG) != 0) return -1;
  }
  ::kill(child, SIGINT);
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace bench

#endif  // TRELLIS_TESTS_BENCH_INTERRUPTED_RUN_H_
