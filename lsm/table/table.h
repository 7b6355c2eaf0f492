// One open SSTable: immutable, its index and its filter resident, its data blocks read through the
// block cache.
//
// Threads: any number at once.  Point lookups take no lock unless a block must be read and cached.
//
// The index is a block of (user key, varint64 offset | varint64 stored bytes), one for each data
// block: a key at or after the block's last user key and before the next block's first one, unless
// that is the same.  A user key whose versions go over a block's end stands in the index itself, so
// a search that runs past a block's end goes on in the next one only if the key sought equals the
// index key.
#ifndef TRELLIS_LSM_TABLE_TABLE_H_
#define TRELLIS_LSM_TABLE_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/hash.h"
#include "bloom/filter_policy.h"
#include "lsm/base/counters.h"
#include "lsm/base/explanation.h"
#include "lsm/base/fences.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/iterator.h"
#include "lsm/base/options.h"
#include "lsm/fs/file_system.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/block_io.h"
#include "lsm/table/block_memory.h"
#include "lsm/table/format.h"
#include "lsm/table/properties.h"

namespace lsm {

enum class FilterPresence : uint8_t { kUsable, kAbsent, kDamaged, kUnknown };
// "usable", "absent", "damaged", "unknown".
const char* NameOf(FilterPresence presence);

// What a table needs of the store it belongs to.  The objects outlive the table.
struct TableContext {
  BlockCache* block_cache = nullptr;  // null: no cache
  Counters* counters = nullptr;       // for iterators; null: not counted
  // Filters built under another seed cannot be asked with this store's digests: they count as
  // unknown.  Nothing: take the table's own (tools).
  std::optional<bloom::DigestSeed> digest_seed;
  // The id that the manifest recorded; another one in the file is DataLoss.  Nothing: any (tools).
  std::optional<uint64_t> file_id;
};

enum class TableAnswer : uint8_t { kAbsent, kFound, kDeleted };

class Table {
 public:
  // Reads footer, header, properties, index and filter.  Errors as Footer::Decode, and DataLoss for
  // a damaged index or properties block.  A damaged filter does not fail it: see filter_presence().
  static absl::StatusOr<std::unique_ptr<Table>> Open(std::unique_ptr<ReadFile> file,
                                                     const TableContext& context);

  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // "Maybe" unless a usable filter says no.
  bool MayContain(bloom::Digest digest) const { return filter_.MayContain(digest); }
  void PrefetchFilter(bloom::Digest digest) const { filter_.Prefetch(digest); }
  FilterPresence filter_presence() const { return filter_presence_; }
  // What digests for its filter are made with, if that is usable.
  const bloom::DigestSeed& digest_seed() const { return digest_seed_; }
  // Why the filter is kDamaged: DataLoss with its offset, or the error with which it could not be
  // read.  OK otherwise.
  const absl::Status& filter_status() const { return filter_status_; }

  // The newest version of the key that the lookup may see, not asking the filter.  REQUIRES: an
  // EpochGuard stands, and the caller uses `value` within it; or takes `pin`.  `pin` is set if the
  // value lies in a block that the guard alone does not keep (one that is not cached), and with
  // `pin_always` in any case, so that the value may outlive the guard.  `counts` and `step` may be
  // null: both are told the blocks that were looked into, and of a false positive if the table has
  // a usable filter (which is then taken to have said "maybe") and no version of the key at all.
  absl::StatusOr<TableAnswer> Get(const LookupKey& key, bool fill_cache, std::string_view* value,
                                  uint64_t* suffix, BlockRef* pin, LevelCounts* counts,
                                  TableStep* step, bool pin_always = false) const {
    return GetFrom({FirstBlockFor(key.user_key()), nullptr, false}, key, fill_cache, value, suffix,
                   pin, counts, step, pin_always);
  }

  // The same in steps, for who looks up several keys side by side:
  //
  //   PrefetchSlot(i)   i = FirstBlockFor(the key); block_count(): the table does not have it
  //   FindCached(i)     or a read of the block, which AdmitBlock takes
  //   GetFrom({i, block, was_read})
  //
  // `block` is what FindCached found; or what was read, and `pin` refers to it; or null: Get does
  // both.  `was_read`: for this lookup, so that it counts as read from the file.
  struct FirstBlock {
    size_t ordinal;
    CachedBlock* block;
    bool was_read;
  };
  absl::StatusOr<TableAnswer> GetFrom(FirstBlock first, const LookupKey& key, bool fill_cache,
                                      std::string_view* value, uint64_t* suffix, BlockRef* pin,
                                      LevelCounts* counts, TableStep* step,
                                      bool pin_always = false) const;
  void PrefetchSlot(size_t ordinal) const { __builtin_prefetch(&slots_[ordinal]); }
  // The block if it is cached, else null; begins to load what a lookup reads of it first.
  // REQUIRES: an EpochGuard stands, and the block is used within it.
  CachedBlock* FindCached(size_t ordinal) const {
    // Sequentially consistent: see EpochGuard.  Also an acquire of the block's bytes.
    CachedBlock* const block = slots_[ordinal].load(std::memory_order_seq_cst);
    if (block == nullptr) return nullptr;
    block->Prefetch();
    block->MarkUsed();
    return block;
  }
  // The same of one that may be looked into later.
  const CachedBlock* PeekCached(size_t ordinal) const {
    // As in FindCached.
    return slots_[ordinal].load(std::memory_order_seq_cst);
  }
  // Verifies what was read at block_handle(ordinal), with its trailer, and puts the block into the
  // cache if asked to.
  absl::StatusOr<BlockRef> AdmitBlock(size_t ordinal, BlockBuffer stored, bool fill_cache) const;

  struct ScanOptions {
    bool fill_cache = true;
    // Bytes read at once, front to back, for scans of whole tables (compaction); 0: a block at a
    // time through the cache.
    size_t readahead_bytes = 0;
    // Whether the blocks count as those of iterators (Counter::kScan...).  Not in compactions.
    bool count_blocks = true;
    // Whether the filter is asked for each key that is passed forward, and those that it denies are
    // counted (Counter::kFilterFalseNegatives).  In compactions.
    bool check_filter = false;
  };
  // Over internal keys.  Must not outlive the table.
  std::unique_ptr<Iterator> NewIterator(const ScanOptions& options) const;

  const TableProperties& properties() const { return properties_; }
  const Footer& footer() const { return footer_; }
  const bloom::FilterReader& filter() const { return filter_; }
  const std::string& path() const { return file_->path(); }
  const ReadFile& file() const { return *file_; }
  uint64_t file_bytes() const { return footer_.file_bytes; }
  uint64_t filter_memory_bytes() const { return filter_bytes_.size(); }
  uint64_t index_memory_bytes() const;

  // --- data blocks one by one, for tools and for repair ---
  size_t block_count() const { return handles_.size(); }
  BlockHandle block_handle(size_t ordinal) const { return handles_[ordinal]; }
  std::string_view block_fence(size_t ordinal) const { return fences_[ordinal]; }
  // The first one that may hold keys at or after `user_key`; block_count() if there is none.
  size_t FirstBlockFor(std::string_view user_key) const { return fences_.LowerBound(user_key); }
  // Bytes of the file before the first block that may hold keys at or after `user_key`.
  uint64_t ApproximateOffsetOf(std::string_view user_key) const;
  absl::StatusOr<BlockBuffer> ReadDataBlock(size_t ordinal) const;

 private:
  friend class TableIterator;
  Table(std::unique_ptr<ReadFile> file, const TableContext& context);
  absl::Status ReadEnds();
  absl::Status ReadProperties();
  absl::Status ReadIndex();
  void ReadFilter();

  // Reads it from the file, and puts it into the cache if asked to.
  absl::StatusOr<BlockRef> ReadIntoCache(size_t ordinal, bool fill_cache) const;
  absl::StatusOr<BlockRef> IntoCache(size_t ordinal, const BlockBuffer& buffer,
                                     bool fill_cache) const;
  absl::Status InspectBlock(size_t ordinal, const Block& block, SignpostPlan* plan) const;
  absl::Status DamagedBlock(size_t ordinal, std::string_view what) const;

  const std::unique_ptr<ReadFile> file_;
  const TableContext context_;
  Footer footer_;
  TableProperties properties_;
  bloom::FilterReader filter_;
  FilterPresence filter_presence_ = FilterPresence::kAbsent;
  BlockBytes filter_bytes_;
  absl::Status filter_status_;
  bloom::DigestSeed digest_seed_;
  Fences fences_;
  std::vector<BlockHandle> handles_;
  mutable std::vector<BlockSlot> slots_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_H_
