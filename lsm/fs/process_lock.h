// A lock for an opening that keeps no other one out.
#ifndef TRELLIS_LSM_FS_PROCESS_LOCK_H_
#define TRELLIS_LSM_FS_PROCESS_LOCK_H_

#include <memory>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

// Locks nothing, and only tells a forked child that it is one (FileLock::CheckHolder).  `path` is
// for the message.
std::unique_ptr<FileLock> NewProcessLock(std::string path);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_PROCESS_LOCK_H_
