// Runs a program, waits for its end and returns its output.
#ifndef TRELLIS_TESTS_SUPPORT_RUN_PROGRAM_H_
#define TRELLIS_TESTS_SUPPORT_RUN_PROGRAM_H_

#include <string>
#include <vector>

namespace testing_support {

struct ProgramResult {
  int code = -1;  // its exit code; 128 + N if signal N ended it; 127 if it cannot be run
  std::string out, err;
};

// `words` are the program, which is looked up in PATH unless its name has a slash, and its
// arguments.  Its standard input is empty.
ProgramResult RunProgram(const std::vector<std::string>& words);

// Runs a script with bash.
inline ProgramResult RunShell(const std::string& script) {
  return RunProgram({"bash", "-c", script});
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_RUN_PROGRAM_H_
