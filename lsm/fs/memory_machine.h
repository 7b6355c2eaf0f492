// The shared state of a MemoryFileSystem and its handles: the disk and the operation counter.
// Private to memory_*.cc.
#ifndef TRELLIS_LSM_FS_MEMORY_MACHINE_H_
#define TRELLIS_LSM_FS_MEMORY_MACHINE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/memory_file_system.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// A file.  Bytes are only appended, so the durable image is a prefix of the current one.  Guarded
// by the machine's mutex.
struct MemoryFile {
  // One of these holds the bytes: `open` while an AppendFile exists, then `sealed`, which clones
  // share and nothing changes.
  std::shared_ptr<const std::string> sealed;
  std::string open;
  uint64_t durable_bytes = 0;
  uint64_t taken_bytes = 0;  // of the machine's space
  int names = 0;             // current ones, in any directory

  int shared_locks = 0;
  bool exclusive_lock = false;

  const std::string& bytes() const { return sealed != nullptr ? *sealed : open; }
  void Seal() {
    if (sealed == nullptr) {
      sealed = std::make_shared<const std::string>(std::exchange(open, std::string()));
    }
  }
  void Append(std::string_view bytes) {
    if (sealed != nullptr) {  // a test replaced the bytes during writing
      open = *sealed;
      sealed = nullptr;
    }
    open.append(bytes);
  }
  // Replaces the content, durably.
  void Set(std::string bytes) {
    sealed = std::make_shared<const std::string>(std::move(bytes));
    open.clear();
    durable_bytes = taken_bytes = sealed->size();
  }
};

using MemoryNames = std::map<std::string, std::shared_ptr<MemoryFile>, std::less<>>;

// Directories are durable from their creation, since OpenDirectory syncs the parents.
struct MemoryDirectoryNode {
  MemoryNames current;
  MemoryNames durable;
  // Names lost by a failed sync.  Later syncs leave their state on the disk as it is.
  std::set<std::string, std::less<>> dropped;
  bool removed = false;

  void DropUnsynced();
  void Sync();
  // Marks a changed name, so that the next sync includes it.
  void Touch(std::string_view name) {
    const auto place = dropped.find(name);
    if (place != dropped.end()) dropped.erase(place);
  }
};

class MemoryMachine {
 public:
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  mutable Mutex mutex;
  std::map<std::string, std::shared_ptr<MemoryDirectoryNode>, std::less<>> directories
      ABSL_GUARDED_BY(mutex);
  // Number of restarts.  A handle of another epoch is dead.
  uint64_t epoch ABSL_GUARDED_BY(mutex) = 0;
  uint64_t operation_count ABSL_GUARDED_BY(mutex) = 0;
  uint64_t crash_at ABSL_GUARDED_BY(mutex) = kNever;
  bool crashed ABSL_GUARDED_BY(mutex) = false;
  uint64_t free_bytes ABSL_GUARDED_BY(mutex) = kNever;  // kNever: no limit
  std::shared_ptr<const MemoryFileSystem::Fault> fault ABSL_GUARDED_BY(mutex);

  // Counts an operation of a handle of `handle_epoch`, and returns whether it may proceed.
  // `interrupted`, if not null, tells whether this operation failed or crashed, so that an append
  // keeps its first half.  Releases the mutex while it calls the fault.
  absl::Status Begin(uint64_t handle_epoch, FileOperation operation, const std::string& path,
                     bool* interrupted = nullptr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Takes up to `wanted` of the free bytes for the file, and returns the number taken.
  uint64_t TakeSpace(uint64_t wanted, MemoryFile* file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void FreeSpace(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // A file without names gives its space back, even if it is still open for reading.
  void DropName(MemoryFile* file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Bytes of all files that have a current name.
  uint64_t TakenBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Null if there is none.
  std::shared_ptr<MemoryFile> FindFile(std::string_view path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Whether the path, or a parent of it, is a file.
  bool HasFileOnTheWay(std::string_view path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Creates the directory and its parents.
  std::shared_ptr<MemoryDirectoryNode> MakeDirectory(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  void Restart(MemoryFileSystem::Unsynced unsynced) ABSL_LOCKS_EXCLUDED(mutex);
  std::shared_ptr<MemoryMachine> Clone() const ABSL_LOCKS_EXCLUDED(mutex);
};

// "/a//b/" is "/a/b".
std::string NormalizedPath(std::string_view path);

// "/a" of "/a/b"; empty without a parent.
std::string_view ParentPath(std::string_view path);
std::string_view LastName(std::string_view path);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_MEMORY_MACHINE_H_
