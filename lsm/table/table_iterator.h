// Walks a table: its index finds the block, the block's iterator the entry.  Made by
// Table::NewIterator.
//
// Of a partitioned table it holds one index partition at a time, and one filter partition if
// filters are checked.  Where it walks through blocks that are not cached it reads ahead, and keeps
// what it read last, up to 248 KiB.
//
// Never yields an entry out of order: beyond what the block's iterator checks, the keys on both
// sides of a block's end are held against each other and against the index.  A violation is
// DataLoss.
#ifndef TRELLIS_LSM_TABLE_TABLE_ITERATOR_H_
#define TRELLIS_LSM_TABLE_TABLE_ITERATOR_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/block/block_io.h"
#include "lsm/block/block_iterator.h"
#include "lsm/iterator.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

class TableIterator final : public Iterator {
 public:
  TableIterator(const Table& table, const Table::ScanOptions& options)
      : table_(table), options_(options), index_(&table.index_), ordinal_(kNoBlock) {}

  bool Valid() const override { return status_.ok() && position_.Valid(); }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(std::string_view target) override;
  void PrefetchSeek(std::string_view target, int step) override;
  void SeekForPrev(std::string_view target) override;
  void Next() override;
  void Prev() override;
  std::string_view key() const override { return position_.key(); }
  std::string_view value() const override { return position_.value(); }
  absl::Status status() const override { return status_; }

 private:
  static constexpr size_t kNoBlock = static_cast<size_t>(-1);

  // How the block will be walked first.  A walk from its first entry on checks all that it
  // passes; for all others the whole block is inspected when it is loaded.
  enum class Entry : uint8_t { kFirst, kAnywhere };
  // Puts position_ onto the block, before its first entry; false if it cannot be read.  `step`: of
  // a walk that comes to it from its neighbour, 1 forward, -1 backward; 0: it was sought.
  bool Load(size_t ordinal, Entry entry, ptrdiff_t step);
  // Makes index_ the one of the block, or of the partition.
  absl::Status EnterPartitionOf(size_t ordinal);
  absl::Status EnterPartition(size_t number);
  // The first block that may hold `user_key`: block_count() if there is none.
  absl::Status FindBlock(std::string_view user_key, size_t* ordinal);
  // After a table's index was approached: what FindBlock will find, if that can be told without a
  // read; else kNoBlock.
  size_t AwaitedBlock(std::string_view user_key) const;
  absl::Status LoadThroughCache(size_t ordinal, ptrdiff_t step, Block* block);
  // Null if it is not cached.
  BlockRef PinCached(size_t ordinal, ptrdiff_t step) const;
  // Begins to load what a walk in this direction (1, -1) will read behind the block.
  // REQUIRES: an EpochGuard stands.
  void PrefetchBeyond(size_t ordinal, ptrdiff_t direction) const;
  // A block that is not cached, with those that a walk comes to next, or alone.
  absl::StatusOr<BlockRef> ReadMissing(size_t ordinal, ptrdiff_t step);
  // Says to options_.seek_reads that awaited_ is to be read.
  void WantAwaited();
  // Where the iterator walks, reads a stretch from the block on; false: it does not, or that
  // failed.
  bool ReadAhead(size_t ordinal, ptrdiff_t step);
  absl::Status LoadFromStretch(size_t ordinal, Block* block);
  // Blocks of one piece of the file.
  struct Stretch {
    size_t begin_ordinal, end_ordinal;
    uint64_t begin, end;
  };
  // Block `ordinal` and those after it, or with direction -1 before it, as many as are together no
  // longer than `bytes_max`.  A walk through the cache ends before one that is cached.
  Stretch StretchFrom(size_t ordinal, ptrdiff_t direction, size_t bytes_max) const;
  absl::Status ReadStretch(const Stretch& stretch, size_t bytes_max);
  bool IsInStretch(size_t ordinal) const {
    return ordinal >= stretch_begin_ && ordinal < stretch_end_;
  }
  std::string_view StoredInStretch(size_t ordinal) const;
  // Forgets all that went before a seek.
  void Restart();
  void Fail(absl::Status status);
  // After position_ moved: goes on into the next (previous) block from the end of this one, and
  // checks.
  void SettleForward();
  void SettleBackward();
  // Fails unless the entry lies between the index keys, and beyond `boundary_key_` if that is set.
  void Check(bool forward);
  void CheckFilter();
  // Of the block that position_ is on; null if there is none that can be asked.
  const FilterPart* FilterHere();
  void Count(Counter counter, uint64_t amount);
  // That the blocks from `begin` to before `end` were read.
  void CountRead(size_t begin, size_t end);

  const Table& table_;
  const Table::ScanOptions options_;
  const IndexPart* index_;  // of all blocks, or of those of a partition
  BlockRef partition_;      // which this keeps
  BlockRef filter_partition_;
  size_t filter_partition_number_ = kNoBlock;
  size_t ordinal_;          // of the block that position_ is on; kNoBlock: none
  size_t approached_ = 0;   // where PrefetchSeek began to load the index
  size_t awaited_ = 0;      // the block that it began to load
  bool inspected_ = false;  // that block
  BlockIterator position_;
  absl::Status status_;
  // The key before a step over a block's end; empty: there was no such step.
  KeyBuffer boundary_key_;

  // Of a walk through blocks that are not cached: 1 forward, -1 backward, 0 none; and how much was
  // read ahead last.
  ptrdiff_t walk_ = 0;
  size_t ahead_bytes_ = 0;

  // Where the block's bytes are: one of these, or the stretch.
  BlockRef cached_;
  BlockRoom expanded_;
  // A stretch of the file, from the beginning of block `stretch_begin_` to the end of the one
  // before `stretch_end_`.
  BlockBuffer stretch_;
  uint64_t stretch_offset_ = 0;
  size_t stretch_begin_ = 0;
  size_t stretch_end_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_ITERATOR_H_
