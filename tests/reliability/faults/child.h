// A process that is forked to be killed.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_CHILD_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_CHILD_H_

#include <sys/types.h>

#include <functional>

namespace reliability {

// A forked process.  It ends with this object or with the calling process, whichever ends first.
// REQUIRES: the calling process has no other thread when it forks.
class Child {
 public:
  // Forks a process that runs `life`, which must not return.  `pipe` is the end of a pipe to write
  // to.
  explicit Child(const std::function<void(int pipe)>& life);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // True if the fork succeeded; otherwise errno has the reason.
  bool started() const { return started_; }
  int pipe() const { return pipe_; }  // to read from

  void Kill() const;
  // Waits for its end.  Returns the status of waitpid.
  int Wait();

  // Stops the process until GoOn.  System calls in flight complete first.  Does nothing if the
  // process has ended.
  void Pause();
  void GoOn() const;

 private:
  bool started_ = false;
  pid_t pid_ = -1;  // -1: its end was waited for, so that the number may be another's
  int status_ = 0;  // its end
  int pipe_ = -1;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_CHILD_H_
