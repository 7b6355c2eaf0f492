// Access to a directory's index, as one owner.
#ifndef TRELLIS_LSM_OBJECTS_INDEX_HANDLE_H_
#define TRELLIS_LSM_OBJECTS_INDEX_HANDLE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/object_pool.h"
#include "lsm/objects/directory_index.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// The attributes `removals` and `pins` of an index, as they are stored.
struct IndexCounts {
  std::string removals, pins;
  bool operator==(const IndexCounts&) const = default;
};
// Those in an index that was read with its attributes.
IndexCounts CountsIn(const ObjectContents& contents);

// An index before its directory is locked.
struct IndexBefore {
  std::string owner;       // encoded
  std::string lock_entry;  // of LOCK; empty if there is none
  // nullopt if it has more than one read returns.
  std::optional<ObjectValues> entries;
  IndexCounts counts = {};
};

// A handle that has locked the directory keeps the listing: from then on the entries of a store's
// files change only through this handle.  A listing that is stale nevertheless, because another
// process has taken over, does no harm: each change compares the owner and the earlier entries, and
// reads of chunks that fail ask for the owner.
//
// The listing is dropped after a change whose outcome is unknown, and when another owner is found.
// Then, and for names that are not a store's, each call asks the pool.
//
// An opening makes several changes, which nothing needs before the last one.  The handle holds them
// (BeginHolding), and writes them together with that one.  Lookups by this handle see them.
//
// Thread-safe.
class IndexHandle {
 public:
  // Reads the owner and the entries.  NotFound without the index.
  static absl::StatusOr<std::shared_ptr<IndexHandle>> Open(ObjectPool* pool, std::string path);

  // `before`: as the index was when the handle was made.
  IndexHandle(ObjectPool* pool, std::string path, IndexBefore before)
      : pool_(*pool),
        path_(std::move(path)),
        object_(IndexName(path_)),
        owner_(before.owner),
        counts_(before.counts),
        before_(std::move(before)) {}

  ObjectPool& pool() const { return pool_; }
  const std::string& path() const { return path_; }  // for messages, as the user wrote it
  const std::string& object() const { return object_; }
  std::string PathOf(std::string_view name) const;

  // The owner that this handle's changes must find, encoded.
  std::string owner() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The caller has locked the directory as this owner, and the index then had these entries.
  // nullopt: no listing is kept.
  void SetOwner(std::string owner, std::optional<ObjectValues> listing) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropListing() ABSL_LOCKS_EXCLUDED(mutex_);
  // The index when the handle was made; nullopt from the second call on.
  std::optional<IndexBefore> TakeBefore() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<IndexBefore> ReadBefore() ABSL_LOCKS_EXCLUDED(mutex_);
  // The entries when the handle was made, until TakeBefore is called; otherwise Entries().
  absl::StatusOr<ObjectValues> EntriesBefore() ABSL_LOCKS_EXCLUDED(mutex_);
  // The counts when this handle last read them, or later ones.  A change that compares them and is
  // refused reads them.
  IndexCounts counts() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Replaces the counts that the handle knew.  Those of a directory that was destroyed and made
  // again may be lower.  REQUIRES: the handle has not locked the directory.
  void SetCounts(IndexCounts counts) ABSL_LOCKS_EXCLUDED(mutex_);
  // The owner that reads of the index and of logs must find; empty if the handle has not locked the
  // directory, and so may read what any owner wrote.
  std::string required_owner() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Changes the index.  TakenOver if the owner is not `owner`; Aborted if an entry is not as
  // expected.  Files whose names are not a store's, such as an event log, have no owner: a write
  // that names only such files, or removals (gone:TAG), does not compare the owner.
  //
  // OK, too, if the index already is as after the write: the pool may have applied it before it
  // refused a repetition.
  absl::Status Change(const std::string& owner, const ObjectWrite& write);
  absl::Status Change(const ObjectWrite& write) { return Change(owner(), write); }

  // From now on ChangeLater holds changes.  Has no effect unless this handle keeps the listing.
  void BeginHolding() ABSL_LOCKS_EXCLUDED(mutex_);
  // Holds the change if changes are held; otherwise as Change.  REQUIRES: until the end only the
  // calling thread changes the same entries.  A Change of an entry that is held writes all that is
  // held.
  absl::Status ChangeLater(const std::string& owner, const ObjectWrite& write)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Change, by one write with all that is held.  Nothing is held any more, also after a failure.
  // Fails if a held change was lost.
  absl::Status ChangeAndEndHolding(const ObjectWrite& write) ABSL_LOCKS_EXCLUDED(mutex_);

  // The error of a call that was refused: TakenOver if the owner is not `owner`, else `status`.
  absl::Status WhyRefused(const std::string& owner, const absl::Status& status);
  // An entry, whoever owns the index now; empty if there is none.
  absl::StatusOr<std::string> EntryOfAny(const std::string& entry);

  // All these return TakenOver if the handle has locked the directory, and is known to have been
  // superseded.  Without a lock: NotFound if the index does not exist.

  // nullopt if there is no such file.
  absl::StatusOr<std::optional<IndexedFile>> Find(std::string_view name);
  // One entry; empty if there is none.
  absl::StatusOr<std::string> Entry(const std::string& entry);
  // Those of these entries that exist.
  absl::StatusOr<ObjectValues> EntriesOf(const std::vector<std::string>& entries);
  // All entries.  Those of names that are not a store's may be as they were earlier.
  absl::StatusOr<ObjectValues> Entries();
  // The followers' pins, whoever owns the index now.
  absl::StatusOr<ObjectValues> ReadPins();
  // All entries, from the pool.  TakenOver, too, if the owner is not `owner`.
  absl::StatusOr<ObjectValues> ReadEntries(const std::string& owner);

 private:
  // Drops the listing unless the outcome of a change is known.
  class ChangeInFlight;

  // Change.  The listing has all changes in `write` but those in `noted`.
  absl::Status ChangeTogether(const std::string& owner, ObjectWrite write,
                              const ObjectWrite& noted);
  absl::Status NotAsExpected() const;
  // Adds the held changes to what the pool returned.
  void AddHeld(ObjectValues* entries) const ABSL_LOCKS_EXCLUDED(mutex_);

  // The error without the index.
  absl::Status Missing();
  absl::Status TakenOverBy(const std::string& owner);
  // Entries() for a handle without the lock.  All are from the time of one owner.
  absl::StatusOr<ObjectValues> EntriesOfAny();
  // All entries after `read.entries_after`, from the pool.
  absl::StatusOr<ObjectValues> ReadPages(ObjectRead read);
  // From the pool.
  absl::StatusOr<ObjectContents> ReadEntriesOf(const std::vector<std::string>& entries);
  void NoteCounts(const ObjectContents& contents) ABSL_LOCKS_EXCLUDED(mutex_);
  // The pool has applied the change of this owner.
  void NoteChange(const std::string& owner, const ObjectWrite& write) ABSL_LOCKS_EXCLUDED(mutex_);
  // The part of NoteChange for one entry; empty: it was removed.
  void NoteEntry(const ObjectWrite& write, const std::string& entry, const std::string& value)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the listing has these values, as far as it has been kept.
  bool ListingAgrees(const std::vector<std::string>& entries, const ObjectValues& values) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  ObjectPool& pool_;
  const std::string path_;
  const std::string object_;
  mutable Mutex mutex_;
  std::string owner_ ABSL_GUARDED_BY(mutex_);
  IndexCounts counts_ ABSL_GUARDED_BY(mutex_);
  std::optional<IndexBefore> before_ ABSL_GUARDED_BY(mutex_);
  bool has_locked_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<ObjectValues> listing_ ABSL_GUARDED_BY(mutex_);
  std::optional<ObjectWrite> held_ ABSL_GUARDED_BY(mutex_);  // nullopt: changes are not held
  absl::Status held_status_ ABSL_GUARDED_BY(mutex_);         // why held changes were lost
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_INDEX_HANDLE_H_
