// A file system on an object store.  lsm/design/object_store.md has the mapping and the fence;
// lsm/rados/README.md has the proof that no acknowledged write is lost in a take-over.
//
// It differs from POSIX in this:
//
//   * A table's bytes survive the end of the process only after Sync, and readers see them only
//     then.  The bytes of other files are durable when Append returns.
//   * Lock knows only LOCK.  An exclusive lock fences: from then on no handle that was opened
//     before may change the store's files in the directory, or append to a log or manifest there.
//     A shared lock does not exist: NotFound.
//   * While a handle has the lock, it knows the store's files by a listing, which only its own
//     changes update.  Until it notices that another process has taken over, it names the earlier
//     files.  List then also may miss what other handles did with files whose names are not a
//     store's.
//   * AtomicReplace takes at most 4 KiB.
//   * Only complete tables can be linked.  FailedPrecondition before the first Sync.
//   * RemoveDirectory, too, makes handles that were opened before return TakenOver, even if it
//     finds a new file, and returns that the directory is not empty.  A file whose name is not a
//     store's, and that is created during the call, may be removed with the directory.
//   * After a file was renamed or removed, its writer may fail.
//   * Reads cannot go past a page cache.  Space is not known, and cannot be allocated.
//   * A read of a file that another process has removed returns TakenOver if this handle had the
//     lock, else Unavailable.  PinTables keeps tables from that.
//   * A path contains no "..".
//
// A call that is refused because another process has locked the directory returns TakenOver
// (file_system.h).
#ifndef TRELLIS_LSM_OBJECT_FILE_SYSTEM_H_
#define TRELLIS_LSM_OBJECT_FILE_SYSTEM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/object_pool.h"

namespace lsm::inline TRELLIS_ABI {

class IndexHandle;     // lsm/objects/index_handle.h
struct ObjectProcess;  // lsm/objects/object_directory.h

// Thread-safe.
class TRELLIS_API ObjectFileSystem final : public FileSystem {
 public:
  struct Config {
    // A lock expires this long after it was taken or renewed; at least 1.  It is renewed at each
    // quarter.
    uint64_t lock_nanos = 10'000'000'000;
    // One thread renews locks and pins, and another one notices that a lock has expired.  A third
    // one makes removals that no call waits for, and removes tables that a pin no longer covers.
    // Without threads, call RenewLocks; other removals are made at once.  That is for programs that
    // must do the same each time they run.
    bool has_threads = true;
    Clock* clock = nullptr;  // null: the system's
    // The sizes of the objects of new files: from 1 byte to 64 MiB.
    uint64_t log_chunk_bytes = uint64_t{64} << 20;
    uint64_t table_chunk_bytes = uint64_t{4} << 20;
    std::string holder = "another process";  // this process, in messages of others
  };

  // Pool and randomness outlive it and all that it returns.  Two processes must not draw the same
  // random numbers, because they name objects.  If the configuration is invalid, all calls return
  // InvalidArgument.
  ObjectFileSystem(ObjectPool* pool, RandomSource* random, Config config);
  ~ObjectFileSystem() override;

  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  using FileSystem::ReadMany;
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done) override;

  // Renews the locks that are held, and tells their holders the outcome (FileLock::Watch).  Renews
  // pins, and removes tables that a pin no longer covers.
  void RenewLocks();

 private:
  // InvalidArgument if a part of the path is a file.
  absl::Status CheckNoFileOnTheWay(const std::string& path, std::string plain);
  // Returns the owner, encoded; empty if the directory exists already.
  absl::StatusOr<std::string> MakeDirectory(const std::string& plain);
  // Makes the index object.  Returns the owner, encoded; empty if the object exists already.
  absl::StatusOr<std::string> MakeIndex(const std::string& plain);
  // The directory's entries.  FailedPrecondition if it has files or directories.
  absl::StatusOr<ObjectValues> CheckEmpty(IndexHandle& index);
  // Whether one of the directories among the entries exists.
  absl::StatusOr<bool> HasDirectories(const std::string& path, const ObjectValues& entries);
  // The value of the directory's name in its parent; empty if there is none.
  absl::StatusOr<std::string> NameInParent(const std::string& path);
  // Removes the name, if it has this value.
  absl::Status ForgetDirectory(const std::string& path, const std::string& name);

  const std::shared_ptr<ObjectProcess> shared_;
};

struct GarbageReport {
  uint64_t chunks = 0;   // in the pool
  uint64_t removed = 0;  // no index named them
  uint64_t kept = 0;     // no index names them, but the owner of a store may be about to
};

// Removes chunks that no file needs: those that a process left behind when it died between two
// calls, or wrote after another one had removed the file.  They cost space and nothing else, so
// call it when a pool has less space than its stores explain.  The stores may be in use.  What the
// owner of an open store has left is removed once the store was opened again.
//
// Lists the pool, and reads each index twice.  Of the pool it touches only objects that are named
// as chunks are.  REQUIRES: all file systems on the pool are ObjectFileSystems, and no table is
// renamed meanwhile.
//
// Errors: DataLoss or Unimplemented, and nothing was removed, if an index cannot be understood;
// Unimplemented if the pool cannot list; those of the pool.  After an error another call goes on.
TRELLIS_API absl::StatusOr<GarbageReport> CollectGarbage(ObjectPool& pool);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECT_FILE_SYSTEM_H_
