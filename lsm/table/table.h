// An open SSTable: immutable, with resident index, filter and range deletes; data blocks are read
// through the block cache.  In a partitioned table (partitions.h) the top-level index is resident,
// and the filter and index partitions are read through the block cache too.
//
// Any number of threads may use it.  A point lookup takes a lock only to read and cache a block.
//
// The index is a block of (user key, varint64 offset | varint64 stored bytes), one entry for each
// data block.  Its key is at or after the block's last user key and before the next block's first
// one, unless those two are the same.  In that case the versions of a user key extend over the
// block's end, and the index key is that user key itself.  So a search that passes a block's end
// continues in the next block only if the sought key equals the index key.
#ifndef TRELLIS_LSM_TABLE_TABLE_H_
#define TRELLIS_LSM_TABLE_TABLE_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "lsm/base/counters.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/block/block_io.h"
#include "lsm/block/filter_part.h"
#include "lsm/block/format.h"
#include "lsm/block/index_part.h"
#include "lsm/block/signposts.h"
#include "lsm/explanation.h"
#include "lsm/file_system.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/partitions.h"
#include "lsm/table/properties.h"

namespace lsm::inline TRELLIS_ABI {

class SeekReads;  // lsm/table/block_reads.h
class TableTail;

// The parts of its store that a table uses.  They must outlive the table.
struct TableContext {
  BlockCache* block_cache = nullptr;  // null: no cache
  Counters* counters = nullptr;       // for iterators; null: no counting
  // The seed of this store's digests.  Filters built under another seed cannot be queried with
  // them, and count as unknown. nullopt: use the table's own seed (tools).
  std::optional<bloom::DigestSeed> digest_seed;
  // The id recorded in the manifest; DataLoss if the file has another one.  The file's header
  // contains nothing else, and is then not read: see CheckHeader. nullopt: accept any id (tools).
  std::optional<uint64_t> file_id;
  // True (stores): partitions are read when a lookup needs them.  False (tools, verification,
  // repair): all are read and kept at opening.
  bool partitions_on_demand = false;
  // True (tools, verification, repair): a table with damaged range deletes opens as if it had none;
  // see ranges_status.  False (stores): it does not open, since deleted keys would be back.
  bool opens_without_ranges = false;
};

enum class TableAnswer : uint8_t { kAbsent, kFound, kDeleted };

// A point lookup in one table.
struct TableLookup {
  const LookupKey& key;
  bool fill_cache = true;
  // Always pins the value's block, so that the value may outlive the lookup's EpochGuard.
  bool pin_always = false;
  // Record what the lookup reads; null: not wanted.
  LevelCounts* counts = nullptr;
  TableStep* step = nullptr;
};

// The version of a key that a lookup found.
struct TableHit {
  std::string_view value;  // valid within the lookup's EpochGuard, or while `pin` is held
  uint64_t suffix = 0;     // of its internal key
  // The value's block: on request, or if the guard does not keep it alive because it is not cached.
  BlockRef pin;
};

class Table {
 public:
  // Reads footer, properties, ranges, index and filter; also the header unless the id is known.
  // Errors as for Footer::Decode, and DataLoss for a damaged header, index, ranges or properties
  // block.  A damaged filter is no error: see filter_presence().  Damaged ranges are none if
  // context.opens_without_ranges.
  //
  // `end`: the last bytes of the file, if the caller has read some: at least kEndBytes, or the
  // whole file.  If it includes everything from opening_offset() on, nothing else is read, except
  // partitions.
  static absl::StatusOr<std::unique_ptr<Table>> Open(std::unique_ptr<ReadFile> file,
                                                     const TableContext& context,
                                                     std::string_view end = {});
  // Size of the first read, before the footer tells where the rest begins.  Properties take about 1
  // KiB.  In a small table it includes data blocks, which are not used.
  static constexpr uint64_t kEndBytes = uint64_t{4} << 10;

  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // False only if a usable filter says "no".  Always true for a partitioned table; see AskFilter.
  bool MayContain(bloom::Digest digest) const { return filter_.filter.MayContain(digest); }
  void PrefetchFilter(bloom::Digest digest) const { filter_.filter.Prefetch(digest); }
  // For a partitioned table that was opened for tools: kDamaged if a partition is damaged,
  // otherwise kUnknown if a partition is unknown.  In a store: kUsable if the table has a filter
  // whose digests can be computed, even if a partition later turns out to be damaged.
  FilterPresence filter_presence() const { return filter_.presence; }
  // The seed of the filter's digests, if the filter is usable.
  const bloom::DigestSeed& digest_seed() const { return digest_seed_; }
  // Why the filter is kDamaged: DataLoss with its offset, or the error of reading it.  OK
  // otherwise.
  const absl::Status& filter_status() const { return filter_.status; }

  // Reads the header: DataLoss unless it matches the footer.  Every checksum of the file depends on
  // the id, so if the id is known, the header is not needed.  A store that opens hundreds of tables
  // therefore does not read it, but verification must.
  absl::Status CheckHeader() const;

  bool is_partitioned() const { return partitions_ != nullptr; }
  // Whether it has a filter in partitions.  AskFilter queries these; MayContain does not.
  bool has_filter_partitions() const { return filter_.in_partitions; }
  // Whether its partitions are looked up in cache and file.
  bool reads_partitions() const { return is_partitioned() && context_.partitions_on_demand; }
  // REQUIRES: is_partitioned().
  const Partitions& partitions() const { return *partitions_; }

  // The filter's answer for a key.  In a partitioned table, the filter of the key's partition
  // answers.  A filter that is damaged or unreadable says "maybe".  REQUIRES: inside an EpochGuard.
  struct FilterAnswer {
    bool passed;
    FilterPresence presence;
  };
  FilterAnswer AskFilter(const TableLookup& lookup) const;

  // The part of the index with the keys at or after `user_key`; null if there are none.  Valid
  // within the required EpochGuard, or while `pin` is held if that is set.  DataLoss for a damaged
  // index partition.
  struct IndexRef {
    const IndexPart* part = nullptr;
    BlockRef pin;
  };
  absl::StatusOr<IndexRef> IndexFor(std::string_view user_key, bool fill_cache, LevelCounts* counts,
                                    TableStep* step) const;

  // Finds the newest version of the key that the lookup may see.  kDeleted: that version is a
  // tombstone, or has expired for the reader.  Does not query the filter.  Sets the value in `hit`
  // unless the answer is kAbsent.  Assumes that a usable filter has said "maybe": if the table has
  // no version of the key at all, counts a false positive.  REQUIRES: inside an EpochGuard.
  absl::StatusOr<TableAnswer> Get(const TableLookup& lookup, TableHit* hit) const {
    if (partitions_ == nullptr) [[likely]] {
      return GetFrom({&index_, index_.LowerBound(lookup.key.user_key()), nullptr, false}, lookup,
                     hit);
    }
    return GetPartitioned(lookup, hit);
  }

  // Get in steps, for a caller that looks up several keys together:
  //
  //   index = IndexFor(the key)
  //   PrefetchSlot(i)   i = index.LowerBound(the key); block_count(): the table does not have it
  //   FindCached(i)     or a read of the block, then AdmitBlock
  //   GetFrom({index, i, block, was_read})
  //
  // `block` is the result of FindCached; or the block that was read, which `hit->pin` refers to; or
  // null: GetFrom then takes the block from the cache or reads it.  `was_read`: the block was read
  // for this lookup, so it counts as read from the file.
  struct FirstBlock {
    const IndexPart* index;
    size_t ordinal;
    CachedBlock* block;
    bool was_read;
  };
  absl::StatusOr<TableAnswer> GetFrom(FirstBlock first, const TableLookup& lookup,
                                      TableHit* hit) const;
  void PrefetchSlot(size_t ordinal) const { __builtin_prefetch(&slots_[ordinal]); }
  // The block if it is cached, otherwise null.  Starts loading what a lookup reads first in it.
  // REQUIRES: inside an EpochGuard, within which the block is used.
  CachedBlock* FindCached(size_t ordinal) const {
    // Sequentially consistent: see EpochGuard.  Also acquires the block's bytes.
    CachedBlock* const block = slots_[ordinal].load(std::memory_order_seq_cst);
    if (block == nullptr) return nullptr;
    block->Prefetch();
    block->MarkUsed();
    return block;
  }
  // As FindCached, for a block that may be needed later: does not prefetch it, nor mark it as used.
  const CachedBlock* PeekCached(size_t ordinal) const {
    // As in FindCached.
    return slots_[ordinal].load(std::memory_order_seq_cst);
  }
  // Verifies the bytes with trailer read at index.handle(ordinal), and puts the block into the
  // cache if `fill_cache`.
  absl::StatusOr<BlockRef> AdmitBlock(const IndexPart& index, size_t ordinal,
                                      std::string_view stored_with_trailer, bool fill_cache) const;

  struct ScanOptions {
    bool fill_cache = true;
    // Size of sequential reads in scans of whole tables (compaction). 0: blocks go through the
    // cache, and read-ahead starts only when the iterator walks from block to block.
    size_t readahead_bytes = 0;
    // Shared by iterators that are sought together; must outlive them.  All take a step of
    // PrefetchSeek before any takes the next one.  Null: each reads alone.
    SeekReads* seek_reads = nullptr;
    // Whether to count blocks as those of iterators (Counter::kScan...).  False in compactions.
    bool count_blocks = true;
    // Whether to query the filter for each key passed forward, and count wrong denials
    // (Counter::kFilterFalseNegatives).  True in compactions.
    bool check_filter = false;
  };
  // Iterates over internal keys.  Must not outlive the table.
  std::unique_ptr<InnerIterator> NewIterator(const ScanOptions& options) const;

  // The range deletes of the table; empty if it has none.  They are resident.
  const RangeMap& ranges() const { return ranges_; }
  // DataLoss with the offset if they are damaged, and the table was opened without them.
  const absl::Status& ranges_status() const { return ranges_status_; }
  // False for a table of range deletes alone: it has no blocks, no filter and no keys, so a lookup
  // needs only its ranges.
  bool has_entries() const { return footer_.data_blocks != 0; }
  // The largest sequence that an entry may have; 0 if there are no entries.
  Sequence newest_entry() const { return has_entries() ? sequences_.second : 0; }
  // The smallest and the largest sequence of entries and ranges together.  Those of the entries
  // come from the properties, those of the ranges from their block.
  std::pair<Sequence, Sequence> sequences() const {
    return SequencesWith(has_entries() ? std::optional(sequences_) : std::nullopt);
  }
  // The same if the entries have these sequences, for example those that a check has counted.
  // nullopt: there are no entries.
  std::pair<Sequence, Sequence> SequencesWith(
      const std::optional<std::pair<Sequence, Sequence>>& of_entries) const;
  const TableProperties& properties() const { return properties_; }
  const Footer& footer() const { return footer_; }
  // Not usable if the table is partitioned.
  const bloom::FilterReader& filter() const { return filter_.filter; }
  const std::string& path() const { return file_->path(); }
  const ReadFile& file() const { return *file_; }
  uint64_t file_bytes() const { return footer_.file_bytes; }
  // Start of the bytes that opening reads completely; partitions are not among them.
  uint64_t opening_offset() const {
    return footer_.filter.is_null() || footer_.is_partitioned() ? footer_.index.offset
                                                                : footer_.filter.offset;
  }
  // Resident bytes of the filter.
  uint64_t filter_memory_bytes() const;
  uint64_t index_memory_bytes() const;
  // Bytes of the whole filter, resident or not.
  uint64_t filter_bytes() const {
    return is_partitioned() ? partitions_->filter_bytes() : footer_.filter.stored_bytes;
  }
  uint64_t index_bytes() const {
    return is_partitioned() ? partitions_->index_bytes() : footer_.index.stored_bytes;
  }

  // --- data blocks one by one, for tools and repair ---
  size_t block_count() const { return slots_.size(); }
  // REQUIRES, for all of these: the table is not partitioned, or was opened without
  // partitions_on_demand.
  const IndexPart& index() const {
    assert(!reads_partitions());
    return index_;
  }
  BlockHandle block_handle(size_t ordinal) const { return index().handle(ordinal); }
  std::string_view block_fence(size_t ordinal) const { return index().fence(ordinal); }
  // The first block that may hold keys at or after `user_key`; block_count() if there is none.
  size_t FirstBlockFor(std::string_view user_key) const { return index().LowerBound(user_key); }
  absl::StatusOr<std::string> ReadDataBlock(size_t ordinal) const {
    return ReadDataBlock(block_handle(ordinal));
  }
  const FilterPart& filter_partition(size_t number) const { return filter_partitions_[number]; }

  // --- parts of an index that may be damaged, for repair ---

  // A table that is not partitioned has one part, the whole index.
  size_t index_part_count() const { return reads_partitions() ? partitions_->count() : 1; }
  // Reads from the file if the table was opened with partitions_on_demand.
  absl::StatusOr<IndexPart> ReadIndexPart(size_t number) const {
    if (reads_partitions()) return ReadIndexPartition(number);
    return index_;
  }
  absl::StatusOr<std::string> ReadDataBlock(BlockHandle handle) const;

  // --- the pieces that the resident index tells apart ---

  // A piece is a data block or, with partitions_on_demand, all data blocks of a partition.  Its
  // keys are beyond the fence of the piece before it, up to its own fence.
  size_t piece_count() const;
  std::string_view piece_fence(size_t number) const;
  // Where the piece begins in the file.  That of piece_count(): where the last one ends.
  uint64_t piece_offset(size_t number) const;
  // The first piece that may hold keys at or after `user_key`; piece_count() if there is none.
  size_t FirstPieceFor(std::string_view user_key) const;

  // Bytes of the file before the first block that may hold keys at or after `user_key`.  (May read
  // an index partition.  If that fails, returns the bytes before the partition's first block.)
  uint64_t ApproximateOffsetOf(std::string_view user_key) const;

 private:
  friend class TableIterator;
  Table(std::unique_ptr<ReadFile> file, const TableContext& context);
  static absl::StatusOr<std::unique_ptr<Table>> OpenUnguarded(std::unique_ptr<ReadFile> file,
                                                              const TableContext& context,
                                                              std::string_view end);
  absl::Status ReadEnds(uint64_t file_bytes, TableTail* tail);
  absl::Status CheckHeader(TableTail* tail) const;
  absl::Status ReadProperties(TableTail* tail);
  absl::Status ReadRanges(TableTail* tail);
  absl::Status ReadIndex(TableTail* tail);
  absl::Status ReadPartitions(std::string_view top_level_bytes);
  void ReadFilter(TableTail* tail);
  void ReadFilterPartitions();

  absl::Status AddIndexPartition(size_t number, IndexReader* reader) const;
  absl::StatusOr<IndexPart> ReadIndexPartition(size_t number) const;
  // Fails only without memory.
  FilterPart ReadFilterPartition(size_t number) const;
  // Returns a partition from the cache, or reads it and puts it there if `fill_cache`.  Sets `pin`
  // if it was read.  REQUIRES: inside an EpochGuard.
  struct PartitionRef {
    CachedPartition* partition = nullptr;
    BlockRef pin;
  };
  absl::StatusOr<PartitionRef> FindPartition(PartitionKind kind, size_t number, bool fill_cache,
                                             LevelCounts* counts,
                                             std::vector<PartitionStep>* steps) const;
  // As above, always with a reference, for a caller that keeps it for longer than a guard.  Holds
  // no guard while it reads.
  absl::StatusOr<PartitionRef> PinPartition(PartitionKind kind, size_t number, bool fill_cache,
                                            LevelCounts* counts) const;
  // Null if it is not cached.
  BlockRef PinCachedPartition(PartitionKind kind, size_t number) const;
  void CountPartition(PartitionKind kind, size_t number, bool from_cache,
                      LevelCounts* counts) const;
  // Null if it is not cached.
  const IndexPart* PeekIndexPartition(size_t number) const;
  absl::StatusOr<BlockRef> ReadPartitionIntoCache(PartitionKind kind, size_t number,
                                                  bool fill_cache) const;
  absl::StatusOr<IndexRef> IndexPartition(size_t number, bool fill_cache, LevelCounts* counts,
                                          TableStep* step) const;
  absl::StatusOr<TableAnswer> GetPartitioned(const TableLookup& lookup, TableHit* hit) const;

  // Reads a block from the file, and puts it into the cache if `fill_cache`.
  absl::StatusOr<BlockRef> ReadIntoCache(const IndexPart& index, size_t ordinal,
                                         bool fill_cache) const;
  absl::StatusOr<BlockRef> IntoCache(const IndexPart& index, size_t ordinal, std::string_view bytes,
                                     bool fill_cache) const;
  // The bounds of a data block, from index and properties.
  BlockBounds BoundsOf(const IndexPart& index, size_t ordinal) const;
  absl::Status InspectBlock(const IndexPart& index, size_t ordinal, const Block& block,
                            SignpostPlan* plan) const;
  absl::Status DamagedBlock(BlockHandle handle, std::string_view what) const;

  const std::unique_ptr<ReadFile> file_;
  const TableContext context_;
  Footer footer_;
  TableProperties properties_;
  RangeMap ranges_;
  absl::Status ranges_status_;
  std::pair<Sequence, Sequence> sequences_ = {0, kSequenceMax};  // allowed range for entries
  bool states_smallest_key_ = false;                             // whether the properties have it
  bool states_largest_key_ = false;
  FilterPart filter_;  // of a partitioned table: summary of all partitions, without a reader
  bool knows_seed_ = false;
  bloom::DigestSeed digest_seed_;
  std::unique_ptr<Partitions> partitions_;
  IndexPart index_;                            // empty if partitions are read on demand
  std::vector<FilterPart> filter_partitions_;  // empty if they are read on demand
  mutable std::vector<BlockSlot> slots_;       // of the data blocks
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_H_
