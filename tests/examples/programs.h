// Runs the programs of bloom/examples and lsm/examples as people do: by a shell, in a directory of
// the test's own.
#ifndef TRELLIS_TESTS_EXAMPLES_PROGRAMS_H_
#define TRELLIS_TESTS_EXAMPLES_PROGRAMS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"

namespace testing_support {

// A program that runs at the same time as the test.  The test may end it at any moment.
class RunningProgram {
 public:
  // `input` is the path of a file; if it is empty, the input comes from Write.  The standard error
  // goes to the file `errors`.
  RunningProgram(const std::string& name, const std::vector<std::string>& arguments,
                 const std::string& input, const std::string& errors) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) std::abort();
    // The smallest pipe, so that the program cannot be far ahead of the reader of its output.
    ::fcntl(from[0], F_SETPIPE_SZ, 4096);
    const std::string path = TRELLIS_EXAMPLES_DIR "/" + name;
    std::vector<char*> words = {const_cast<char*>(path.c_str())};
    for (const std::string& argument : arguments)
      words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      const int in = input.empty() ? to[0] : ::open(input.c_str(), O_RDONLY);
      const int err = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      if (::dup2(in, 0) < 0 || ::dup2(from[1], 1) < 0 || ::dup2(err, 2) < 0) ::_exit(127);
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      Wait();
    }
    EndInput();
    ::close(from_);
  }

  void Write(const std::string& text) {
    EXPECT_EQ(::write(to_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void EndInput() {
    if (to_ >= 0) ::close(std::exchange(to_, -1));
  }

  // The next whole line of its standard output; nullopt after the end.
  std::optional<std::string> ReadLine() {
    for (;;) {
      if (const size_t end = read_.find('\n'); end != read_.npos) {
        std::string line = read_.substr(0, end);
        read_.erase(0, end + 1);
        return line;
      }
      char buffer[4096];
      const ssize_t count = ::read(from_, buffer, sizeof(buffer));
      if (count <= 0) return std::nullopt;
      read_.append(buffer, static_cast<size_t>(count));
    }
  }

  // Waits until there is output to read, but does not read it.
  void AwaitOutput() {
    pollfd output = {from_, POLLIN, 0};
    EXPECT_EQ(::poll(&output, 1, -1), 1);
  }

  void Signal(int signal) { ::kill(pid_, signal); }

  // Waits for its end.  Returns its exit code, or 128 + N if signal N ended it.
  int Wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  std::string read_;
};

class ProgramsTest : public testing::Test {
 protected:
  using Outcome = ProgramResult;

  Outcome Shell(const std::string& command) {
    return RunShell("cd '" + PathOf("") + "'; PATH='" TRELLIS_EXAMPLES_DIR "':$PATH; " + command);
  }
  // The output of a command that must succeed.
  std::string OutputOf(const std::string& command) {
    const Outcome outcome = Shell(command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.err;
    return outcome.out;
  }

  // A path in the directory in which commands run.
  std::string PathOf(const std::string& name) const { return scratch_.path_of("files/" + name); }
  void Save(const std::string& name, const std::string& bytes) {
    WriteFile("files/" + name, bytes);
  }
  std::string Saved(const std::string& name) const { return ReadFile(PathOf(name)); }

 private:
  void WriteFile(const std::string& name, const std::string& bytes) {
    std::ofstream(scratch_.path_of(name), std::ios::binary) << bytes;
  }

  const ScratchDir scratch_{FastFolder()};
  const bool has_files_ = std::filesystem::create_directory(scratch_.path_of("files"));
};

}  // namespace testing_support

#endif  // TRELLIS_TESTS_EXAMPLES_PROGRAMS_H_
