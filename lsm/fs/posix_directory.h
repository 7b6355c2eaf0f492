#ifndef TRELLIS_LSM_FS_POSIX_DIRECTORY_H_
#define TRELLIS_LSM_FS_POSIX_DIRECTORY_H_

#include <memory>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/fs/posix_call.h"

namespace lsm::inline TRELLIS_ABI {

// `fd` is an open directory; `path` serves messages only; `file_mode` is for files that are made.
std::unique_ptr<Directory> NewPosixDirectory(Descriptor fd, std::string path, mode_t file_mode);

// The last existing directory on the way to `path`, as the path will lead once its missing
// directories are created: "new/../a" leads to "a".  The descriptor is not for reading.
absl::StatusOr<Descriptor> FindNearestDirectory(const std::string& path);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_DIRECTORY_H_
