// Follows a store that another process writes: each refresh gives a view of it
// (lsm/design/followers.md has the steps, and the proof).
//
// It holds open what the views need, takes no lock, and changes no file.  One thread at a time; the
// views may be used by any thread.
#ifndef TRELLIS_LSM_FOLLOW_STORE_FOLLOWER_H_
#define TRELLIS_LSM_FOLLOW_STORE_FOLLOWER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/file_system.h"
#include "lsm/follow/followed_logs.h"
#include "lsm/memtable/memtable.h"
#include "lsm/store/open_tables.h"
#include "lsm/table/table.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

class StoreFollower {
 public:
  struct Place {
    FileSystem* files = nullptr;
    std::string path;
    FileSystem* log_files = nullptr;
    std::optional<std::string> log_path;  // nullopt: the logs are with the tables
    ReadMode read_mode = ReadMode::kBuffered;
  };
  // The writes up to `sequence`, and no others, for readers who read at that number.
  struct View {
    std::vector<std::shared_ptr<const Memtable>> memtables;  // newest first
    std::shared_ptr<const Version> version;                  // keeps its tables' pin
    // Never null.  The same object as in the last view, unless a keyspace has changed.
    std::shared_ptr<const KeyspaceRecords> keyspaces;
    Sequence sequence = 0;
    // Set if the last view held writes that this one lacks.
    struct WentBack {
      Sequence from = 0;  // the last write of the last view
      Sequence to = 0;    // the last write that both hold
    };
    std::optional<WentBack> went_back;
  };

  explicit StoreFollower(Place place) : place_(std::move(place)) {}
  StoreFollower(const StoreFollower&) = delete;
  StoreFollower& operator=(const StoreFollower&) = delete;

  // Reads CURRENT and the manifest, and returns the store's seed, which the tables need.  Call it
  // before the first Refresh.  Errors: as for Refresh.
  absl::StatusOr<bloom::DigestSeed> Begin();

  // The view of now.  `context` is the same in each call.  After an error the last view stands, and
  // a later call may succeed.  Errors:
  //
  //   NotFound            there is no store
  //   FailedPrecondition  it is another store than before, or its logs are in another directory;
  //                       every later call returns this
  //   Unavailable         a file is missing, a record is not readable yet, or the store changed
  //                       faster than it could be read
  //   DataLoss            a file is damaged
  //   Unimplemented, and the file system's own
  absl::StatusOr<View> Refresh(const TableContext& context);

 private:
  // A version whose tables stay readable.
  struct PinnedVersion {
    std::shared_ptr<const void> pin;  // before `version`, so that it is released after the tables
    std::shared_ptr<const Version> version;
    uint64_t edits = 0;  // of the manifest
  };
  struct Directories {
    std::unique_ptr<Directory> tables;
    std::unique_ptr<Directory> own_logs;
    Directory& logs() const { return own_logs != nullptr ? *own_logs : *tables; }
  };
  // Opened by their paths at each attempt: a directory may have been moved away and replaced.
  absl::StatusOr<Directories> OpenDirectories() const;
  // Calls `attempt` until it succeeds, or fails although nothing has changed meanwhile.
  absl::Status Repeat(absl::FunctionRef<absl::Status(const Directories&)> attempt);
  // Whether anything changed since the attempt that failed began, so that its error says nothing.
  absl::StatusOr<bool> HasChanged();
  absl::StatusOr<bool> HasAnotherManifest();
  // Damage that only means that a file is missing, as Unavailable.
  absl::Status WithoutFalseDamage(const absl::Status& status, const Directories& directories) const;

  // Step 1 of a refresh, as the page of the design numbers them.
  absl::Status ReadState(const Directories& directories);
  // FailedPrecondition for a manifest of another store.
  absl::Status CheckIsSameStore(const ManifestState& state);
  // Step 3.
  absl::Status ReadEdits();
  // Step 5.
  absl::Status OpenVersion(const TableContext& context, const Directories& directories);
  // All steps.  Aborted: the store changed meanwhile.
  absl::StatusOr<View> Try(const TableContext& context, const Directories& directories);

  const Place place_;
  absl::Status refused_;  // another store, for good
  std::optional<bloom::DigestSeed> digest_seed_;
  std::optional<std::string> log_directory_;  // in the manifest; valid with digest_seed_
  uint64_t refresh_ = 0;                      // counts the calls
  Current current_;                           // as the attempt found it
  std::unique_ptr<ManifestReader> manifest_;  // that `current_` names; null: not read
  uint64_t edits_before_ = 0;                 // when the attempt began
  FollowedLogs logs_;
  TablesByNumber tables_;
  std::shared_ptr<const void> pin_;  // of the last attempt; null: the file system needs none
  // Views share it.  Only this object's thread reads its member `pin`.  Null: none.
  std::shared_ptr<PinnedVersion> version_;
  Sequence shown_ = 0;                  // by the last view
  std::optional<uint64_t> shown_seed_;  // the log seed of its manifest
  // Since the last view, the lowest number at which a manifest of another seed began.
  std::optional<Sequence> began_at_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FOLLOW_STORE_FOLLOWER_H_
