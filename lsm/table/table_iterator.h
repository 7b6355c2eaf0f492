// Iterates over a table: the index finds the block, and the block's iterator the entry.  Made by
// Table::NewIterator.
//
// For a partitioned table it holds one index partition at a time, and one filter partition if it
// checks filters.  When it crosses uncached blocks it reads ahead, and keeps the last read, up to
// 248 KiB.
//
// Never yields an entry out of order.  In addition to the checks of the block's iterator, it
// compares the keys on both sides of a block boundary with each other and with the index.  A
// violation is DataLoss.
#ifndef TRELLIS_LSM_TABLE_TABLE_ITERATOR_H_
#define TRELLIS_LSM_TABLE_TABLE_ITERATOR_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/block/block_io.h"
#include "lsm/block/block_iterator.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

class TableIterator final : public InnerIterator {
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

  // How the walk of a block begins.  A walk from the first entry checks everything that it passes;
  // for any other, the whole block is inspected when it is loaded.
  enum class Entry : uint8_t { kFirst, kAnywhere };
  // Positions position_ before the first entry of the block; false if it cannot be read.  `step`: 1
  // or -1 if the iterator comes from a neighbouring block, forward or backward; 0 after a seek.
  bool Load(size_t ordinal, Entry entry, ptrdiff_t step);
  // Sets index_ to that of the block or its partition.
  absl::Status EnterPartitionOf(size_t ordinal);
  absl::Status EnterPartition(size_t number);
  // The first block that may hold `user_key`; block_count() if there is none.
  absl::Status FindBlock(std::string_view user_key, size_t* ordinal);
  // After the table's index was approached: the result of FindBlock, if it is known without a read;
  // otherwise kNoBlock.
  size_t AwaitedBlock(std::string_view user_key) const;
  absl::Status LoadThroughCache(size_t ordinal, ptrdiff_t step, Block* block);
  // Null if it is not cached.
  BlockRef PinCached(size_t ordinal, ptrdiff_t step) const;
  // Starts loading what a walk in this direction (1 or -1) reads after the block.  REQUIRES: inside
  // an EpochGuard.
  void PrefetchBeyond(size_t ordinal, ptrdiff_t direction) const;
  // Reads an uncached block, alone or with the next ones of the walk.
  absl::StatusOr<BlockRef> ReadMissing(size_t ordinal, ptrdiff_t step);
  // Announces awaited_ to options_.seek_reads.
  void WantAwaited();
  // Reads a stretch from the block on, if the iterator is walking.  False if it is not, or the read
  // failed.
  bool ReadAhead(size_t ordinal, ptrdiff_t step);
  absl::Status LoadFromStretch(size_t ordinal, Block* block);
  // Adjacent blocks, read together.
  struct Stretch {
    size_t begin_ordinal, end_ordinal;
    uint64_t begin, end;
  };
  // Block `ordinal` and as many after it (direction -1: before it) as fit `bytes_max`.  If the walk
  // goes through the cache, ends before a cached block.
  Stretch StretchFrom(size_t ordinal, ptrdiff_t direction, size_t bytes_max) const;
  absl::Status ReadStretch(const Stretch& stretch, size_t bytes_max);
  bool IsInStretch(size_t ordinal) const {
    return ordinal >= stretch_begin_ && ordinal < stretch_end_;
  }
  std::string_view StoredInStretch(size_t ordinal) const;
  // Resets the state before a seek.
  void Restart();
  void Fail(absl::Status status);
  // After position_ has moved: continues into the next (previous) block at the end of this one, and
  // checks the entry.
  void SettleForward();
  void SettleBackward();
  // Fails unless the entry is between the index keys, and beyond `boundary_key_` if that is set.
  void Check(bool forward);
  void CheckFilter();
  // The filter for the block of position_; null if there is none to query.
  const FilterPart* FilterHere();
  void Count(Counter counter, uint64_t amount);
  // Counts the blocks in [begin, end) as read.
  void CountRead(size_t begin, size_t end);

  const Table& table_;
  const Table::ScanOptions options_;
  const IndexPart* index_;  // of all blocks, or of a partition
  BlockRef partition_;      // keeps index_ alive
  BlockRef filter_partition_;
  size_t filter_partition_number_ = kNoBlock;
  size_t ordinal_;          // block of position_; kNoBlock: none
  size_t approached_ = 0;   // result of Approach in PrefetchSeek
  size_t awaited_ = 0;      // block that PrefetchSeek started loading
  bool inspected_ = false;  // whether the block of position_ was inspected
  BlockIterator position_;
  absl::Status status_;
  // The key before a step over a block boundary; empty without such a step.
  KeyBuffer boundary_key_;

  // Direction of a walk through uncached blocks (1 forward, -1 backward, 0 none), and size of the
  // last read-ahead.
  ptrdiff_t walk_ = 0;
  size_t ahead_bytes_ = 0;

  // The block's bytes are in one of these, or in the stretch.
  BlockRef cached_;
  BlockRoom expanded_;
  // The bytes of blocks `stretch_begin_` to `stretch_end_` - 1.
  BlockBuffer stretch_;
  uint64_t stretch_offset_ = 0;
  size_t stretch_begin_ = 0;
  size_t stretch_end_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_ITERATOR_H_
