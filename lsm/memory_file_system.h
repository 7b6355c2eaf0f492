// A file system in memory, for tests.  It simulates crashes, counts its operations, and fails or
// stops at a chosen one.  It fulfils the contract of file_system.h, so a store works with it as
// with any other.
//
// Model of a crash: a file has a durable image (as of its last Sync) and a current one.  A
// directory has a durable set of names (as of its last Sync) and a current one.  A name refers to a
// file, so a durable name may refer to a file that lacks some of its appended bytes.
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

class MemoryMachine;  // lsm/fs/memory_machine.h: the state that the handles share

// The operations that are counted: every call that can fail or change something, reads included.
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
TRELLIS_API const char* NameOf(FileOperation operation);

class TRELLIS_API MemoryFileSystem : public FileSystem {
 public:
  // The effect of a crash on unsynced state.
  enum class Unsynced { kLost, kKept };

  // Called before each operation with its number, counted from 0 since the last ResetCounts.  OK
  // lets it proceed.  An error is returned to the caller of the operation: a kAppend or kAllocate
  // then keeps the first half of its bytes; other operations have no effect.  Called without any
  // lock of the file system held.
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

  // From this operation on (numbered as for Fault) every operation fails with
  // Unavailable("crashed") and changes nothing, until Restart.  The operation itself does not
  // happen either, except that an append keeps its first half.
  void CrashAt(uint64_t operation_number);
  bool crashed() const;

  // Restarts the machine after a crash.  All earlier handles are dead: their calls fail and their
  // locks are released.  `unsynced` decides what files and directories hold.  Clears faults and
  // CrashAt.
  void Restart(Unsynced unsynced);

  // An independent copy of the file system, without faults, handles or a crash.  It keeps durable
  // and current state apart, as the original does.  So it also shows what a new process finds if
  // another was killed while the machine kept running.  Cheap: closed files share their bytes.
  std::unique_ptr<MemoryFileSystem> Clone() const;

  // The current bytes of a file (empty if there is none), and a way to replace them durably.  For
  // tests that damage files.
  std::string FileBytes(const std::string& path) const;
  void SetFileBytes(const std::string& path, std::string bytes);

  // Acts as a kernel after a failed sync of the directory: names that are not durable now do not
  // become durable by a later sync, unless they change again.
  void DropUnsyncedNames(const std::string& path);

  // Sets the bytes that can still be appended before the disk is full (IsDiskFull).  No limit by
  // default.  Removing a file's last name frees its bytes.  Directories take no space.
  void SetFreeBytes(uint64_t bytes);

 private:
  explicit MemoryFileSystem(std::shared_ptr<MemoryMachine> machine);

  const std::shared_ptr<MemoryMachine> machine_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMORY_FILE_SYSTEM_H_
