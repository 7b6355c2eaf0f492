// One open SSTable: immutable, its index and its filter resident, its data blocks read through the
// block cache.  Of a partitioned table (partitions.h) the top-level index is resident, and the
// partitions of filter and index are read through the block cache like data blocks.
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
#include "lsm/base/internal_key.h"
#include "lsm/block/block_io.h"
#include "lsm/block/filter_part.h"
#include "lsm/block/format.h"
#include "lsm/block/index_part.h"
#include "lsm/block/signposts.h"
#include "lsm/explanation.h"
#include "lsm/file_system.h"
#include "lsm/iterator.h"
#include "lsm/options.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/partitions.h"
#include "lsm/table/properties.h"

namespace lsm::inline TRELLIS_ABI {

class SeekReads;  // lsm/table/block_reads.h
class TableTail;

// What a table needs of the store it belongs to.  The objects outlive the table.
struct TableContext {
  BlockCache* block_cache = nullptr;  // null: no cache
  Counters* counters = nullptr;       // for iterators; null: not counted
  // Filters built under another seed cannot be asked with this store's digests: they count as
  // unknown.  Nothing: take the table's own (tools).
  std::optional<bloom::DigestSeed> digest_seed;
  // The id that the manifest recorded; another one in the file is DataLoss.  The file's header,
  // which says nothing else, is not looked at then: see CheckHeader.  Nothing: any (tools).
  std::optional<uint64_t> file_id;
  // Whether the partitions of a partitioned table are left in the file until a lookup needs them
  // (stores); else all of them are read and kept when it is opened (tools, verification, repair).
  bool partitions_on_demand = false;
};

enum class TableAnswer : uint8_t { kAbsent, kFound, kDeleted };

// One point lookup in one table.
struct TableLookup {
  const LookupKey& key;
  bool fill_cache = true;
  // Pins the value's block in any case, so that the value may outlive the lookup's EpochGuard.
  bool pin_always = false;
  // Count and list what the lookup reads; null: not wanted.
  LevelCounts* counts = nullptr;
  TableStep* step = nullptr;
};

// The version of the key that a lookup found.
struct TableHit {
  std::string_view value;  // within the lookup's EpochGuard, or as long as `pin` is held
  uint64_t suffix = 0;     // of its internal key
  // The value's block, if the guard alone does not keep it (it is not cached), or on request.
  BlockRef pin;
};

class Table {
 public:
  // Reads footer, properties, index and filter, and the header unless the id is known.  Errors as
  // Footer::Decode, and DataLoss for a damaged header, index or properties block.  A damaged filter
  // does not fail it: see filter_presence().
  //
  // `end`: the last bytes of the file, if the caller has read some; at least kEndBytes, or the
  // whole file.  With all from opening_offset() on nothing else is read, unless of partitions.
  static absl::StatusOr<std::unique_ptr<Table>> Open(std::unique_ptr<ReadFile> file,
                                                     const TableContext& context,
                                                     std::string_view end = {});
  // So much is read before the footer says where the rest begins.  Properties have about 1 KiB;
  // what is data blocks of a small table is wasted.
  static constexpr uint64_t kEndBytes = uint64_t{4} << 10;

  ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  // "Maybe" unless a usable filter says no; always for a partitioned table, see AskFilter.
  bool MayContain(bloom::Digest digest) const { return filter_.filter.MayContain(digest); }
  void PrefetchFilter(bloom::Digest digest) const { filter_.filter.Prefetch(digest); }
  // Of a partitioned table that is opened for tools kDamaged if any partition is, and kUnknown if
  // any is; in a store kUsable, if there is a filter and its digests can be made, whatever it turns
  // out of a partition later.
  FilterPresence filter_presence() const { return filter_.presence; }
  // What digests for its filter are made with, if that is usable.
  const bloom::DigestSeed& digest_seed() const { return digest_seed_; }
  // Why the filter is kDamaged: DataLoss with its offset, or the error with which it could not be
  // read.  OK otherwise.
  const absl::Status& filter_status() const { return filter_.status; }

  // Reads the header: DataLoss unless it is the one that goes with the footer.  Every checksum of
  // the file is bound to the id, so where that is known nothing is answered by the header, and a
  // store that opens hundreds of tables need not fetch a first page of each; whoever verifies a
  // table must.
  absl::Status CheckHeader() const;

  bool is_partitioned() const { return partitions_ != nullptr; }
  // Whether it has a filter, and MayContain does not ask it but AskFilter does.
  bool has_filter_partitions() const { return filter_.in_partitions; }
  // Whether its partitions must be looked for in cache and file.
  bool reads_partitions() const { return is_partitioned() && context_.partitions_on_demand; }
  // REQUIRES: is_partitioned().
  const Partitions& partitions() const { return *partitions_; }

  // What the filter says of a key, also of a partitioned table: of the partition that would hold
  // it.  One that is damaged or cannot be read says "maybe".  REQUIRES: an EpochGuard stands.
  struct FilterAnswer {
    bool passed;
    FilterPresence presence;
  };
  FilterAnswer AskFilter(const TableLookup& lookup) const;

  // The part of the index that says where keys at or after `user_key` begin; null if there are no
  // such keys.  It is used as long as the EpochGuard that must stand, or as `pin` if that is set.
  // DataLoss for a damaged index partition.
  struct IndexRef {
    const IndexPart* part = nullptr;
    BlockRef pin;
  };
  absl::StatusOr<IndexRef> IndexFor(std::string_view user_key, bool fill_cache, LevelCounts* counts,
                                    TableStep* step) const;

  // The newest version of the key that the lookup may see; does not ask the filter.  `hit` has a
  // value unless the answer is kAbsent.  A usable filter is taken to have said "maybe": if the
  // table then has no version of the key at all, a false positive is counted.  REQUIRES: an
  // EpochGuard stands.
  absl::StatusOr<TableAnswer> Get(const TableLookup& lookup, TableHit* hit) const {
    if (partitions_ == nullptr) [[likely]] {
      return GetFrom({&index_, index_.LowerBound(lookup.key.user_key()), nullptr, false}, lookup,
                     hit);
    }
    return GetPartitioned(lookup, hit);
  }

  // The same in steps, for a caller that looks up several keys side by side:
  //
  //   index = IndexFor(the key)
  //   PrefetchSlot(i)   i = index.LowerBound(the key); block_count(): the table does not have it
  //   FindCached(i)     or a read of the block, which AdmitBlock takes
  //   GetFrom({index, i, block, was_read})
  //
  // `block` is what FindCached found; or what was read, and `hit->pin` refers to it; or null:
  // GetFrom does both.  `was_read`: for this lookup, so that it counts as read from the file.
  struct FirstBlock {
    const IndexPart* index;
    size_t ordinal;
    CachedBlock* block;
    bool was_read;
  };
  absl::StatusOr<TableAnswer> GetFrom(FirstBlock first, const TableLookup& lookup,
                                      TableHit* hit) const;
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
  // Verifies what was read at index.handle(ordinal), with its trailer, and puts the block into the
  // cache if asked to.
  absl::StatusOr<BlockRef> AdmitBlock(const IndexPart& index, size_t ordinal,
                                      std::string_view stored_with_trailer, bool fill_cache) const;

  struct ScanOptions {
    bool fill_cache = true;
    // Bytes read at once, front to back, for scans of whole tables (compaction); 0: blocks go
    // through the cache, and are read ahead only where the iterator walks from one to the next.
    size_t readahead_bytes = 0;
    // Shared by the iterators that are sought together, which all take a step of PrefetchSeek
    // before any takes the next; outlives them.  Null: each reads alone.
    SeekReads* seek_reads = nullptr;
    // Whether the blocks count as those of iterators (Counter::kScan...).  Not in compactions.
    bool count_blocks = true;
    // Whether the filter is asked for each key that is passed forward, and those that it denies are
    // counted (Counter::kFilterFalseNegatives).  In compactions.
    bool check_filter = false;
  };
  // Over internal keys.  Must not outlive the table.
  std::unique_ptr<Iterator> NewIterator(const ScanOptions& options) const;

  // Of the entries, as the properties state them.
  std::pair<Sequence, Sequence> sequences() const { return sequences_; }
  const TableProperties& properties() const { return properties_; }
  const Footer& footer() const { return footer_; }
  // Of a partitioned table it is none.
  const bloom::FilterReader& filter() const { return filter_.filter; }
  const std::string& path() const { return file_->path(); }
  const ReadFile& file() const { return *file_; }
  uint64_t file_bytes() const { return footer_.file_bytes; }
  // Where the bytes begin of which opening it needs all; of partitions, which are not among them,
  // none.
  uint64_t opening_offset() const {
    return footer_.filter.is_null() || footer_.is_partitioned() ? footer_.index.offset
                                                                : footer_.filter.offset;
  }
  // Resident.
  uint64_t filter_memory_bytes() const;
  uint64_t index_memory_bytes() const;
  // Of all the filter, resident or not.
  uint64_t filter_bytes() const {
    return is_partitioned() ? partitions_->filter_bytes() : footer_.filter.stored_bytes;
  }
  uint64_t index_bytes() const {
    return is_partitioned() ? partitions_->index_bytes() : footer_.index.stored_bytes;
  }

  // --- data blocks one by one, for tools and for repair ---
  size_t block_count() const { return slots_.size(); }
  // REQUIRES for all these: the table is not partitioned, or not opened with partitions_on_demand.
  const IndexPart& index() const {
    assert(!reads_partitions());
    return index_;
  }
  BlockHandle block_handle(size_t ordinal) const { return index().handle(ordinal); }
  std::string_view block_fence(size_t ordinal) const { return index().fence(ordinal); }
  // The first one that may hold keys at or after `user_key`; block_count() if there is none.
  size_t FirstBlockFor(std::string_view user_key) const { return index().LowerBound(user_key); }
  absl::StatusOr<std::string> ReadDataBlock(size_t ordinal) const {
    return ReadDataBlock(block_handle(ordinal));
  }
  const FilterPart& filter_partition(size_t number) const { return filter_partitions_[number]; }

  // --- the same of a table of which a part of the index may be damaged: for repair ---
  // Of a table that is not partitioned there is one part, all of it.
  size_t index_part_count() const { return reads_partitions() ? partitions_->count() : 1; }
  // Read from the file if the table was opened with partitions_on_demand.
  absl::StatusOr<IndexPart> ReadIndexPart(size_t number) const {
    if (reads_partitions()) return ReadIndexPartition(number);
    return index_;
  }
  absl::StatusOr<std::string> ReadDataBlock(BlockHandle handle) const;

  // Bytes of the file before the first block that may hold keys at or after `user_key`.
  // (May read an index partition; where that fails, before its first block.)
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
  absl::Status ReadIndex(TableTail* tail);
  absl::Status ReadPartitions(std::string_view top_level_bytes);
  void ReadFilter(TableTail* tail);
  void ReadFilterPartitions();

  absl::Status AddIndexPartition(size_t number, IndexReader* reader) const;
  absl::StatusOr<IndexPart> ReadIndexPartition(size_t number) const;
  // Fails for want of memory only.
  FilterPart ReadFilterPartition(size_t number) const;
  // In the cache, or read, and put there if asked to.  `pin` is set if it was read.  REQUIRES: an
  // EpochGuard stands.
  struct PartitionRef {
    CachedPartition* partition = nullptr;
    BlockRef pin;
  };
  absl::StatusOr<PartitionRef> FindPartition(PartitionKind kind, size_t number, bool fill_cache,
                                             LevelCounts* counts,
                                             std::vector<PartitionStep>* steps) const;
  // The same with a reference in any case, for a caller that keeps it longer than a guard should
  // stand.  A guard does not stand while it is read.
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

  // Reads it from the file, and puts it into the cache if asked to.
  absl::StatusOr<BlockRef> ReadIntoCache(const IndexPart& index, size_t ordinal,
                                         bool fill_cache) const;
  absl::StatusOr<BlockRef> IntoCache(const IndexPart& index, size_t ordinal, std::string_view bytes,
                                     bool fill_cache) const;
  // The bounds of a data block, by index and properties.
  BlockBounds BoundsOf(const IndexPart& index, size_t ordinal) const;
  absl::Status InspectBlock(const IndexPart& index, size_t ordinal, const Block& block,
                            SignpostPlan* plan) const;
  absl::Status DamagedBlock(BlockHandle handle, std::string_view what) const;

  const std::unique_ptr<ReadFile> file_;
  const TableContext context_;
  Footer footer_;
  TableProperties properties_;
  std::pair<Sequence, Sequence> sequences_ = {0, kSequenceMax};  // that entries may have
  bool states_smallest_key_ = false;                             // the properties do
  bool states_largest_key_ = false;
  FilterPart filter_;  // of a partitioned table what all partitions come to, without a reader
  bool knows_seed_ = false;
  bloom::DigestSeed digest_seed_;
  std::unique_ptr<Partitions> partitions_;
  IndexPart index_;                            // none if partitions are read on demand
  std::vector<FilterPart> filter_partitions_;  // unless they are read on demand
  mutable std::vector<BlockSlot> slots_;       // of the data blocks
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_H_
