// A file system in memory that keeps apart what is durable and what a crash may take, counts its
// operations, and fails or stops at the one it is told to.  The contract is that of file_system.h,
// so a store cannot tell the difference; the tests decide what the "machine" loses.
//
// Model of a crash: a file is a durable image (as of its last Sync) and a current one.  A directory
// is a durable set of names (as of its last Sync) and a current one; a name points at a file, so a
// durable name may point at a file with less in it than was appended.
//
// Thread-safe.
#ifndef TRELLIS_LSM_MEMORY_FILE_SYSTEM_H_
#define TRELLIS_LSM_MEMORY_FILE_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

class MemoryMachine;  // memory_machine.h: what the handles share

// Every call that can fail or change something is an operation.  Reads count too.
enum class FileOperation : uint8_t {
  kOpenDirectory,
  kRemoveDirectory,
  kOpenRead,
  kCreate,
  kList,
  kStat,
  kRename,
  kLink,
  kRemove,
  kSyncDirectory,
  kAtomicReplace,
  kLock,
  kReadAt,
  kSize,
  kAppend,
  kAllocate,
  kFreeBytes,
  kSyncFile,
  kClose,
};
const char* NameOf(FileOperation operation);

class MemoryFileSystem : public FileSystem {
 public:
  // What the "machine" keeps of what was not synced when it crashes.
  enum class Unsynced { kLost, kKept };

  // Asked before each operation, which has this number (from 0) since the last ResetCounts; OK lets
  // it go ahead. An error is returned to the caller instead: a kAppend or kAllocate then keeps the
  // first half of its bytes, nothing else has any effect.  Called with no lock of the file system's
  // held.
  using Fault = std::function<absl::Status(FileOperation operation, const std::string& path,
                                           uint64_t number)>;

  MemoryFileSystem();
  ~MemoryFileSystem() override;

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;

  void SetFault(Fault fault);  // nullptr: none
  uint64_t operation_count() const;
  void ResetCounts();

  // From the given operation on (counted like a Fault's number) every operation fails with
  // Unavailable("crashed") and changes nothing, until Restart.  The operation itself does not
  // happen; an append keeps its first half.
  void CrashAt(uint64_t operation_number);
  bool crashed() const;

  // The machine comes back: every handle of before is dead (its calls fail, its locks are gone),
  // and each file and directory is what `unsynced` leaves of it.  Faults and CrashAt are cleared.
  void Restart(Unsynced unsynced);

  // An independent file system with the same files, as if copied now; no faults, no handles, no
  // crash.  It too keeps apart what is durable, so it is also what a process finds that starts
  // after another was killed, the machine going on.  Cheap: bytes of closed files are shared.
  std::unique_ptr<MemoryFileSystem> Clone() const;

  // For tests that damage files: bytes of a file as they are now (empty if there is none), and a
  // way to replace them, durably.
  std::string FileBytes(const std::string& path) const;
  void SetFileBytes(const std::string& path, std::string bytes);

  // As a kernel whose sync of the directory has failed: what is not durable of its names becomes so
  // by no later sync, but when the name changes again.
  void DropUnsyncedNames(const std::string& path);

  // Bytes that can still be appended before the disk is full (IsDiskFull); no limit at first.  A
  // file gives its bytes back when its last name goes; a directory takes none.
  void SetFreeBytes(uint64_t bytes);

 private:
  explicit MemoryFileSystem(std::shared_ptr<MemoryMachine> machine);

  const std::shared_ptr<MemoryMachine> machine_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMORY_FILE_SYSTEM_H_
