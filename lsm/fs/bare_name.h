// Checks of names and paths, for all implementations of FileSystem.
#ifndef TRELLIS_LSM_FS_BARE_NAME_H_
#define TRELLIS_LSM_FS_BARE_NAME_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// InvalidArgument unless `name` is a plain name in the directory: not empty, not "." or "..",
// without slash or NUL, at most 255 bytes.  So no name from any source leads out of the directory.
absl::Status CheckBareName(std::string_view directory_path, std::string_view name);

// "a/b/" for "./a//b/" and "a/b".
std::string WithoutDetours(std::string_view path);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_BARE_NAME_H_
