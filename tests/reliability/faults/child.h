// A process that is forked to be killed.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_CHILD_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_CHILD_H_

#include <sys/types.h>

#include <functional>

namespace reliability {

// Outlives neither this nor the calling process, which has no other thread when it forks.
class Child {
 public:
  // It lives `life`, which does not return, and is given the end of a pipe to write to.
  explicit Child(const std::function<void(int pipe)>& life);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Whether it could be forked; otherwise errno says why not.
  bool started() const { return started_; }
  int pipe() const { return pipe_; }  // to read from

  void Kill() const;
  // How it ended, as waitpid says it.
  int Wait();

  // The calls that it has under way come to their end, and it does nothing more until it goes on.
  // Or it has ended already.
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
