// Work that a process does after the call that asked for it has returned.
#ifndef TRELLIS_LSM_OBJECTS_LATER_WORK_H_
#define TRELLIS_LSM_OBJECTS_LATER_WORK_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/threads/mutex.h"
#include "lsm/threads/process_mark.h"
#include "lsm/threads/repeating_thread.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.
class LaterWork {
 public:
  LaterWork() = default;
  // Waits for work that runs, and drops the rest.  In a forked child it does nothing: there is no
  // thread.
  ~LaterWork();
  LaterWork(const LaterWork&) = delete;
  LaterWork& operator=(const LaterWork&) = delete;

  // Starts the thread unless it runs.  After each pause it does the work that was added, and then
  // calls `always`, which throws nothing.
  absl::Status StartThread(uint64_t pause_nanos, std::function<void()> always)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `work` may run out of memory; it throws nothing else.  Without the thread it runs now.
  void Add(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void RunAll() ABSL_LOCKS_EXCLUDED(mutex_);

  const ProcessMark mark_;
  Mutex mutex_;
  std::list<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  // Last, so that it ends first.
  std::unique_ptr<RepeatingThread> thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_LATER_WORK_H_
