// A reader sees one immutable bundle of pointers, which it gets without a lock.
#ifndef TRELLIS_LSM_RUNTIME_READ_VIEW_H_
#define TRELLIS_LSM_RUNTIME_READ_VIEW_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/memtable/memtable.h"
#include "lsm/threads/epoch.h"
#include "lsm/threads/mutex.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// A file system gives a small table one block.
inline constexpr uint64_t kTableBytesOnDiskMin = 4096;

struct ReadView {
  std::shared_ptr<Memtable> memtable;                   // takes writes
  std::vector<std::shared_ptr<const Memtable>> sealed;  // being flushed, newest first
  std::shared_ptr<const Version> version;
  // A follower's view has them.  Null in other views: their ids belong to the same keyspaces for
  // ever.
  std::shared_ptr<const KeyspaceRecords> keyspaces;
  // Readers of the view see no later write.  The views of a writer have no limit of their own,
  // because its writes become visible without a new view (LiveViews::ShowUpTo).
  Sequence sequence_max = kSequenceMax;

  uint64_t memtable_bytes() const {
    uint64_t bytes = memtable->memory_bytes();
    for (const auto& each : sealed) bytes += each->memory_bytes();
    return bytes;
  }
  // Only the entries and range deletes of one keyspace.
  uint64_t memtable_bytes(KeyspaceId keyspace) const {
    uint64_t bytes = memtable->BytesOf(keyspace);
    for (const auto& each : sealed) bytes += each->BytesOf(keyspace);
    return bytes;
  }

  // The bytes that the reserve counts for the memtables (lsm/store/reserve.h).  A flush writes a
  // table for each tree that gets entries, however few: at most one for each tree of the version,
  // and one of the common tree.  `other_keyspaces` are those besides the default one: the next put
  // may begin a list for any of them in the active memtable.
  uint64_t bytes_to_flush(size_t other_keyspaces) const {
    uint64_t tables = 0;
    // Most stores have none, and each write asks three times.
    if (other_keyspaces != 0) [[unlikely]]
      tables = std::min(other_keyspaces, version->trees().size());
    uint64_t bytes = memtable->memory_bytes();
    for (const auto& each : sealed) {
      bytes += each->memory_bytes();
      tables += std::min(each->other_lists(), version->trees().size());
    }
    return bytes + tables * kTableBytesOnDiskMin;
  }

  // Whether a memtable has range deletes of the keyspace.  A reader that has acquired the number of
  // a range delete sees it.
  bool has_ranges(KeyspaceId keyspace) const {
    if (memtable->RangesOf(keyspace) != nullptr) return true;
    for (const auto& each : sealed) {
      if (each->RangesOf(keyspace) != nullptr) return true;
    }
    return false;
  }
};

// Holds the current view.  Writers replace it whole; readers pin it by an EpochGuard, or share it
// for longer.
class ReadViewCell {
 public:
  // A view, and the memory that publishing it needs.
  using Prepared = std::unique_ptr<const std::shared_ptr<const ReadView>>;

  ReadViewCell() = default;
  // REQUIRES: no reader is left.
  ~ReadViewCell();

  // Does the part of publishing that may fail, because Publish is called after the point of no
  // return.  The view may be filled in until it is published.  Two views may be prepared at once:
  // one by the thread that records an edit, and one by the writer whose turn it is.
  Prepared Prepare(std::shared_ptr<const ReadView> view);

  // Makes the view current.  The previous view is kept until Collect finds that no guard can still
  // see it.  Allocates no memory.
  void Publish(Prepared prepared);

  // From now on there is no view.  The last view is kept as by Publish.  Allocates no memory.
  void Close();

  // Keeps a view until the next Collect: for a last holder that must not spend the time to free it.
  // REQUIRES: no reader can reach it any more.  Allocates no memory.
  void Retire(Prepared view);

  // The current view, for as long as the caller's EpochGuard stands; null once closed.
  const ReadView* Load() const {
    // Sequentially consistent: see EpochGuard.
    Holder* const holder = current_.load(std::memory_order_seq_cst);
    return holder != nullptr ? holder->get() : nullptr;
  }

  // A reference to the current view; null once closed.  It may be the last one that keeps obsolete
  // files: readers release it by LiveViews::LetGo, jobs before they collect.
  std::shared_ptr<const ReadView> Share() const {
    const EpochGuard guard;
    // Sequentially consistent: see EpochGuard.
    Holder* const holder = current_.load(std::memory_order_seq_cst);
    return holder != nullptr ? *holder : nullptr;
  }

  // Frees views that no reader can see any more, with everything that only they held.  Returns how
  // many views are left.  Allocates no memory.
  size_t Collect();
  // How many views Collect has not freed yet.
  size_t CountRetired() {
    MutexLock lock(&mutex_);
    return retired_.size();
  }

 private:
  using Holder = const std::shared_ptr<const ReadView>;
  // Retires the previous view.
  void Exchange(Holder* next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RetireHolder(Holder* holder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<Holder*> current_{nullptr};
  Mutex mutex_;
  RetireList retired_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_READ_VIEW_H_
