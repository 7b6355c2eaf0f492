// The most recent writes, sorted, in memory.
//
// Threads: one writer at a time (the write queue ensures it), and any number of concurrent readers
// without a lock.  Lifetime: entries live as long as the memtable and never move.
#ifndef TRELLIS_LSM_MEMTABLE_MEMTABLE_H_
#define TRELLIS_LSM_MEMTABLE_MEMTABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/memtable/arena.h"
#include "lsm/memtable/skiplist.h"

namespace lsm::inline TRELLIS_ABI {

enum class MemtableAnswer : uint8_t { kAbsent, kFound, kDeleted };

class Memtable {
 public:
  // `begun_nanos`: the monotonic time now; 0: unknown.
  explicit Memtable(uint64_t begun_nanos = 0);
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
  // copies all, or none if the bytes are not a batch (DataLoss) or memory runs out
  // (std::bad_alloc).
  absl::Status PrepareBatch(std::string_view encoded);
  // Needs no memory.
  void AddPrepared();

  // Finds the newest version that `key` may see.  `value` points into the memtable.
  MemtableAnswer Get(const LookupKey& key, std::string_view* value) const;

  // Iterates over internal keys.  Must not outlive the memtable.  May or may not see entries that
  // are added while it is used.
  std::unique_ptr<InnerIterator> NewIterator() const;

  // Memory use, including the unused part of the last arena block.  Any thread.
  size_t memory_bytes() const { return arena_.memory_bytes(); }
  // Relaxed: the count changes before the sequence numbers of the counted entries become visible.
  // So a thread that has acquired such a number, and then finds the memtable empty, misses none of
  // its entries.
  uint64_t entry_count() const { return entry_count_.load(std::memory_order_relaxed); }
  bool empty() const { return entry_count() == 0; }
  // How long ago it began; 0: unknown.
  uint64_t AgeNanos(uint64_t now_nanos) const {
    return begun_nanos_ == 0 || now_nanos < begun_nanos_ ? 0 : now_nanos - begun_nanos_;
  }

 private:
  const uint64_t begun_nanos_;
  Arena arena_;
  Skiplist skiplist_;
  std::atomic<uint64_t> entry_count_{0};
  // Used by the writer only.
  std::vector<const Skiplist::Entry*> prepared_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_MEMTABLE_H_
