// The keyspaces of an open store: the directory by name and id, with their options.
//
//   Start     takes over what the manifest and the logs say
//   Prepare   decides what a request changes, and takes the memory for it
//   Apply     makes it visible: after its entry was committed, before the next writer's turn
//   Forget    a drop is in the manifest, and the tables are gone
//
// A dropped keyspace is flagged by Apply, and has no name any more.  Its state stays until Forget.
//
// A follower learns all of that from another process.  For each new view:
//
//   PrepareView   compares the directory with the view's keyspaces, and takes the memory
//   Apply         makes it visible: before the view is published
//
// Jobs that work on trees get effective options here.
//
// Threads: the engine's mutex guards this object.  opening(), CheckOwner, Expires, ExpiredNow and
// Now need no mutex.  Functions allocate memory unless they say that they do not.
#ifndef TRELLIS_LSM_RUNTIME_KEYSPACES_H_
#define TRELLIS_LSM_RUNTIME_KEYSPACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/compaction/flush_run.h"
#include "lsm/memtable/memtable.h"
#include "lsm/options.h"
#include "lsm/runtime/sequences.h"
#include "lsm/store/store_clock.h"
#include "lsm/threads/mutex.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/version_edit.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

// A call of DB::OpenKeyspace or DB::DropKeyspace, in the queue of writers.
struct KeyspaceRequest {
  std::string_view name;
  const KeyspaceOptions* options = nullptr;  // null: the keyspace is dropped
  // The result.  Null: there is none to drop.
  std::shared_ptr<const KeyspaceState> state = nullptr;
};

// The lists of a memtable, for its flush.  The memtable must outlive them.
std::vector<FlushRun::List> ListsToFlush(const Memtable& memtable);

class Keyspaces {
 public:
  // All arguments outlive this object; `mutex` is the engine's.
  Keyspaces(const Options* options, Mutex* mutex, Clock* clock);
  Keyspaces(const Keyspaces&) = delete;
  Keyspaces& operator=(const Keyspaces&) = delete;

  // The number of this opening (KeyspaceState).
  uint64_t opening() const { return opening_; }
  // InvalidArgument unless the batch names keyspaces of this opening only.
  absl::Status CheckOwner(const WriteBatch& batch) const;

  // For a caller that holds the mutex under another name, which Clang's analysis cannot follow.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK(*mutex_) {}

  // Called by the opening, perhaps more than once, before there are handles.
  void Start(const KeyspaceRecords& records) ABSL_LOCKS_EXCLUDED(*mutex_);
  // The same, after CheckKeyspacesAct.  Errors name `directory`.
  absl::Status CheckAndStart(const KeyspaceRecords& records, std::string_view directory)
      ABSL_LOCKS_EXCLUDED(*mutex_);
  // All records, for a new manifest: without what is flagged.
  KeyspaceRecords Records() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // Null if no keyspace has this name.
  std::shared_ptr<const KeyspaceState> Find(std::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Whether one of these options, if set, differs from the keyspace's.
  bool Changes(const KeyspaceState& state, const KeyspaceOptions& options) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  std::vector<std::string> Names() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // How many there are besides the default one.
  size_t other_count() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) { return states_.size() - 1; }

  using States = std::map<KeyspaceId, std::shared_ptr<KeyspaceState>>;
  using Ids = std::map<std::string_view, KeyspaceId>;

  // A change that is not visible yet, and the memory for it.
  struct Prepared {
    std::shared_ptr<KeyspaceState> state;
    std::optional<KeyspaceChange> change;  // nullopt: there is nothing to do
    KeyspaceOptions options;
    // New entries for the members of Keyspaces with these names.
    States states;
    Ids ids;
    OwnOptions own_options;
    std::set<KeyspaceId> dropped;
    // The new limits of all keyspaces; null: they stay.
    std::shared_ptr<LimitTable> limits;
  };
  // ResourceExhausted if there are too many keyspaces.
  absl::StatusOr<Prepared> Prepare(std::string_view name, const KeyspaceOptions& options) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // The drop of the keyspace of this name; without a state if there is none.
  Prepared PrepareDrop(std::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Computes the marks (ExpiryMarks) of a change that is about to be logged.  From now on, jobs
  // expect that a crash may leave its limit.  REQUIRES: as Apply.
  void Announce(Prepared* prepared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Takes back the change that was announced last.  REQUIRES: it is not in the log.  Allocates no
  // memory.
  void TakeBack(const Prepared& prepared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Allocates no memory.  REQUIRES: no other change was applied since Prepare.
  void Apply(Prepared prepared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // The directory as of a follower's next view.
  struct NextView {
    States states;
    Ids ids;
    // For states that stay.
    struct Changed {
      std::shared_ptr<KeyspaceState> state;
      KeyspaceRecord record;
      ExpiryLimit limit;
    };
    std::vector<Changed> changed;
    std::shared_ptr<const LimitTable> limits;  // as `limits_`
    uint64_t next_id = kOtherKeyspaceMin;
  };
  // A keyspace keeps its state only if id and name are the same: after a crash of the writer's
  // machine, an id that was lost may be given to another name.  Errors: as for CheckAndStart.
  absl::StatusOr<NextView> PrepareView(const KeyspaceRecords& records,
                                       std::string_view directory) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Flags the keyspaces that the view does not have.  Allocates no memory.  REQUIRES: no other
  // change was applied since PrepareView.
  void Apply(NextView view) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // The effective options of the keyspaces that replace any of the store's.  Allocates no memory.
  const OwnOptions& own_options() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    return own_options_;
  }

  // A copy of those of this version's trees, for use without the mutex.
  OwnOptions OwnOptionsIn(const Version& version) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // The keyspaces that are flagged and not forgotten.  Allocates no memory.
  const std::set<KeyspaceId>& dropped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    return dropped_;
  }
  // The state of an id that is not forgotten; null if there is none.
  std::shared_ptr<const KeyspaceState> StateOf(KeyspaceId id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // The tree that slows and stops writes: of those that are not flagged, the one whose level 0 has
  // the most tables.  Allocates no memory.
  const Tree& FullestTree(const Version& version) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // The keyspace with the largest tree of its own, of those that are flagged; kDefaultKeyspace if
  // no such keyspace has tables.  Allocates no memory.
  KeyspaceId LargestDropped(const Version& version) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Forgets the changes of a flushed memtable: its drops, and the limits that the manifest has
  // replaced.  True if tables of this version may have expired by the new limits.  Allocates no
  // memory.
  bool Forget(const std::vector<KeyspaceChange>& changes, const Version& version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Forgets all drops.  Allocates no memory.
  void ForgetDropped() ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // For FlushRun::Calls::may_leave: false if the keyspace was dropped, or stays.
  bool MayLeave(KeyspaceId id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // The keyspace has left the common tree.  Allocates no memory.
  void NoteLeft(KeyspaceId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // It could not, and stays until the next opening.  Allocates no memory.
  void NoteStays(KeyspaceId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // --- expiry (lsm/design/expiry.md) ---

  // False if all entries of the keyspace live (null: the default one).  Any thread.
  bool Expires(const KeyspaceState* keyspace) const {
    const KeyspaceState& state = keyspace == nullptr ? *default_state_ : *keyspace;
    // Relaxed: the view that the reader has loaded orders it (ExpiredNow).
    return state.limit.load(std::memory_order_relaxed) != 0;
  }
  // The entries that have expired for a read of the present in this keyspace (null: the default
  // one).  REQUIRES: the reader has loaded its view.  A compaction reads the clock before it
  // publishes a view, so the reader's time is not earlier.  Thread-safe.
  ExpiryView ExpiredNow(const KeyspaceState* keyspace) const {
    if (!Expires(keyspace)) [[likely]]
      return {};
    const KeyspaceState& state = keyspace == nullptr ? *default_state_ : *keyspace;
    // Reads the time first: if the limit changes afterwards, entries that have expired by then stay
    // expired.
    const uint32_t now = clock_.Now();
    return state.GetLimit().At(now);
  }
  // The limits of the keyspaces whose puts have times; null if there are none.  Allocates no
  // memory.
  const std::shared_ptr<const LimitTable>& limits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    return limits_;
  }
  // The time of a commit.
  uint32_t Now() const { return clock_.Now(); }
  // The time of a snapshot that is taken now; null if no keyspace has times.
  std::shared_ptr<const ReadTime> TimeOfSnapshot() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // The limits for reads of the present, without snapshots.
  SnapshotList Present() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Present(), and the same with the mildest limits that a crash may leave.  nullopt if no change
  // of a limit waits for its flush.
  struct UnrecordedLimits {
    SnapshotList present, recorded;
  };
  std::optional<UnrecordedLimits> Unrecorded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // For a job: the snapshots, and the times and limits of these and of the present.
  SnapshotList ForJob(const Sequences& sequences) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // False only if no table of the version has expired, as a whole or by a fifth.  Allocates no
  // memory.
  bool MayHaveExpired(const Version& version) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Notes that the manifest has the limits of all keyspaces now.  Allocates no memory.
  void NoteAllRecorded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // Records the changes of a memtable in the edit of its flush.
  void AddTo(const std::vector<KeyspaceChange>& changes, VersionEdit* edit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

 private:
  // The entries that a job may treat as expired now.
  std::shared_ptr<const JobExpiry> ExpiryOfJob(std::vector<JobExpiry::Reader> readers) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  const Options& options_;
  const uint64_t opening_;
  Mutex* const mutex_;
  States states_ ABSL_GUARDED_BY(*mutex_);
  Ids ids_ ABSL_GUARDED_BY(*mutex_);  // views of the states' names
  OwnOptions own_options_ ABSL_GUARDED_BY(*mutex_);
  std::set<KeyspaceId> dropped_ ABSL_GUARDED_BY(*mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(*mutex_) = kOtherKeyspaceMin;

  mutable StoreClock clock_;                  // thread-safe
  const KeyspaceState* const default_state_;  // in states_, for readers
  std::shared_ptr<const LimitTable> limits_ ABSL_GUARDED_BY(*mutex_);
  // Whether `limits_` may have limits of keyspaces that were dropped and forgotten.
  bool limits_have_forgotten_ ABSL_GUARDED_BY(*mutex_) = false;
  // For each keyspace whose puts have times, the limits that a crash may leave: the manifest's, and
  // then those of the changes that no flush has recorded, in their order.
  std::map<KeyspaceId, std::vector<ExpiryLimit>> limits_left_ ABSL_GUARDED_BY(*mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_KEYSPACES_H_
