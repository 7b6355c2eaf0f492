// A thread that repeats a call.
#ifndef TRELLIS_LSM_THREADS_REPEATING_THREAD_H_
#define TRELLIS_LSM_THREADS_REPEATING_THREAD_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/threads/process_mark.h"

namespace lsm::inline TRELLIS_ABI {

class RepeatingThread {
 public:
  // Starts a thread that pauses, calls, and so on.  `call` throws nothing.  ResourceExhausted if
  // the system cannot create the thread.
  static absl::StatusOr<std::unique_ptr<RepeatingThread>> Start(uint64_t pause_nanos,
                                                                std::function<void()> call);
  // Ends a pause at once, and waits for a call that runs.  In a forked child it does nothing: the
  // thread does not exist there.
  ~RepeatingThread();
  RepeatingThread(const RepeatingThread&) = delete;
  RepeatingThread& operator=(const RepeatingThread&) = delete;

 private:
  class Loop;
  explicit RepeatingThread(std::unique_ptr<Loop> loop);

  const ProcessMark process_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_THREADS_REPEATING_THREAD_H_
