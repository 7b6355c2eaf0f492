// Runs part of a test in a child process.
#ifndef TRELLIS_TESTS_LSM_FS_CHILD_PROCESS_H_
#define TRELLIS_TESTS_LSM_FS_CHILD_PROCESS_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace testing_support {

// Runs `body` in a child of this process and keeps its result ("" usually means success).
// `meanwhile` runs in the parent after the child has begun.
class Child {
 public:
  explicit Child(const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ < 0) std::abort();
    if (pid_ == 0) {
      ::close(ends[0]);
      const std::string text = body();
      // One write of a few hundred bytes into an empty pipe is always complete.
      const bool written = ::write(ends[1], text.data(), text.size()) >= 0;
      ::_exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    from_child_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    Wait();
    ::close(from_child_);
  }

  std::string Result() {
    std::string text;
    char buffer[512];
    ssize_t length = 0;
    while ((length = ::read(from_child_, buffer, sizeof(buffer))) > 0) {
      text.append(buffer, static_cast<size_t>(length));
    }
    const int status = Wait();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      text += " (the child ended with status " + std::to_string(status) + ")";
    }
    return text;
  }

 private:
  int Wait() {
    if (pid_ > 0) ::waitpid(std::exchange(pid_, -1), &status_, 0);
    return status_;
  }

  pid_t pid_ = -1;
  int from_child_ = -1;
  int status_ = 0;
};

inline std::string InChild(const std::function<std::string()>& body) {
  return Child(body).Result();
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_LSM_FS_CHILD_PROCESS_H_
