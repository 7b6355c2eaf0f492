// Files of the POSIX directory, opened relative to its descriptor.
#ifndef TRELLIS_LSM_FS_POSIX_FILES_H_
#define TRELLIS_LSM_FS_POSIX_FILES_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lsm/fs/file_system.h"
#include "lsm/fs/posix_call.h"

namespace lsm {

// `path` is the directory's path and the name, for messages; `file_mode` that of a file that is
// made.
absl::StatusOr<std::unique_ptr<ReadFile>> OpenPosixReadFile(int directory_fd, std::string_view name,
                                                            std::string path, ReadMode mode);

absl::StatusOr<std::unique_ptr<AppendFile>> CreatePosixAppendFile(int directory_fd,
                                                                  std::string_view name,
                                                                  std::string path,
                                                                  mode_t file_mode);

// Two holders in one process are told apart by (device, inode); two processes by the kernel's lock
// on the open file description, which goes away with the holder however it ends, so no lock is ever
// stale.
absl::StatusOr<std::unique_ptr<FileLock>> LockPosixFile(int directory_fd, std::string_view name,
                                                        std::string path, LockKind kind,
                                                        mode_t file_mode);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_FILES_H_
