// Access to a directory's index, as one owner.
#ifndef TRELLIS_LSM_OBJECTS_INDEX_HANDLE_H_
#define TRELLIS_LSM_OBJECTS_INDEX_HANDLE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/object_pool.h"
#include "lsm/objects/directory_index.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.
class IndexHandle {
 public:
  // Reads the owner.  NotFound without the index.
  static absl::StatusOr<std::shared_ptr<IndexHandle>> Open(ObjectPool* pool, std::string path);

  IndexHandle(ObjectPool* pool, std::string path, std::string owner)
      : pool_(*pool), path_(std::move(path)), object_(IndexName(path_)), owner_(std::move(owner)) {}

  ObjectPool& pool() const { return pool_; }
  const std::string& path() const { return path_; }  // for messages, as the user wrote it
  const std::string& object() const { return object_; }
  std::string PathOf(std::string_view name) const;

  // The owner that this handle's changes must find, encoded.
  std::string owner() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The caller has locked the directory as this owner.
  void SetOwner(std::string owner) ABSL_LOCKS_EXCLUDED(mutex_);
  // The owner that reads of the index and of logs must find; empty if the handle has not locked the
  // directory, and so may read what any owner wrote.
  std::string required_owner() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Changes the index.  TakenOver if the owner is not `owner`; Aborted if an entry is not as
  // expected.  Files whose names are not a store's, such as an event log, have no owner: a write
  // that names only such files, or removals (gone:TAG), does not compare the owner.
  //
  // OK, too, if the index already is as after the write: the pool may have applied it before it
  // refused a repetition.
  absl::Status Change(const std::string& owner, ObjectWrite write);
  absl::Status Change(ObjectWrite write) { return Change(owner(), std::move(write)); }
  // The error of a call that was refused: TakenOver if the owner is not `owner`, else `status`.
  absl::Status WhyRefused(const std::string& owner, const absl::Status& status);
  // An entry, whoever owns the index now; empty if there is none.
  absl::StatusOr<std::string> EntryOfAny(const std::string& entry);

  // All these return TakenOver if the handle has locked the directory, and another process has
  // taken it over or removed it.  Without a lock: NotFound if the index does not exist.

  // nullopt if there is no such file.
  absl::StatusOr<std::optional<IndexedFile>> Find(std::string_view name);
  // One entry; empty if there is none.
  absl::StatusOr<std::string> Entry(const std::string& entry);
  // All entries.  TakenOver, too, if the owner is not `owner`.
  absl::StatusOr<ObjectValues> Entries(const std::string& owner);
  absl::StatusOr<ObjectValues> Entries() { return Entries(owner()); }

 private:
  // The error without the index.
  absl::Status Missing() const;
  absl::Status TakenOverBy(const std::string& owner) const;

  ObjectPool& pool_;
  const std::string path_;
  const std::string object_;
  mutable Mutex mutex_;
  std::string owner_ ABSL_GUARDED_BY(mutex_);
  bool has_locked_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_INDEX_HANDLE_H_
