// The exclusive lock of a directory: from then on no handle that was opened before can change its
// files, or append to a log or manifest in it.  lsm/design/object_store.md has the steps, numbered
// as in fence.cc; lsm/rados/README.md has the proof.
#ifndef TRELLIS_LSM_OBJECTS_FENCE_H_
#define TRELLIS_LSM_OBJECTS_FENCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/objects/index_handle.h"
#include "lsm/objects/object_directory.h"

namespace lsm::inline TRELLIS_ABI {

// Locks, and makes `index` the handle of the new owner.  FailedPrecondition if another process or
// this one has the lock, or if another candidate came first.
absl::StatusOr<std::unique_ptr<FileLock>> Fence(const std::shared_ptr<ObjectProcess>& process,
                                                const std::shared_ptr<IndexHandle>& index);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_FENCE_H_
