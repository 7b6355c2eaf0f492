// The process that made an object.
#ifndef TRELLIS_LSM_THREADS_PROCESS_MARK_H_
#define TRELLIS_LSM_THREADS_PROCESS_MARK_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Identifies the process that owns an object.  A forked child has the object too, and its
// descriptors.  It has none of its threads, and must not write to the same files.  (Uses
// pthread_atfork, which does not see clone and _Fork.)
class ProcessMark {
 public:
  ProcessMark();
  // False in a forked child.
  bool IsThisOne() const;
  // In a forked child: FailedPrecondition, with the path.
  absl::Status Check(std::string_view path) const;

 private:
  const uint32_t forks_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_THREADS_PROCESS_MARK_H_
