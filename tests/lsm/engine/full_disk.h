// A disk that is full for the store, while there is space for all that it then does.
#ifndef TRELLIS_TESTS_LSM_ENGINE_FULL_DISK_H_
#define TRELLIS_TESTS_LSM_ENGINE_FULL_DISK_H_

#include <cstdint>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/memory_file_system.h"

namespace lsm {

// No reserve can be built; and if the store has one, the next bytes for a table do not fit, once,
// so that it is released.  From then on puts are refused, and compactions go in steps.
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
