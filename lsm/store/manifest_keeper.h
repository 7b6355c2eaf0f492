// Keeps the manifest of an open store: hands out the numbers of its files, records its edits, and
// replaces a manifest that has grown too long.
//
// Threads: any thread may call NewFileNumber and next_file_number.  Only the opening calls
// SetNextFileNumber.  All other calls require mutex(), which is taken before Engine::mutex_.  A
// caller that records an edit holds it from the moment it reads the version until readers see the
// new view.  So edits and views have the same order.  Callers that read the store's files by their
// names hold it too, so that no file appears or disappears meanwhile.
//
// Errors: after a failure it is unknown which edits are valid, and even which manifest is the
// current one.  So every later edit fails with the first error, until Begin succeeds.  Otherwise
// the next edit of another job might go to the wrong manifest, and the files that it makes obsolete
// would be removed.
#ifndef TRELLIS_LSM_STORE_MANIFEST_KEEPER_H_
#define TRELLIS_LSM_STORE_MANIFEST_KEEPER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"
#include "lsm/threads/mutex.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

class ManifestKeeper {
 public:
  // A manifest longer than this, and than twice the snapshot that it began with, is replaced.
  static constexpr uint64_t kBytesMin = uint64_t{64} << 20;

  // `on_failure` is called, with mutex() held, for the first failure, and for the first one after
  // each Begin.  It throws nothing.
  ManifestKeeper(const StoreDirectory* store, std::function<void(const absl::Status&)> on_failure)
      : store_(*store), on_failure_(std::move(on_failure)) {}
  ManifestKeeper(const ManifestKeeper&) = delete;
  ManifestKeeper& operator=(const ManifestKeeper&) = delete;

  // --- file numbers ---

  // REQUIRES: no file number was handed out.
  void SetNextFileNumber(uint64_t number) {
    next_file_number_.store(number, std::memory_order_relaxed);
  }
  // Higher than all earlier numbers.  NextFileNumber (store_files.h) has made sure that enough are
  // left.  Relaxed, here and below: the numbers order nothing else.  A thread that names a file in
  // an edit has its number from NewFileNumber or from the thread that made it, so it sees a higher
  // next number.
  uint64_t NewFileNumber() { return next_file_number_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t next_file_number() const { return next_file_number_.load(std::memory_order_relaxed); }

  // --- the manifest ---

  Mutex* mutex() ABSL_LOCK_RETURNED(mutex_) { return &mutex_; }

  // The sum of all edits.
  const ManifestState& state() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return state_; }
  // The error with which every edit fails; OK if there is none.
  const absl::Status& status() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return status_; }

  // For a store that is opened for reading: sets the state that its manifest describes.
  void Load(ManifestState state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state_ = std::move(state);
  }
  // Begins a manifest of this state, and makes CURRENT, which holds `expected_current`, name it.
  // Once CURRENT may name it, the files in `made` stay, also after a failure.  Returns the
  // manifest's number.  After an error the caller calls Fail, perhaps after further failures.
  absl::StatusOr<uint64_t> Begin(ManifestState state,
                                 std::optional<std::string_view> expected_current, NewFiles* made)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Durable when it returns OK.  Throws nothing.
  absl::Status Record(const VersionEdit& edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // From now on every edit fails with this error.
  void Fail(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Throws nothing.
  absl::Status Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return writer_ != nullptr ? writer_->Close() : absl::OkStatus();
  }

 private:
  absl::Status Write(const VersionEdit& edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Rotate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Adopt(std::unique_ptr<ManifestWriter> writer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StoreDirectory& store_;
  const std::function<void(const absl::Status&)> on_failure_;
  std::atomic<uint64_t> next_file_number_{1};
  Mutex mutex_;
  std::unique_ptr<ManifestWriter> writer_ ABSL_GUARDED_BY(mutex_);  // null: none was begun
  ManifestState state_ ABSL_GUARDED_BY(mutex_);
  uint64_t bytes_max_ ABSL_GUARDED_BY(mutex_) = 0;  // a longer manifest is replaced
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_MANIFEST_KEEPER_H_
