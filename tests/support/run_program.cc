#include "tests/support/run_program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace testing_support {
namespace {

// An unnamed file for the output of a program.  A pipe could fill up and block it.
class Output {
 public:
  Output() : file_(std::tmpfile()) {
    if (file_ == nullptr) std::abort();
    (void)::fcntl(number(), F_SETFD, FD_CLOEXEC);
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() { std::fclose(file_); }

  int number() const { return ::fileno(file_); }
  std::string Text() const {
    std::string text;
    char buffer[4096];
    std::rewind(file_);
    for (size_t count; (count = std::fread(buffer, 1, sizeof(buffer), file_)) > 0;)
      text.append(buffer, count);
    return text;
  }

 private:
  std::FILE* const file_;
};

}  // namespace

ProgramResult RunProgram(const std::vector<std::string>& words) {
  const Output out, err;
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, out.number(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err.number(), STDERR_FILENO);
  pid_t child = 0;
  const int failure =
      ::posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), ::environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (failure != 0) return {127, "", words[0] + " cannot be run"};
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.Text(), err.Text()};
}

}  // namespace testing_support
