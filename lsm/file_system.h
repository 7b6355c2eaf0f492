// The file-system interface of the store.  No other code of it calls open, write, fsync, rename or
// mmap.
//
// Implementations: POSIX (PosixFileSystem() in environment.h), object stores
// (object_file_system.h), and memory with injected faults (memory_file_system.h).  A local cache
// (cached_file_system.h) wraps any.  The interface asks only for what an object store can do, too:
//
//   * A Directory is an open handle.  Every name is bare: no slash, not "." or "..".
//   * A file is written once, front to back, through an AppendFile, and read at offsets through a
//     ReadFile.
//   * A crash may lose any subset of the sectors that are not synced.  It may also lose a created,
//     renamed or removed name until Directory::Sync has returned.  Closing a file syncs nothing.
//   * AtomicReplace swaps the pointer to the current manifest; rename does not.
//   * A read may be short at the end of the file, and says so.  Several reads can be submitted
//     together.
//
// Errors.  Each message contains the path.
//
//   NotFound, AlreadyExists
//   ResourceExhausted    ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM
//   FailedPrecondition   another holder has the lock; the directory is not empty; a forked child of
//                        the process that opened the object tries to change something; another
//                        process has taken over (IsTakenOver)
//   PermissionDenied     an object store refuses this client (object_pool.h)
//   InvalidArgument      a name with a slash, …
//   Unavailable          everything else, such as EIO or a name that is a symbolic link
//
// Threads: several threads may use a FileSystem, Directory or ReadFile at once.  Only one thread at
// a time may use an AppendFile.
#ifndef TRELLIS_LSM_FILE_SYSTEM_H_
#define TRELLIS_LSM_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// FailedPrecondition with a mark: another process has taken over what this one had locked, so
// nothing more may be written.
TRELLIS_API absl::Status TakenOver(std::string_view message);
// Whether a status has that mark.  A write that was in flight returns Unknown with the mark: the
// other process may have recovered it.
TRELLIS_API bool IsTakenOver(const absl::Status& status);

// Read access to one file.
class TRELLIS_API ReadFile {
 public:
  virtual ~ReadFile();

  // Reads up to `buffer.size()` bytes at `offset` into `buffer` and returns their number.  It is
  // smaller only if the file ends there (0 at and beyond the end).
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const = 0;

  virtual absl::StatusOr<uint64_t> Size() const = 0;

  // The first offset at or after `offset` where the file may hold nonzero bytes, or the file's size
  // if there is none.  The file system answers without reading the file, so searching a sparse file
  // costs what the file stores, not its claimed size.  Returns `offset` if nothing is known, as
  // the default does.
  virtual absl::StatusOr<uint64_t> NextData(uint64_t offset) const;

  // The path, for messages.
  virtual const std::string& path() const = 0;
};

// One of several reads that are submitted together.
struct ReadRequest {
  const ReadFile* file = nullptr;
  uint64_t offset = 0;
  std::span<char> buffer;
  absl::Status status;    // out
  size_t bytes_read = 0;  // out: short only at the end of the file
};

// Executes the request by the ReadAt of its file.
TRELLIS_API void ReadAlone(ReadRequest* request);

// Write access to a new file.
class TRELLIS_API AppendFile {
 public:
  // Closes the file, and ignores the status that Close would return.
  virtual ~AppendFile();

  // Appends all the bytes, or fails; after a failure any number of them may be in the file.  Once
  // this returns, the bytes survive the end of the process.  Only Sync makes them survive a crash
  // of the machine.
  virtual absl::Status Append(std::string_view bytes) = 0;

  // Appends zeros that occupy space on the device from now on; removing the file frees it.  After a
  // failure any number of them may be in the file.  The default appends zeros and syncs them, since
  // some file systems allocate space only at a sync.
  virtual absl::Status Allocate(uint64_t bytes);

  // After OK everything appended so far survives a crash, but perhaps not the file's name
  // (Directory::Sync).  After a failure the state of all bytes since the last success is unknown,
  // and the file must not be synced again.
  virtual absl::Status Sync() = 0;

  // Starts writing the appended bytes to the device, without waiting, so that a later Sync has less
  // to do.  Guarantees nothing, and leaves errors to Sync.  Does nothing by default.
  virtual void StartWriteback() {}

  // Must be the last call.
  virtual absl::Status Close() = 0;

  // Size of the file, including appended bytes.
  virtual uint64_t size_bytes() const = 0;

  virtual const std::string& path() const = 0;
};

// A lock, held until this is destroyed or the process ends, however it ends.
class TRELLIS_API FileLock {
 public:
  virtual ~FileLock();

  // Releases the lock before the destructor does.  CheckHolder may run at the same time, and
  // afterwards.
  virtual void Release() = 0;

  // FailedPrecondition in a forked child of the process that holds the lock: the child does not
  // hold it.
  virtual absl::Status CheckHolder() const { return absl::OkStatus(); }

  // For locks that can be lost (object_file_system.h).  Both defaults stand for a lock that the
  // process keeps until it ends.

  // Asks the system whether the lock is held.  TakenOver if another process has locked meanwhile.
  virtual absl::Status Confirm() { return absl::OkStatus(); }
  // `note`, which throws nothing, gets the state of the lock from now on: OK while it is held;
  // TakenOver once another process has it, which is final; another error while neither is known, so
  // reads may be stale.  A thread of the lock calls it, perhaps several times with the same state,
  // but never after Release has returned.  Call this once.
  virtual void Watch(const std::function<void(const absl::Status& state)>& note);
};

enum class LockKind { kExclusive, kShared };

enum class ReadMode {
  kBuffered,  // through the page cache
  kDirect,    // past it (O_DIRECT); InvalidArgument if the file system does not support it
};

struct FileInfo {
  uint64_t size_bytes = 0;
};

class TRELLIS_API Directory {
 public:
  virtual ~Directory();

  virtual absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                             ReadMode mode) = 0;

  // AlreadyExists if the name exists; Unavailable if the directory itself was removed.
  virtual absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) = 0;

  // Bare names of the files, without those of directories, in any order.
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;

  // The names when this handle was opened, or later ones, perhaps without a call to the system.
  // List by default.
  virtual absl::StatusOr<std::vector<std::string>> ListAsOpened();

  virtual absl::StatusOr<FileInfo> Stat(std::string_view name) = 0;

  // Renames a file, replacing any file of the new name.  Open handles stay usable.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;

  // Gives a complete file, which is no longer appended to, a second name in `to` (perhaps this
  // directory).  The two names are one file.  AlreadyExists if the new name exists.  Unimplemented
  // if the file system cannot link (`to` is on another one, or it has no links); the default always
  // returns that.
  virtual absl::Status Link(std::string_view name, Directory& to, std::string_view new_name);

  // NotFound if the name does not exist.  Open handles stay usable.
  virtual absl::Status Remove(std::string_view name) = 0;

  // Removes several files, perhaps by fewer calls to the system.  Tries all, and returns what
  // Remove would return for each.  No name is there twice.  The default removes one after another.
  virtual std::vector<absl::Status> RemoveAll(std::span<const std::string> names);

  // Removes files that are not needed, as RemoveAll does, but perhaps after the call, by a thread.
  // Ignores errors: files may stay.  The default removes them during the call.
  virtual void RemoveLater(std::span<const std::string> names);

  // Free bytes for new files here, as far as the file system knows; a quota may leave less.
  // UINT64_MAX if nothing is known, as by default.
  virtual absl::StatusOr<uint64_t> FreeBytes();

  // Size of the file system in bytes; likewise UINT64_MAX.
  virtual absl::StatusOr<uint64_t> CapacityBytes();

  // After OK all names created, renamed and removed so far survive a crash.  After a failure it is
  // unknown which names that changed since the last success survive.  A second attempt could not
  // find out, so every later call returns the same error.
  virtual absl::Status Sync() = 0;

  // Lets Sync try again, and returns the error that Sync would have kept returning (OK if no sync
  // failed).  After an error, the caller must not rely on any name created, renamed or removed
  // between the last success and this call.
  virtual absl::Status ForgetFailedSync() = 0;

  // Makes `name` hold `bytes`, atomically and durably: after a crash it holds either these bytes or
  // its earlier ones.  `expected` is the required content before the call (nullopt: it must not
  // exist).  If it differs, returns Aborted and changes nothing.  After any other error the file
  // may hold either.  Other names may become durable too.
  //
  // `before_swap` (may be null) is called just before the file may hold the new bytes.  Any error
  // before that call leaves the earlier content.
  virtual absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                                     std::optional<std::string_view> expected,
                                     const std::function<void()>& before_swap) = 0;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected) {
    return AtomicReplace(name, bytes, expected, nullptr);
  }

  // Until the next AtomicReplace here, the names and bytes of files that are made need not survive
  // anything, although they were synced, and other handles need not see them.  That call makes them
  // durable together with its own change: after a crash there are all or none.  REQUIRES: until
  // then one thread makes files here.  Does nothing by default.
  virtual void HoldNames() {}

  // Locks `name`, and creates it if needed (not for kShared).  FailedPrecondition if another
  // process, or another holder in this one, has the lock; the message says which, as far as is
  // known.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) = 0;

  // For readers beside a process that removes files (OpenMode::kFollow).  Tables that have a name
  // here when this returns, or get one later, stay readable until the result is destroyed, although
  // another process removes the name.  An object store writes a pin, which lapses if it is not
  // renewed for long: then reads of removed tables return Unavailable.  The default returns null,
  // which fits file systems whose open files stay readable, as on POSIX.
  virtual absl::StatusOr<std::shared_ptr<const void>> PinTables();

  // Returns whether `path`, which need not exist, is this directory or lies inside it.  The default
  // compares the paths as text.  POSIX also resolves links and "..", as if the missing directories
  // had been created.
  virtual absl::StatusOr<bool> Contains(const std::string& path);

  // The path, for messages.
  virtual const std::string& path() const = 0;
};

class TRELLIS_API FileSystem {
 public:
  virtual ~FileSystem();

  // Opens a directory.  `create` creates it and missing parents, durably.  Without `create`:
  // NotFound if it does not exist.
  virtual absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                                   bool create) = 0;

  // Removes an empty directory.  FailedPrecondition if it is not empty, or cannot be removed
  // although its files can: the path is a symbolic link or ends with a dot, something is mounted
  // there, or the parent directory may not be changed.
  virtual absl::Status RemoveDirectory(const std::string& path) = 0;

  // Executes all the reads, in any order, in parallel where the system can.  Each request gets the
  // outcome that its ReadAt would return.
  //
  // `done` (may be null) is called with the index of each request when its outcome is ready: in any
  // order, on this thread, one call at a time, perhaps while other reads are in flight.  It must
  // not throw.
  virtual void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done);
  void ReadMany(std::span<ReadRequest> requests) { ReadMany(requests, nullptr); }
};

// Reads a whole file.  ResourceExhausted if it is larger than `size_max_bytes`.
TRELLIS_API absl::StatusOr<std::string> ReadWholeFile(Directory& directory, std::string_view name,
                                                      uint64_t size_max_bytes);

}  // namespace lsm

#endif  // TRELLIS_LSM_FILE_SYSTEM_H_
