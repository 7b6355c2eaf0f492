// A disk that is full for the store, while there is space for all that it then does.
#ifndef TRELLIS_TESTS_RELIABILITY_FULL_DISK_H_
#define TRELLIS_TESTS_RELIABILITY_FULL_DISK_H_

#include <cstdint>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/fs/memory_file_system.h"

namespace reliability {

// No reserve can be built; and if the store has one, the next bytes for a table do not fit, once,
// so that it is released.  From then on puts are refused, and compactions go in steps.
inline lsm::MemoryFileSystem::Fault FullDisk(const lsm::MemoryFileSystem& files) {
  const bool has_reserve =
      !files.FileBytes("/store/RESERVE").empty() || !files.FileBytes("/logs/RESERVE").empty();
  return [held = has_reserve](lsm::FileOperation operation, const std::string& path,
                              uint64_t) mutable {
    const bool fits_not =
        held && operation == lsm::FileOperation::kAppend && path.ends_with(".table");
    if (fits_not) held = false;
    return fits_not || operation == lsm::FileOperation::kFreeBytes
               ? lsm::DiskFull(lsm::Concat(path, ": there is no space (made up)"))
               : absl::OkStatus();
  };
}

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FULL_DISK_H_
