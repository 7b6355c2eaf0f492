#include "lsm/store/store_directory.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/fs/file_names.h"
#include "lsm/fs/process_lock.h"
#include "lsm/store/store_files.h"
#include "lsm/threads/thread_scheduler.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::StatusOr<std::unique_ptr<FileLock>> LockFor(Directory& directory, OpenMode mode) {
  if (mode == OpenMode::kFollow) return NewProcessLock(directory.path());
  if (!IsForReading(mode)) return directory.Lock(kLockFileName, LockKind::kExclusive);
  absl::StatusOr<std::unique_ptr<FileLock>> lock = directory.Lock(kLockFileName, LockKind::kShared);
  // No store was ever written here, or the files were copied without the lock.  A reader creates no
  // file.
  if (absl::IsNotFound(lock.status())) return std::unique_ptr<FileLock>();
  return lock;
}

// Between two attempts to lock.  Short beside the time that recovery takes, and long enough that a
// standby costs an object store little.
constexpr uint64_t kLockPauseNanos = 250'000'000;

// Between two looks for due work.  A sixth of the minute in which a store that has deleted all
// should be empty.
constexpr uint64_t kLookNanos = 10'000'000'000;

struct LockedDirectory {
  std::unique_ptr<Directory> directory;
  std::unique_ptr<FileLock> lock;
};
using OpenDirectoryFunction = absl::FunctionRef<absl::StatusOr<std::unique_ptr<Directory>>()>;

absl::StatusOr<LockedDirectory> TryToLock(std::unique_ptr<Directory> directory,
                                          OpenDirectoryFunction open, OpenMode mode) {
  if (directory == nullptr) {
    TRELLIS_ASSIGN_OR_RETURN(directory, open());
  }
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> lock, LockFor(*directory, mode));
  return LockedDirectory{std::move(directory), std::move(lock)};
}

// `opened`, which may be null, serves the first attempt.  `hint` follows the message if another
// holder has the lock.
absl::StatusOr<LockedDirectory> OpenAndLock(std::unique_ptr<Directory> opened,
                                            OpenDirectoryFunction open,
                                            const Environment& environment, const Options& options,
                                            std::string_view hint) {
  const uint64_t from = environment.clock->MonotonicNanos();
  bool was_held = false;
  for (;;) {
    // Opens the directory again each time: once a directory in an object store has another owner,
    // earlier handles are of no use.
    absl::StatusOr<LockedDirectory> locked = TryToLock(std::move(opened), open, options.mode);
    if (locked.ok()) return locked;
    const bool is_held = absl::IsFailedPrecondition(locked.status());
    was_held |= is_held;
    // A standby that waits outlives calls that fail or take too long.  Before that, such an error
    // may be permanent.
    const bool may_pass = absl::IsUnavailable(locked.status()) || absl::IsUnknown(locked.status());
    if (!is_held && !(was_held && may_pass)) return locked;
    const uint64_t seconds = (environment.clock->MonotonicNanos() - from) / 1'000'000'000;
    if (seconds >= options.lock_wait_seconds) {
      return is_held ? absl::FailedPreconditionError(Concat(MessageOf(locked.status()), hint))
                     : locked.status();
    }
    environment.scheduler != nullptr ? environment.scheduler->Pause(kLockPauseNanos)
                                     : PauseThread(kLockPauseNanos);
  }
}

absl::Status CheckLogFileSystem(const Environment& environment, const Options& options) {
  if (!options.log_directory.empty() || environment.log_file_system == environment.file_system)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "Options::environment.log_file_system needs Options::log_directory");
}

bool HasOwnLogDirectory(const std::string& path, const Environment& environment,
                        const Options& options) {
  return !options.log_directory.empty() &&
         (WithoutDetours(options.log_directory) != WithoutDetours(path) ||
          environment.log_file_system != environment.file_system);
}

// The error if there is no directory for the logs, and none may be made.
absl::Status NoLogDirectory(Directory& directory, const Options& options) {
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
  const bool is_store = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    const std::optional<FileName> parsed = ParseFileName(name);
    return parsed && parsed->kind != FileKind::kLock;
  });
  if (!is_store) return NoStore(directory.path());
  const std::string missing =
      Concat(options.log_directory,
             ": the directory of the store's logs is missing (Options::log_directory)");
  if (options.mode == OpenMode::kFollow) return absl::UnavailableError(missing);
  return absl::DataLossError(
      Concat(missing, "; if they are lost, make an empty one, and repair the store"));
}

// Null if there is no such directory.
absl::StatusOr<std::unique_ptr<Directory>> OpenIfThere(FileSystem& file_system,
                                                       const std::string& path) {
  absl::StatusOr<std::unique_ptr<Directory>> directory =
      file_system.OpenDirectory(path, /*create=*/false);
  if (absl::IsNotFound(directory.status())) return std::unique_ptr<Directory>();
  return directory;
}

// Never NotFound, which would mean that there is no store in an existing directory.
absl::StatusOr<std::unique_ptr<Directory>> OpenOrCreate(FileSystem& file_system,
                                                        const std::string& path) {
  absl::StatusOr<std::unique_ptr<Directory>> directory =
      file_system.OpenDirectory(path, /*create=*/true);
  if (!absl::IsNotFound(directory.status())) return directory;
  return absl::UnavailableError(
      Concat(path, ": the directory cannot be created: ", MessageOf(directory.status())));
}

}  // namespace

Environment CompleteEnvironment(const Environment& environment, FileAccess access) {
  Environment complete = environment;
  if (complete.file_system == nullptr) complete.file_system = &PosixFileSystem(access);
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
  store.environment = CompleteEnvironment(options.environment, options.file_access);
  TRELLIS_RETURN_IF_ERROR(CheckLogFileSystem(store.environment, options));
  TRELLIS_ASSIGN_OR_RETURN(store.directory, OpenIfThere(*store.environment.file_system, path));
  if (HasOwnLogDirectory(path, store.environment, options)) {
    store.own_log_path = options.log_directory;
    TRELLIS_ASSIGN_OR_RETURN(
        store.own_log_directory,
        OpenIfThere(*store.environment.log_file_system, options.log_directory));
    if (store.own_log_directory != nullptr)
      TRELLIS_RETURN_IF_ERROR(CheckHoldsNoStore(*store.own_log_directory));
  }
  return store;
}

absl::StatusOr<StoreDirectory> StoreDirectory::Open(const std::string& path, const Options& options,
                                                    std::unique_ptr<Directory> opened) {
  StoreDirectory store;
  store.environment = CompleteEnvironment(options.environment, options.file_access);
  TRELLIS_RETURN_IF_ERROR(CheckLogFileSystem(store.environment, options));
  const bool create =
      options.mode == OpenMode::kOpenOrCreate || options.mode == OpenMode::kMustNotExist;
  const auto open = [create](FileSystem& file_system, const std::string& at) {
    return create ? OpenOrCreate(file_system, at) : file_system.OpenDirectory(at, /*create=*/false);
  };
  TRELLIS_ASSIGN_OR_RETURN(
      LockedDirectory tables,
      OpenAndLock(
          std::move(opened), [&] { return open(*store.environment.file_system, path); },
          store.environment, options, ""));
  store.directory = std::move(tables.directory);
  store.lock = std::move(tables.lock);
  if (HasOwnLogDirectory(path, store.environment, options)) {
    store.own_log_path = options.log_directory;
    const auto open_logs = [&]() -> absl::StatusOr<std::unique_ptr<Directory>> {
      absl::StatusOr<std::unique_ptr<Directory>> logs =
          open(*store.environment.log_file_system, options.log_directory);
      if (absl::IsNotFound(logs.status())) return NoLogDirectory(*store.directory, options);
      TRELLIS_RETURN_IF_ERROR(logs.status());
      TRELLIS_RETURN_IF_ERROR(CheckHoldsNoStore(**logs));
      return logs;
    };
    TRELLIS_ASSIGN_OR_RETURN(
        LockedDirectory logs,
        OpenAndLock(nullptr, open_logs, store.environment, options,
                    " (Options::log_directory: each store needs one of its own, and that must not "
                    "be the store's directory by another path)"));
    store.own_log_directory = std::move(logs.directory);
    store.log_lock = std::move(logs.lock);
    // Until this process had the second lock, another one may have taken the first and used the
    // store.  One that takes the first later takes the second before it uses the store.
    if (store.lock != nullptr) TRELLIS_RETURN_IF_ERROR(store.lock->Confirm());
  }
  return store;
}

absl::Status StoreDirectory::StartScheduler(bool with_scrub) {
  if (environment.scheduler != nullptr) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(own_scheduler,
                           NewThreadScheduler({CompactionsOfMachine(), with_scrub ? 1 : 0}));
  environment.scheduler = own_scheduler.get();
  return absl::OkStatus();
}

absl::Status StoreDirectory::StartTicker(std::function<void()> look) {
  if (!environment.scheduler->HasThreads()) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(own_ticker, RepeatingThread::Start(kLookNanos, std::move(look)));
  return absl::OkStatus();
}

}  // namespace lsm
