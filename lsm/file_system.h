// The one way in which the store touches files.  Nothing else in it calls open, write, fsync,
// rename or mmap.
//
// Three kinds of implementations are planned for: POSIX (PosixFileSystem() in environment.h),
// memory with injected faults (memory_file_system.h), and object stores.  So the seam has the shape
// that all of them can keep:
//
//   * A Directory is an open handle; every name is bare (no slash, not "." or "..").
//   * A file is written once, front to back, through an AppendFile, and read at offsets through a
//     ReadFile.
//   * What is not synced may be lost in a crash, in any subset of its sectors; a new, renamed or
//     removed name may be lost until Directory::Sync returned.  Nothing is synced by being closed.
//   * The pointer to the current manifest is swapped by AtomicReplace, not by rename.
//   * Reads may be short at the end of the file, and say so; several can be submitted together.
//
// Errors.  Each message holds the path.
//
// NotFound, AlreadyExists
// ResourceExhausted    ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM
// FailedPrecondition   lock held by another, directory not empty, changes by a forked child of the
//                      process that opened it
// InvalidArgument      a name with a slash, …
// Unavailable          all else, such as EIO or a name that is a symbolic link
//
// Threads: FileSystem, Directory and ReadFile may be used by several threads at once; an AppendFile
// by one at a time.
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

// Read access to one file.
class ReadFile {
 public:
  virtual ~ReadFile();

  // Reads up to `buffer.size()` bytes at `offset` into `buffer` and returns how many: fewer only
  // where the file ends (0 at and beyond its end).  Never a short read for another reason.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<char> buffer) const = 0;

  virtual absl::StatusOr<uint64_t> Size() const = 0;

  // The first offset at or after `offset` where the file may hold anything but zeros; the file's
  // size if there is none.  The file system answers without reading the file, so a search of a
  // sparse file costs what the file stores, not its claimed size.  `offset` if nothing is known,
  // which is what the default returns.
  virtual absl::StatusOr<uint64_t> NextData(uint64_t offset) const;

  // The path, for messages.
  virtual const std::string& path() const = 0;
};

// One read of several that are submitted together.
struct ReadRequest {
  const ReadFile* file = nullptr;
  uint64_t offset = 0;
  std::span<char> buffer;
  absl::Status status;    // out
  size_t bytes_read = 0;  // out: short only where the file ends
};

// The request by its file's ReadAt.
void ReadAlone(ReadRequest* request);

// Write access to one new file, or to the end of an old one.
class AppendFile {
 public:
  // Closes, and drops what Close would have returned.
  virtual ~AppendFile();

  // Adds all the bytes, or fails; after a failure it is unknown how many of them are there.  The
  // bytes survive the end of the process once this returns, and a crash of the machine only once
  // Sync returns.
  virtual absl::Status Append(std::string_view bytes) = 0;

  // Appends zeros whose room on the device is taken from now on, so that it comes back when the
  // file is removed.  After a failure it is unknown how many of them are there.  The default
  // appends zeros and syncs them, since some file systems look for room only then.
  virtual absl::Status Allocate(uint64_t bytes);

  // Everything appended so far survives a crash, though not the file's name (Directory::Sync).
  // After a failure nothing is known about any byte since the last success, and the file must not
  // be synced again.
  virtual absl::Status Sync() = 0;

  // Begins to write what was appended to the device, and waits for nothing, so that a later Sync
  // has less to do.  It promises nothing, and an error is left to Sync.  Does nothing by default.
  virtual void StartWriteback() {}

  // No other call may follow.
  virtual absl::Status Close() = 0;

  // Bytes in the file, counting what was appended.
  virtual uint64_t size_bytes() const = 0;

  virtual const std::string& path() const = 0;
};

// Held until destroyed, or until the process ends, however it ends.
class FileLock {
 public:
  virtual ~FileLock();

  // Releases the lock before the destructor does.  CheckHolder may be called beside it and after
  // it.
  virtual void Release() = 0;

  // FailedPrecondition in a forked child of the process that holds it: the child does not hold it.
  virtual absl::Status CheckHolder() const { return absl::OkStatus(); }
};

enum class LockKind { kExclusive, kShared };

enum class ReadMode {
  kBuffered,  // through the page cache
  kDirect,    // past it, where the file system allows; InvalidArgument where it does not
};

struct FileInfo {
  uint64_t size_bytes = 0;
};

class Directory {
 public:
  virtual ~Directory();

  virtual absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name,
                                                             ReadMode mode) = 0;

  // AlreadyExists if the name is there; Unavailable if the directory itself was removed.
  virtual absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) = 0;

  // Bare names of the files (not of directories), in any order.
  virtual absl::StatusOr<std::vector<std::string>> List() = 0;

  virtual absl::StatusOr<FileInfo> Stat(std::string_view name) = 0;

  // Moves a file to another name, replacing what is there; its handles stay good.
  virtual absl::Status Rename(std::string_view from, std::string_view to) = 0;

  // Gives a file that is not appended to any more a second name, in `to`, which may be this
  // directory; the two are one file.  AlreadyExists if that name exists.  Unimplemented where the
  // file system cannot do it (`to` is on another one, or it has no links); the default returns
  // that.
  virtual absl::Status Link(std::string_view name, Directory& to, std::string_view new_name);

  // NotFound if it is not there.  Handles that are open stay good.
  virtual absl::Status Remove(std::string_view name) = 0;

  // Bytes that new files here can take, as far as the file system knows: a quota may leave less.
  // The largest number where nothing is known, which is what this returns by default.
  virtual absl::StatusOr<uint64_t> FreeBytes();

  // The size of the file system, likewise.
  virtual absl::StatusOr<uint64_t> CapacityBytes();

  // Names created, renamed and removed so far survive a crash.  After a failure it is unknown which
  // of those since the last success do, a later attempt would not find out, and every later call
  // returns the same error.
  virtual absl::Status Sync() = 0;

  // Lets Sync try again, and returns the error that it would go on returning; OK: none failed.
  // After an error, the caller must not rely on any name that was created, renamed or removed
  // between the last success and this call.
  virtual absl::Status ForgetFailedSync() = 0;

  // Makes `name` hold `bytes`, durably and at once: after a crash it holds either these or what it
  // held before.  `expected` is what it must hold now (nullopt: it must not exist); otherwise
  // Aborted, and nothing is changed.  After any other error it may hold either.  Other names may
  // become durable with it, or not.
  //
  // `before_swap` (may be null) is called right before it may hold the new bytes.  Until then an
  // error, whichever it is, has left what was there.
  virtual absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                                     std::optional<std::string_view> expected,
                                     const std::function<void()>& before_swap) = 0;
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected) {
    return AtomicReplace(name, bytes, expected, nullptr);
  }

  // Takes the lock on `name`, which it creates if need be (not for kShared).  FailedPrecondition if
  // another process, or another holder in this one, has it; the message says which, as far as is
  // known.
  virtual absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) = 0;

  // Whether `path`, which need not exist, is this directory or lies in it.  The default compares
  // the paths as text; POSIX also resolves links and "..", as they lead once the missing
  // directories are created.
  virtual absl::StatusOr<bool> Contains(const std::string& path);

  // The path, for messages.
  virtual const std::string& path() const = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem();

  // NotFound if there is no such directory, unless `create`, which makes it, and its parents if
  // need be, durably.
  virtual absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                                   bool create) = 0;

  // Removes an empty directory.  FailedPrecondition if it is not empty, or cannot be removed though
  // its files can: the path is a symbolic link or ends with a dot, something is mounted there, or
  // the directory above may not be changed.
  virtual absl::Status RemoveDirectory(const std::string& path) = 0;

  // Does all the reads, in any order and at once where the system can; each request gets its own
  // outcome, the one that ReadAt would give it.
  //
  // `done` (may be null) is called with the number of each request once it has its outcome, in any
  // order, on this thread and one at a time; others may be under way then.  It must not throw.
  virtual void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done);
  void ReadMany(std::span<ReadRequest> requests) { ReadMany(requests, nullptr); }
};

// The whole file; ResourceExhausted beyond `size_max_bytes`.
absl::StatusOr<std::string> ReadWholeFile(Directory& directory, std::string_view name,
                                          uint64_t size_max_bytes);

}  // namespace lsm

#endif  // TRELLIS_LSM_FILE_SYSTEM_H_
