#ifndef TRELLIS_LSM_FS_POSIX_DIRECTORY_H_
#define TRELLIS_LSM_FS_POSIX_DIRECTORY_H_

#include <memory>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/fs/posix_call.h"

namespace lsm::inline TRELLIS_ABI {

// `fd` is an open directory, `path` is for messages only, `file_mode` is for created files.
std::unique_ptr<Directory> NewPosixDirectory(Descriptor fd, std::string path, mode_t file_mode);

// The last existing directory on the way to `path`, as the path will resolve once its missing
// directories exist: "new/../a" leads to "a".  The descriptor cannot be read from.
absl::StatusOr<Descriptor> FindNearestDirectory(const std::string& path);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_DIRECTORY_H_
