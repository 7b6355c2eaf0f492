#include "lsm/engine/store_directory.h"

#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/engine/store_files.h"
#include "lsm/fs/file_names.h"

namespace lsm {
namespace {

absl::StatusOr<std::unique_ptr<FileLock>> LockFor(Directory& directory, OpenMode mode) {
  if (mode != OpenMode::kReadOnly) return directory.Lock(kLockFileName, LockKind::kExclusive);
  absl::StatusOr<std::unique_ptr<FileLock>> lock = directory.Lock(kLockFileName, LockKind::kShared);
  // Nobody ever wrote here (or the files were copied without it), and a reader makes no file.
  if (absl::IsNotFound(lock.status())) return std::unique_ptr<FileLock>();
  return lock;
}

bool HasOwnLogDirectory(const std::string& path, const Options& options) {
  return !options.log_directory.empty() && options.log_directory != path;
}

// Null if there is no such directory.
absl::StatusOr<std::unique_ptr<Directory>> OpenIfThere(FileSystem& file_system,
                                                       const std::string& path) {
  absl::StatusOr<std::unique_ptr<Directory>> directory =
      file_system.OpenDirectory(path, /*create=*/false);
  if (absl::IsNotFound(directory.status())) return std::unique_ptr<Directory>();
  return directory;
}

}  // namespace

Environment CompleteEnvironment(const Environment& environment) {
  Environment complete = environment;
  if (complete.file_system == nullptr) complete.file_system = &PosixFileSystem();
  if (complete.log_file_system == nullptr) complete.log_file_system = complete.file_system;
  if (complete.clock == nullptr) complete.clock = &SystemClock();
  if (complete.random == nullptr) complete.random = &SystemRandom();
  return complete;
}

absl::Status NoStore(const std::string& path) {
  return absl::NotFoundError(Concat(path, ": there is no store in this directory"));
}

absl::StatusOr<StoreDirectory> StoreDirectory::Peek(const std::string& path,
                                                    const Options& options) {
  StoreDirectory store;
  store.environment = CompleteEnvironment(options.environment);
  LSM_ASSIGN_OR_RETURN(store.directory, OpenIfThere(*store.environment.file_system, path));
  if (HasOwnLogDirectory(path, options)) {
    LSM_ASSIGN_OR_RETURN(store.own_log_directory,
                         OpenIfThere(*store.environment.log_file_system, options.log_directory));
    if (store.own_log_directory != nullptr)
      LSM_RETURN_IF_ERROR(CheckHoldsNoStore(*store.own_log_directory));
  }
  return store;
}

absl::StatusOr<StoreDirectory> StoreDirectory::Open(const std::string& path,
                                                    const Options& options) {
  StoreDirectory store;
  store.environment = CompleteEnvironment(options.environment);
  const bool create =
      options.mode == OpenMode::kOpenOrCreate || options.mode == OpenMode::kMustNotExist;
  LSM_ASSIGN_OR_RETURN(store.directory, store.environment.file_system->OpenDirectory(path, create));
  LSM_ASSIGN_OR_RETURN(store.lock, LockFor(*store.directory, options.mode));
  if (options.log_directory.empty() &&
      store.environment.log_file_system != store.environment.file_system) {
    return absl::InvalidArgumentError(
        "Options::environment.log_file_system needs Options::log_directory");
  }
  if (HasOwnLogDirectory(path, options)) {
    LSM_ASSIGN_OR_RETURN(store.own_log_directory, store.environment.log_file_system->OpenDirectory(
                                                      options.log_directory, create));
    LSM_RETURN_IF_ERROR(CheckHoldsNoStore(*store.own_log_directory));
    LSM_ASSIGN_OR_RETURN(store.log_lock, LockFor(*store.own_log_directory, options.mode));
  }
  return store;
}

absl::Status StoreDirectory::StartScheduler() {
  if (environment.scheduler != nullptr) return absl::OkStatus();
  LSM_ASSIGN_OR_RETURN(own_scheduler, NewThreadScheduler());
  environment.scheduler = own_scheduler.get();
  return absl::OkStatus();
}

}  // namespace lsm
