// The entries and the range deletes of one keyspace in a memtable.
//
// Threads: as for the memtable.  The whole list is in the arena, so it needs no destructor.
#ifndef TRELLIS_LSM_MEMTABLE_ENTRY_LIST_H_
#define TRELLIS_LSM_MEMTABLE_ENTRY_LIST_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/memtable/arena.h"
#include "lsm/memtable/range_list.h"
#include "lsm/memtable/skiplist.h"

namespace lsm::inline TRELLIS_ABI {

enum class MemtableAnswer : uint8_t { kAbsent, kFound, kDeleted, kRangeDeleted, kExpired };

class EntryList {
 public:
  using Entry = Skiplist::Entry;

  // `arena` must outlive the list.
  EntryList(KeyspaceId keyspace, Arena* arena);
  EntryList(const EntryList&) = delete;
  EntryList& operator=(const EntryList&) = delete;

  KeyspaceId keyspace() const { return keyspace_; }

  // --- for readers ---

  // Finds the newest entry that `key` may see.  `value` points into the memtable.  kRangeDeleted: a
  // range delete of this list hides that entry.  kExpired: it has expired for the reader.  kAbsent
  // says nothing about range deletes: a caller that goes on to older entries asks ranges().
  MemtableAnswer Get(const LookupKey& key, std::string_view* value) const;

  // Iterates over internal keys.  Must not outlive the memtable.  May or may not see entries that
  // are added while it is used.
  std::unique_ptr<InnerIterator> NewIterator() const;

  // The range deletes; nullptr if there are none.  A caller that has acquired the number of a range
  // delete finds it here.
  const RangeList* ranges() const { return ranges_.load(std::memory_order_acquire); }
  // A copy of all of them, for tables.  If a writer is adding some, the copy may lack these.
  RangeMap MapOfRanges() const { return ranges() == nullptr ? RangeMap() : ranges()->ToMap(); }

  // No entry of the list has a higher number; range deletes do not count.  Relaxed: it changes
  // before the numbers of the entries become visible.
  Sequence newest_entry() const { return newest_entry_.load(std::memory_order_relaxed); }
  // Whether the list has neither entries nor range deletes.
  bool empty() const;
  // How many entries were added, without range deletes, and how many deletes are among them.
  // Relaxed, likewise.
  uint64_t entry_count() const { return entry_count_.load(std::memory_order_relaxed); }
  uint64_t tombstone_count() const { return tombstone_count_.load(std::memory_order_relaxed); }
  // The memory that NoteBytes counted.  Relaxed, since it is only a figure.
  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

  // --- for the writer ---

  // REQUIRES: no other entry has this key and sequence number.
  void Add(Sequence sequence, EntryKind kind, std::string_view user_key, std::string_view value);

  // The steps of a batch, as in Skiplist and RangeList.
  const Entry* NewEntry(std::string_view user_key, uint64_t suffix, std::string_view value) {
    return skiplist_.NewEntry(user_key, suffix, value);
  }
  size_t BytesToLink(size_t count) { return skiplist_.BytesToLink(count); }
  void Link(const Entry* entry) { skiplist_.Link(entry); }
  // How many entries of the batch that is being prepared are in this list.
  uint32_t* prepared_count() { return &prepared_count_; }
  // Call it after all entries of a batch up to this number.
  void NoteNewest(Sequence sequence) {
    // Relaxed, and no atomic maximum: only the writer changes it.
    newest_entry_.store(std::max(newest_entry(), sequence), std::memory_order_relaxed);
  }
  // Counts entries, and the deletes among them.
  void NoteAdded(uint64_t entries, uint64_t tombstones) {
    entry_count_.store(entry_count() + entries, std::memory_order_relaxed);
    tombstone_count_.store(tombstone_count() + tombstones, std::memory_order_relaxed);
  }
  void NoteBytes(size_t bytes) {
    memory_bytes_.store(memory_bytes() + bytes, std::memory_order_relaxed);
  }
  void PrepareRanges(const RangeMap& ranges, RangeList::Group* group);
  // Call it after the first group of ranges was added.
  void ShowRanges() { ranges_.store(range_list_, std::memory_order_release); }

 private:
  Arena* const arena_;
  Skiplist skiplist_;
  std::atomic<Sequence> newest_entry_{0};
  std::atomic<uint64_t> entry_count_{0};
  std::atomic<uint64_t> tombstone_count_{0};
  std::atomic<size_t> memory_bytes_{0};
  // Null until the first ranges are in the list.  Released after them, so a reader that acquires
  // the pointer finds them.
  std::atomic<const RangeList*> ranges_{nullptr};
  const KeyspaceId keyspace_;
  // Used by the writer only.
  uint32_t prepared_count_ = 0;
  RangeList* range_list_ = nullptr;  // made for the first range
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_ENTRY_LIST_H_
