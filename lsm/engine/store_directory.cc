#include "lsm/engine/store_directory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
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

}  // namespace

Environment CompleteEnvironment(const Environment& environment) {
  Environment complete = environment;
  if (complete.file_system == nullptr) complete.file_system = &PosixFileSystem();
  if (complete.log_file_system == nullptr) complete.log_file_system = complete.file_system;
  if (complete.clock == nullptr) complete.clock = &SystemClock();
  if (complete.random == nullptr) complete.random = &SystemRandom();
  return complete;
}

absl::StatusOr<bool> StoreDirectory::HoldsFiles(const std::string& path, const Options& options) {
  const Environment environment = CompleteEnvironment(options.environment);
  absl::StatusOr<std::unique_ptr<Directory>> directory =
      environment.file_system->OpenDirectory(path, /*create=*/false);
  if (absl::IsNotFound(directory.status())) return false;
  LSM_RETURN_IF_ERROR(directory.status());
  LSM_ASSIGN_OR_RETURN(const std::vector<std::string> names, (*directory)->List());
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return ParseFileName(name).has_value(); });
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
  if (!options.log_directory.empty() && options.log_directory != path) {
    LSM_ASSIGN_OR_RETURN(store.own_log_directory, store.environment.log_file_system->OpenDirectory(
                                                      options.log_directory, create));
    LSM_ASSIGN_OR_RETURN(store.log_lock, LockFor(*store.own_log_directory, options.mode));
  }
  if (store.environment.scheduler == nullptr) {
    store.own_scheduler = NewThreadScheduler();
    store.environment.scheduler = store.own_scheduler.get();
  }
  return store;
}

}  // namespace lsm
