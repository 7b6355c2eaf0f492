#include "lsm/store/destroy.h"

#include <optional>
#include <set>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/store/recovery.h"
#include "lsm/store/reserve.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Whether a store has files of this kind in the directory.  A directory for logs alone has only
// logs and a reserve.
bool IsOfStore(FileKind kind, bool is_log_directory) {
  return !is_log_directory || kind == FileKind::kLog || kind == FileKind::kReserve;
}

// The lock is removed last: as long as it exists, a later call finds something to destroy.
absl::Status RemoveLock(Directory& directory) {
  TRELLIS_RETURN_IF_ERROR(directory.Remove(kLockFileName));
  return directory.Sync();
}

// Removes the logs of a directory of logs alone, one after the other, each durably.  A store does
// not open without the oldest log that it needs.  So after a crash the remaining logs are not
// mistaken for all of them.
absl::Status RemoveLogs(Directory& log_directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> logs, NumbersOf(log_directory, FileKind::kLog));
  for (const uint64_t log : logs) {
    TRELLIS_RETURN_IF_ERROR(log_directory.Remove(LogFileName(log)));
    TRELLIS_RETURN_IF_ERROR(log_directory.Sync());
  }
  (void)RemoveReserve(log_directory);
  return RemoveLock(log_directory);
}

// CURRENT is removed first, durably.  So if a crash interrupts the removal, no store with missing
// tables can be opened.
absl::Status RemoveStoreFiles(Directory& directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
  const absl::Status current = directory.Remove(kCurrentFileName);
  if (!current.ok() && !absl::IsNotFound(current)) return current;
  if (current.ok()) TRELLIS_RETURN_IF_ERROR(directory.Sync());
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (!parsed || parsed->kind == FileKind::kCurrent || parsed->kind == FileKind::kLock) continue;
    TRELLIS_RETURN_IF_ERROR(directory.Remove(name));
  }
  return RemoveLock(directory);
}

// FailedPrecondition if a file that would be removed is not ours.
absl::Status CheckFilesAreOurs(Directory& directory, bool is_log_directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (!parsed || !IsOfStore(parsed->kind, is_log_directory)) continue;
    TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(directory, name, parsed->kind));
    if (origin == Origin::kForeign) return ForeignFile(directory, name);
  }
  return absl::OkStatus();
}

// FailedPrecondition if a log belongs to another store, or may belong to one because no manifest
// says whose it is.
absl::Status CheckLogsAreOurs(Directory& directory, Directory& log_directory) {
  const absl::StatusOr<ManifestContents> contents = ReadManifest(directory);
  if (contents.ok()) return CheckLogsBelong(log_directory, contents->state);
  const bool says_nothing = IsDamage(contents.status()) || absl::IsUnimplemented(contents.status());
  if (!says_nothing) return contents.status();
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(log_directory, FileKind::kLog));
  for (const uint64_t number : numbers) {
    TRELLIS_ASSIGN_OR_RETURN(const bool holds_writes,
                             HoldsWrites(log_directory, LogFileName(number)));
    if (!holds_writes) continue;
    return absl::FailedPreconditionError(
        Concat(log_directory.path(), "/", LogFileName(number),
               ": no manifest says whose log this is; nothing was changed (without "
               "Options::log_directory the store is destroyed and the logs stay)"));
  }
  return absl::OkStatus();
}

// FailedPrecondition if the store's logs are elsewhere, where no later call could find them.  OK if
// the manifest cannot be read.
absl::Status CheckLogsAreHere(const StoreDirectory& there) {
  const absl::StatusOr<ManifestContents> contents = ReadManifest(*there.directory);
  if (!contents.ok()) return absl::OkStatus();
  return there.own_log_path ? CheckLogsAreNotElsewhere(there, contents->state)
                            : contents->state.CheckLogsAreWithTables(there.directory->path());
}

// FailedPrecondition if there are logs, but no store.
absl::Status CheckNoLogsAreLeft(const std::string& path, Directory& log_directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(log_directory, FileKind::kLog));
  for (const uint64_t number : numbers) {
    const std::string name = LogFileName(number);
    TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(log_directory, name, FileKind::kLog));
    if (origin == Origin::kForeign) continue;
    return absl::FailedPreconditionError(
        Concat(log_directory.path(), "/", name, ": a log, but there is no store in ", path,
               " to say whose it is; nothing was changed (if no store needs the logs, DB::Destroy "
               "of their directory removes them)"));
  }
  return absl::OkStatus();
}

// Whether there is a store that may be destroyed.  Called before the lock is taken, because the
// lock is a file that would be created.
absl::StatusOr<bool> LookFirst(const std::string& path, const StoreDirectory& there) {
  bool is_store = false;
  if (there.directory != nullptr) {
    TRELLIS_ASSIGN_OR_RETURN(is_store, HoldsFiles(*there.directory));
  }
  Directory* const logs = there.own_log_directory.get();
  if (!is_store) {
    if (logs != nullptr) TRELLIS_RETURN_IF_ERROR(CheckNoLogsAreLeft(path, *logs));
    return false;
  }
  TRELLIS_RETURN_IF_ERROR(CheckFilesAreOurs(*there.directory, false));
  if (logs != nullptr) {
    TRELLIS_RETURN_IF_ERROR(CheckFilesAreOurs(*logs, true));
    TRELLIS_RETURN_IF_ERROR(CheckLogsAreOurs(*there.directory, *logs));
  }
  TRELLIS_RETURN_IF_ERROR(CheckLogsAreHere(there));
  return true;
}

absl::Status RemoveIfEmpty(FileSystem& file_system, Directory& directory) {
  const absl::Status status = file_system.RemoveDirectory(directory.path());
  // The directory has other files, or is not ours to remove: it stays.
  return absl::IsFailedPrecondition(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::Status DestroyStore(const std::string& path, const Options& options) {
  TRELLIS_ASSIGN_OR_RETURN(const StoreDirectory there, StoreDirectory::Peek(path, options));
  TRELLIS_ASSIGN_OR_RETURN(const bool is_store, LookFirst(path, there));
  if (!is_store) {
    return there.directory == nullptr
               ? absl::OkStatus()
               : RemoveIfEmpty(*there.environment.file_system, *there.directory);
  }
  // Creates again what an interrupted earlier call removed: the lock, the directory of the logs.
  Options open = options;
  open.mode = OpenMode::kOpenOrCreate;
  TRELLIS_ASSIGN_OR_RETURN(const StoreDirectory store, StoreDirectory::Open(path, open));
  // The logs are removed first, because a later call looks at the store's own directory to see
  // whether there is anything to destroy.
  if (store.own_log_directory != nullptr) {
    TRELLIS_RETURN_IF_ERROR(RemoveLogs(*store.own_log_directory));
    TRELLIS_RETURN_IF_ERROR(
        RemoveIfEmpty(*store.environment.log_file_system, *store.own_log_directory));
  }
  TRELLIS_RETURN_IF_ERROR(RemoveStoreFiles(*store.directory));
  return RemoveIfEmpty(*store.environment.file_system, *store.directory);
}

}  // namespace lsm
