// The most recent writes, sorted, in memory.
//
// Threads: one writer at a time (the write queue ensures it), and any number of concurrent readers
// without a lock.  Lifetime: entries live as long as the memtable and never move.
//
// A ring keeps the last entries that were added as batches, by their numbers:
//
//   slot   number % recent_max      the entry with this number, or a later one that has replaced it
//
// A reader that knows everything up to a number learns from it what the next writes changed,
// without a search (lsm/runtime/known_gaps.h).  In the slot of a range delete it finds a tombstone:
// neither makes a key visible.
//
// Range deletes are in a list of their own (range_list.h), and count as entries.
#ifndef TRELLIS_LSM_MEMTABLE_MEMTABLE_H_
#define TRELLIS_LSM_MEMTABLE_MEMTABLE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/memtable/arena.h"
#include "lsm/memtable/range_list.h"
#include "lsm/memtable/skiplist.h"

namespace lsm::inline TRELLIS_ABI {

enum class MemtableAnswer : uint8_t { kAbsent, kFound, kDeleted, kRangeDeleted };

class Memtable {
 public:
  using Entry = Skiplist::Entry;

  // The ring of an active memtable has a slot for each KiB of the write buffer, 8 bytes of 1,024.
  static size_t RecentMax(uint64_t write_buffer_bytes) {
    return static_cast<size_t>(std::bit_floor(write_buffer_bytes / 1024));
  }

  // `number_before` is the store's last number when this memtable becomes the active one; all its
  // entries come after it.  The ring has `recent_max` slots, a power of two, or none if that is 0.
  // `begun_nanos`: the monotonic time now; 0: unknown.
  explicit Memtable(Sequence number_before = 0, size_t recent_max = 0, uint64_t begun_nanos = 0);
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // REQUIRES: no other entry has this key and sequence number.
  void Add(Sequence sequence, EntryKind kind, std::string_view user_key, std::string_view value);

  // Adds all entries of an encoded batch, numbered from the sequence that it states.  Two steps, so
  // that a caller can do something in between, and the second cannot fail:
  //
  //   (PrepareBatch AddPrepared?)*     no other Add between the two
  //
  // PrepareBatch copies the entries into the memtable's memory, where no reader finds them.  It
  // fails if the bytes are not a batch (DataLoss), or without memory (std::bad_alloc); then no
  // AddPrepared may follow.  The first call makes the ring.  A batch without AddPrepared leaves
  // nothing that a reader sees, only borders of its ranges, which cover nothing.  Its numbers may
  // be used again.  `ranges` receives the range deletes of the batch, the newest at each key; null:
  // they are not wanted.
  absl::Status PrepareBatch(std::string_view encoded, RangeMap* ranges = nullptr);
  // Needs no memory.
  void AddPrepared();

  // Adds range deletes all together, so that also nested ones cost only n log n.  Each key keeps
  // only the highest sequence.  REQUIRES: no reader sees the memtable yet, and each range ends
  // after its begin.
  void AddRanges(std::span<const RangeDelete> ranges);

  // Finds the newest entry that `key` may see.  `value` points into the memtable.  kRangeDeleted: a
  // range delete of this memtable hides that entry.  kAbsent says nothing about range deletes: a
  // caller that goes on to older entries asks ranges().
  MemtableAnswer Get(const LookupKey& key, std::string_view* value) const;

  // Iterates over internal keys.  Must not outlive the memtable.  May or may not see entries that
  // are added while it is used.
  std::unique_ptr<InnerIterator> NewIterator() const;

  // The range deletes; nullptr if there are none.  A caller that has acquired the number of a range
  // delete finds it here.
  const RangeList* ranges() const { return ranges_.load(std::memory_order_acquire); }
  // A copy of all of them, for tables.  Beside a writer it may lack those that are being added.
  RangeMap MapOfRanges() const { return ranges() == nullptr ? RangeMap() : ranges()->ToMap(); }
  // How many were added.  Relaxed, as entry_count.
  uint64_t range_count() const { return range_count_.load(std::memory_order_relaxed); }

  // Memory use, including the unused part of the last arena block.  Any thread.
  size_t memory_bytes() const { return arena_.memory_bytes(); }
  // Range deletes are counted, too.  Relaxed: the count changes before the sequence numbers of the
  // counted entries become visible. So a thread that has acquired such a number, and then finds the
  // memtable empty, misses none of its entries.
  uint64_t entry_count() const { return entry_count_.load(std::memory_order_relaxed); }
  bool empty() const { return entry_count() == 0; }
  // The deletes among the entries that were added as batches.  Relaxed, likewise.
  uint64_t tombstone_count() const { return tombstone_count_.load(std::memory_order_relaxed); }
  // No entry has a higher number; range deletes do not count.  Relaxed, as entry_count.
  Sequence newest_entry() const { return newest_entry_.load(std::memory_order_relaxed); }
  // How long ago it began; 0: unknown.
  uint64_t AgeNanos(uint64_t now_nanos) const {
    return begun_nanos_ == 0 || now_nanos < begun_nanos_ ? 0 : now_nanos - begun_nanos_;
  }

  Sequence number_before() const { return number_before_; }
  // The number of the last entry that was added as a batch, or number_before().  Relaxed, as
  // entry_count: a thread that has acquired a number sees at least the last one up to it.
  Sequence last_number() const { return last_number_.load(std::memory_order_relaxed); }
  // The entry with this number (for a range delete, a placeholder tombstone); nullptr if the ring
  // no longer has it.  REQUIRES: number_before() < number <= last_number(), and the caller has
  // acquired `number`, so the ring exists.
  const Entry* FindRecent(Sequence number) const;

 private:
  // The same two steps for ranges.
  void PrepareRanges(const RangeMap& group);
  void AddPreparedRanges(uint64_t count);

  const uint64_t begun_nanos_;
  Arena arena_;
  Skiplist skiplist_;
  std::atomic<uint64_t> entry_count_{0};
  std::atomic<uint64_t> tombstone_count_{0};
  std::atomic<Sequence> newest_entry_{0};
  // Null until the first ranges are in the list.  Released after them, so a reader that acquires
  // the pointer finds them.
  std::atomic<const RangeList*> ranges_{nullptr};
  std::atomic<uint64_t> range_count_{0};
  const Sequence number_before_;
  std::atomic<Sequence> last_number_;
  const size_t recent_max_;
  // Release and acquire: a reader of a slot that is being replaced reads the new entry's number.
  std::unique_ptr<std::atomic<const Entry*>[]> recent_;
  // Used by the writer only.
  std::unique_ptr<RangeList> range_list_;  // made for the first range
  std::vector<const Entry*> prepared_;
  uint64_t prepared_tombstones_ = 0;
  std::vector<const Entry*> prepared_marks_;  // of ranges, for the ring
  Sequence prepared_last_ = 0;                // the last number of the batch, if it has entries
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_MEMTABLE_H_
