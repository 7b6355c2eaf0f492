// Where a store lives, and the lock on it.
#ifndef TRELLIS_LSM_STORE_STORE_DIRECTORY_H_
#define TRELLIS_LSM_STORE_STORE_DIRECTORY_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/options.h"
#include "lsm/scheduler.h"
#include "lsm/threads/repeating_thread.h"

namespace lsm::inline TRELLIS_ABI {

// Whether an opening in this mode changes no file.
constexpr bool IsForReading(OpenMode mode) {
  return mode == OpenMode::kReadOnly || mode == OpenMode::kFollow;
}

// The environment with the system's own objects in place of null members.  The scheduler stays
// null, because each store makes its own.
Environment CompleteEnvironment(const Environment& environment, FileAccess access);

// NotFound: there is no store in the directory.
absl::Status NoStore(const std::string& path);

struct StoreDirectory {
  Environment environment;  // complete
  std::unique_ptr<Scheduler> own_scheduler;
  std::unique_ptr<RepeatingThread> own_ticker;
  std::unique_ptr<Directory> directory;
  std::unique_ptr<Directory> own_log_directory;  // null: the same
  std::optional<std::string> own_log_path;       // its path, also if Peek finds none
  // Last, so that they are destroyed first.
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<FileLock> log_lock;

  // FailedPrecondition in a forked child, where nothing may be called at all.
  absl::Status CheckHolder() const {
    return lock != nullptr ? lock->CheckHolder() : absl::OkStatus();
  }

  Directory& log_directory() const {
    return own_log_directory != nullptr ? *own_log_directory : *directory;
  }

  // Opens the existing directories without a lock, so that no trace is left.  `directory` and
  // `own_log_directory` are null if they do not exist.  FailedPrecondition if the directory of the
  // logs holds a store.
  static absl::StatusOr<StoreDirectory> Peek(const std::string& path, const Options& options);

  // Opens and locks: exclusively, shared for OpenMode::kReadOnly, not at all for kFollow.  Makes
  // the directories if the mode allows.  FailedPrecondition as for Peek, or if another opening
  // holds a lock.
  //
  // `opened`, unless null, is a handle of the directory that Peek has just opened.  REQUIRES: its
  // name is durable.
  static absl::StatusOr<StoreDirectory> Open(const std::string& path, const Options& options,
                                             std::unique_ptr<Directory> opened = nullptr);

  // Makes a scheduler for background work if the environment has none.  ResourceExhausted if there
  // are no threads for it.
  absl::Status StartScheduler(bool with_scrub);

  // Starts a thread that calls `look` every 10 s, unless the scheduler has no threads.  `look`
  // throws nothing.  ResourceExhausted if there is no thread for it.  REQUIRES: StartScheduler.
  absl::Status StartTicker(std::function<void()> look);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_STORE_DIRECTORY_H_
