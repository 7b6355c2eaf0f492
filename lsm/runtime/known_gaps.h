// Gaps: parts of the key space in which an iterator has found only deleted keys.  Later iterators
// jump over a gap, and walk neither over its tombstones nor over what these cover.
//
// A gap states a fact about the history of writes:
//
//   no key of the keyspace in [from, to) is visible at any number in [since, until]
//
// Flushes and compactions do not change what is visible at a number, so a gap outlives the memtable
// and the tables that it was found in.  It is sound because of three steps
// (lsm/design/tombstones.md has more):
//
//   * A walk over all entries of a view up to a number n finds no visible key: since = until = n.
//     The view must hold all writes up to n (ReadPoint).
//   * Only a put makes a key visible.  A reader at n > until looks at each entry in (until, n], in
//     the rings of its view's memtables (Memtable::FindRecent).  If none is a put of the keyspace
//     in the gap, until becomes n.  Puts divide the gap.
//   * An entry may be missing, because the ring has moved on or the memtable was flushed.  It may
//     have been a put.  Then this reader does not use the gap, and walks.
//
// Expiry.  An entry that is hidden by its time is no part of a gap, since an earlier reader may see
// it.  But a compaction may have dropped such an entry, and a reader with an older view may still
// see it.  So a gap that was found where entries expire is used only by readers whose views are no
// older than the view of its walk.  The order of gaps tells: a reader notes the last one, and then
// loads its view.
//
// Threads: all functions may be called by any thread, and none waits.  Readers reach the gaps
// within an EpochGuard.  A thread that finds the lock taken records nothing.  Memory: at most
// kGapsMax gaps with keys of at most kKeyBytesMax bytes.  If memory runs out, nothing is recorded.
#ifndef TRELLIS_LSM_RUNTIME_KNOWN_GAPS_H_
#define TRELLIS_LSM_RUNTIME_KNOWN_GAPS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_buffer.h"
#include "lsm/runtime/read_view.h"
#include "lsm/threads/epoch.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// A reader sees all writes to `keyspace` up to `number`, and `view` has each of them.
struct ReadPoint {
  const ReadView* view = nullptr;
  Sequence number = 0;
  KeyspaceId keyspace = kDefaultKeyspace;
  // Only for a reader from which entries may be hidden by their times.
  struct Timed {
    uint64_t order_max = 0;  // KnownGaps::order, before the view was loaded
    uint64_t own_order = 0;  // of the last gap that the reader has recorded
  };
  std::optional<Timed> timed = std::nullopt;

  // The point of a reader that has loaded the view and then `sequence`.  Between the two, the
  // memtable may have been sealed and the next one written.  Then `sequence` includes writes that
  // the view lacks, and the number ends with the view's memtable.
  static ReadPoint In(const ReadView& view, Sequence sequence,
                      KeyspaceId keyspace = kDefaultKeyspace);
};

class KnownGaps {
 public:
  // A walk over this many dead entries becomes a gap: about what a seek costs.
  static constexpr uint64_t kWalkedMin = 32;
  // After a jump, the gap grows by at least this many.
  static constexpr uint64_t kGrowthMin = 8;

  static constexpr size_t kGapsMax = 64;
  static constexpr size_t kKeyBytesMax = 4096;

  // A part of the key space without visible keys, as of a point: [from, to), or all keys from
  // `from` on.
  struct Range {
    KeyBuffer from, to;
    bool has_end = true;
    uint64_t walked = 0;  // the dead entries that a jump spares

    std::optional<std::string_view> end() const {
      return has_end ? std::optional<std::string_view>(to.view()) : std::nullopt;
    }
  };

  KnownGaps() = default;
  // REQUIRES: no reader is left.
  ~KnownGaps();
  KnownGaps(const KnownGaps&) = delete;
  KnownGaps& operator=(const KnownGaps&) = delete;

  // The order of the last gap that a timed reader has recorded.  Acquire, and a release where it
  // grows: a reader that loads a view afterwards gets that of the walk, or a later one.
  uint64_t order() const { return order_.load(std::memory_order_acquire); }

  // Relaxed: a reader that misses a gap walks.
  bool empty() const { return list_.load(std::memory_order_relaxed) == nullptr; }

  // Whether a gap that holds at this point has the key.  If so, sets `found` to the part around the
  // key without visible keys.  Looks at no more entries than the gap spares.  May throw
  // std::bad_alloc.
  bool Find(const ReadPoint& point, std::string_view key, Range* found);

  // Records that no key in [from, to) is visible at this point.  Takes this part from older gaps,
  // but changes nothing if a newer one overlaps it.  `walked` dead entries were found there.
  // Returns the order of the gap: 0, unless the reader is timed.
  uint64_t Record(const ReadPoint& point, std::string_view from, std::optional<std::string_view> to,
                  uint64_t walked) noexcept;

 private:
  struct Gap {
    Gap(KeyspaceId of_keyspace, std::string_view from_key, std::optional<std::string_view> to_key,
        Sequence since_number, Sequence until_number, uint64_t walked_entries, uint64_t in_order);

    bool IsFor(const ReadPoint& point) const {
      if (point.number < since || keyspace != point.keyspace) return false;
      if (order == 0) return true;
      return point.timed && (order <= point.timed->order_max || order == point.timed->own_order);
    }

    const KeyspaceId keyspace;
    const std::string from;
    const std::optional<std::string> to;
    const Sequence since;
    // Relaxed: it states a fact that needs no other memory.  Each stored value is true, also one
    // that a slower reader stores after a higher one.
    std::atomic<Sequence> until;
    const uint64_t walked;
    const uint64_t order;  // 0: no timed reader found it
  };
  // Disjoint, in the order of their keyspaces and keys.  Replaced as a whole.
  using List = std::vector<std::shared_ptr<Gap>>;

  // The pieces of a gap between these puts in it.  They are true until `until`.
  static List Divide(const Gap& gap, Sequence until, std::vector<std::string_view>* puts);
  // Replaces what is known about [from, to) of the point's keyspace by `pieces`, which are true
  // until its number.  Changes nothing if a gap there is newer, or if another thread changes the
  // list.
  void Replace(const ReadPoint& point, std::string_view from, std::optional<std::string_view> to,
               const List& pieces) noexcept;
  void ReplaceLocked(const ReadPoint& point, std::string_view from,
                     std::optional<std::string_view> to, const List& pieces)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Sequentially consistent where readers may follow it: see EpochGuard.
  std::atomic<const List*> list_{nullptr};
  std::atomic<uint64_t> order_{0};
  Mutex mutex_;  // of those that replace the list; only tried
  RetireList retired_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_KNOWN_GAPS_H_
