#include "tests/reliability/faults/child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace reliability {

Child::Child(const std::function<void(int pipe)>& life) {
  int ends[2];
  if (::pipe(ends) != 0) return;
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[0]);
    // Set before the check for the parent's end: if the parent ended earlier, no signal would come.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(2);
    life(ends[1]);
    ::_exit(2);
  }
  const int error = errno;
  ::close(ends[1]);
  pipe_ = ends[0];
  started_ = pid_ > 0;
  errno = error;
}

Child::~Child() {
  Kill();
  Wait();
  if (pipe_ >= 0) ::close(pipe_);
}

void Child::Kill() const {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

int Child::Wait() {
  if (pid_ <= 0) return status_;
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status_;
}

void Child::Pause() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGSTOP);
  while (::waitpid(pid_, &status_, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!WIFSTOPPED(status_)) pid_ = -1;
}

void Child::GoOn() const {
  if (pid_ > 0) ::kill(pid_, SIGCONT);
}

}  // namespace reliability
