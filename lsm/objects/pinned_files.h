// Removed files whose chunks stay because a follower's pin covers them (lsm/design/followers.md).
#ifndef TRELLIS_LSM_OBJECTS_PINNED_FILES_H_
#define TRELLIS_LSM_OBJECTS_PINNED_FILES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.
class PinnedFiles {
 public:
  using Files = std::map<std::shared_ptr<IndexHandle>, std::vector<GoneFile>>;

  explicit PinnedFiles(Clock* clock) : clock_(*clock) {}
  PinnedFiles(const PinnedFiles&) = delete;
  PinnedFiles& operator=(const PinnedFiles&) = delete;

  // The lowest `removals` of the index's pins, which cover what was removed later.  UINT64_MAX if
  // there is no pin.  Makes no call to the pool if there never was one.
  //
  // Removes pins that have lapsed: those that this process has seen with one value for twice their
  // duration.  A clock that is too fast only ends a follower's old views too early.
  absl::StatusOr<uint64_t> LowestPin(IndexHandle& index) ABSL_LOCKS_EXCLUDED(mutex_);

  void Add(const std::shared_ptr<IndexHandle>& index, const GoneFile& gone)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns and forgets all files.
  Files TakeAll() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Seen {
    std::string value;
    uint64_t since_nanos = 0;
  };
  // By entry.
  using SeenPins = std::map<std::string, Seen>;

  bool HasLapsed(const std::string& index, const std::string& entry, const std::string& value,
                 uint64_t duration_nanos) ABSL_LOCKS_EXCLUDED(mutex_);

  Clock& clock_;
  Mutex mutex_;
  Files files_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, SeenPins> seen_ ABSL_GUARDED_BY(mutex_);  // by index object
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_PINNED_FILES_H_
