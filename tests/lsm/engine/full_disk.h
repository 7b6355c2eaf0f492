// A disk that appears full to the store's reserve, but has space for everything else.
#ifndef TRELLIS_TESTS_LSM_ENGINE_FULL_DISK_H_
#define TRELLIS_TESTS_LSM_ENGINE_FULL_DISK_H_

#include <cstdint>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/memory_file_system.h"

namespace lsm {

// Building a reserve fails.  If the store has a reserve, the next append to a table fails once, so
// that the store releases the reserve.  After that the store refuses puts, and compactions work in
// steps.
inline MemoryFileSystem::Fault FullDisk(const MemoryFileSystem& files) {
  const bool has_reserve =
      !files.FileBytes("/store/RESERVE").empty() || !files.FileBytes("/logs/RESERVE").empty();
  return [held = has_reserve](FileOperation operation, const std::string& path, uint64_t) mutable {
    const bool fails_now = held && operation == FileOperation::kAppend && path.ends_with(".table");
    if (fails_now) held = false;
    return fails_now || operation == FileOperation::kFreeBytes
               ? DiskFull(Concat(path, ": there is no space (made up)"))
               : absl::OkStatus();
  };
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_FULL_DISK_H_
