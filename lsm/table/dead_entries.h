// A table's record of its dead entries: tombstones, and versions that are not the newest of their
// key in the table.  Each job that writes a table computes it.  Statistics and the choice of
// compactions (lsm/compaction/picker.h) use it.  No read depends on it.
#ifndef TRELLIS_LSM_TABLE_DEAD_ENTRIES_H_
#define TRELLIS_LSM_TABLE_DEAD_ENTRIES_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"

namespace lsm::inline TRELLIS_ABI {

struct DeadEntries {
  uint64_t tombstones = 0;
  // Their share of the stored data blocks.
  uint64_t dead_bytes = 0;
  // Stored bytes of older tables that the tombstones are expected to cover.
  uint64_t covered_bytes = 0;
  // When the memtable of the oldest one began, in seconds since 1970; 0: no tombstone.
  uint64_t oldest_tombstone = 0;

  // Compactions are expected to free this.
  uint64_t freeable_bytes() const { return dead_bytes + covered_bytes; }
  // Adds those of another table.
  void Add(const DeadEntries& other) {
    tombstones += other.tombstones;
    dead_bytes += other.dead_bytes;
    covered_bytes += other.covered_bytes;
    const bool is_older = oldest_tombstone == 0 || other.oldest_tombstone < oldest_tombstone;
    if (other.oldest_tombstone != 0 && is_older) oldest_tombstone = other.oldest_tombstone;
  }
  bool operator==(const DeadEntries&) const = default;
};

// Counts the dead entries of a table while all its entries are written or checked, in their order.
class DeadEntryCounter {
 public:
  // `is_new_key`: the entry before it has another user key.
  void Count(const ParsedKey& key, uint64_t value_bytes, bool is_new_key) {
    const uint64_t bytes = key.user_key.size() + kInternalKeySuffixBytes + value_bytes;
    const bool is_tombstone = key.kind == EntryKind::kDelete;
    bytes_ += bytes;
    tombstones_ += is_tombstone;
    if (is_tombstone || !is_new_key) dead_bytes_ += bytes;
  }

  uint64_t tombstones() const { return tombstones_; }
  // The value of DeadEntries::dead_bytes for data blocks of this size.
  uint64_t DeadBytesOf(uint64_t data_bytes) const {
    if (bytes_ == 0) return 0;
    return static_cast<uint64_t>(static_cast<double>(data_bytes) *
                                 (static_cast<double>(dead_bytes_) / static_cast<double>(bytes_)));
  }

 private:
  uint64_t tombstones_ = 0;
  uint64_t bytes_ = 0;  // keys, suffixes and values, before prefix compression and LZ4
  uint64_t dead_bytes_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_DEAD_ENTRIES_H_
