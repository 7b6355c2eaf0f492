#include "lsm/table/table_iterator.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

#include "bloom/hash.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/table/block_reads.h"
#include "lsm/threads/epoch.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Size of read-ahead.  It begins with a few blocks, since the walk may end soon, and doubles each
// time.  The maximum is what a direct read takes in one call, minus a page at each end for
// alignment.
constexpr size_t kAheadBytesMin = size_t{16} << 10;
constexpr size_t kAheadBytesMax = (size_t{256} << 10) - 2 * 4096;

}  // namespace

void TableIterator::Count(Counter counter, uint64_t amount) {
  if (options_.count_blocks && table_.context_.counters != nullptr)
    table_.context_.counters->Add(counter, amount);
}

void TableIterator::CountRead(size_t begin, size_t end) {
  const BlockHandle last = index_->handle(end - 1);
  Count(Counter::kScanBlocksFromFile, end - begin);
  Count(Counter::kScanBytesFromFile,
        last.offset + last.stored_bytes + kBlockTrailerBytes - index_->handle(begin).offset);
}

void TableIterator::Fail(absl::Status status) {
  status_ = std::move(status);
  ordinal_ = kNoBlock;
}

void TableIterator::Restart() {
  status_ = absl::OkStatus();
  boundary_key_.clear();
  walk_ = 0;
}

absl::Status TableIterator::EnterPartition(size_t number) {
  const Partitions& partitions = table_.partitions();
  if (index_->begin() == partitions.first_block(number) && index_->end() > index_->begin())
    return absl::OkStatus();
  LevelCounts counts;
  // A scan of the whole table does not fill the cache with its index.
  const bool fill_cache = options_.fill_cache && options_.readahead_bytes == 0;
  TRELLIS_ASSIGN_OR_RETURN(Table::PartitionRef found,
                           table_.PinPartition(PartitionKind::kIndex, number, fill_cache, &counts));
  Count(Counter::kScanBytesFromFile, counts[LevelCounts::kPartitionBytesFromFile]);
  index_ = &found.partition->index();
  partition_ = std::move(found.pin);
  return absl::OkStatus();
}

absl::Status TableIterator::EnterPartitionOf(size_t ordinal) {
  if (ordinal >= index_->begin() && ordinal < index_->end()) return absl::OkStatus();
  return EnterPartition(table_.partitions().With(ordinal));
}

absl::Status TableIterator::FindBlock(std::string_view user_key, size_t* ordinal) {
  if (table_.reads_partitions()) {
    const size_t number = table_.partitions().LowerBound(user_key);
    if (number == table_.partitions().count()) {
      *ordinal = table_.block_count();
      return absl::OkStatus();
    }
    TRELLIS_RETURN_IF_ERROR(EnterPartition(number));
  }
  *ordinal = index_->LowerBound(user_key, awaited_);
  return absl::OkStatus();
}

bool TableIterator::Load(size_t ordinal, Entry entry, ptrdiff_t step) {
  if (ordinal != ordinal_) {
    Block block;
    absl::Status status = EnterPartitionOf(ordinal);
    if (status.ok()) {
      status = options_.readahead_bytes > 0 ? LoadFromStretch(ordinal, &block)
                                            : LoadThroughCache(ordinal, step, &block);
    }
    if (!status.ok()) {
      Fail(std::move(status));
      return false;
    }
    ordinal_ = ordinal;
    inspected_ = options_.readahead_bytes == 0;  // blocks of the cache have been inspected
    position_.Attach(block, /*internal_keys=*/true,
                     inspected_ ? cached_->signposts() : Signposts());
  }
  if (entry == Entry::kAnywhere && !inspected_) {
    SignpostPlan unused;
    absl::Status status = table_.InspectBlock(*index_, ordinal, position_.block(), &unused);
    if (!status.ok()) {
      Fail(std::move(status));
      return false;
    }
    inspected_ = true;
  }
  return true;
}

absl::Status TableIterator::LoadThroughCache(size_t ordinal, ptrdiff_t step, Block* block) {
  BlockRef found;
  if (options_.seek_reads != nullptr)
    found = options_.seek_reads->Take(&table_, ordinal, options_.fill_cache);
  if (found) {
    CountRead(ordinal, ordinal + 1);
  } else if (found = PinCached(ordinal, step); found) {
    Count(Counter::kScanBlocksFromCache, 1);
  } else {
    TRELLIS_ASSIGN_OR_RETURN(found, ReadMissing(ordinal, step));
  }
  cached_ = std::move(found);
  *block = cached_->block();
  return absl::OkStatus();
}

BlockRef TableIterator::PinCached(size_t ordinal, ptrdiff_t step) const {
  // Covers only this load: the reference keeps the block, and an iterator may live long.
  const EpochGuard guard;
  CachedBlock* const cached = table_.FindCached(ordinal);
  if (step != 0) PrefetchBeyond(ordinal, step);
  if (cached == nullptr) return BlockRef();
  cached->Ref();
  return BlockRef(cached);
}

absl::StatusOr<BlockRef> TableIterator::ReadMissing(size_t ordinal, ptrdiff_t step) {
  if (IsInStretch(ordinal) || ReadAhead(ordinal, step)) {
    absl::StatusOr<BlockRef> block =
        table_.AdmitBlock(*index_, ordinal, StoredInStretch(ordinal), options_.fill_cache);
    if (block.ok()) return block;
    // Reads the block alone again: the fault may not be in the file.
    stretch_begin_ = stretch_end_ = 0;
  }
  TRELLIS_ASSIGN_OR_RETURN(BlockRef read,
                           table_.ReadIntoCache(*index_, ordinal, options_.fill_cache));
  CountRead(ordinal, ordinal + 1);
  return read;
}

bool TableIterator::ReadAhead(size_t ordinal, ptrdiff_t step) {
  // The first step may be the only one.
  if (step == 0 || step != walk_) {
    walk_ = step;
    ahead_bytes_ = 0;
    return false;
  }
  ahead_bytes_ = std::clamp(2 * ahead_bytes_, kAheadBytesMin, kAheadBytesMax);
  const Stretch stretch = StretchFrom(ordinal, step, ahead_bytes_);
  // A single block, such as a large one, needs no second buffer.
  if (stretch.end_ordinal - stretch.begin_ordinal == 1) return false;
  const absl::Status read = CatchOutOfMemory([&] { return ReadStretch(stretch, ahead_bytes_); });
  // The fault may be in a block that is never needed.
  if (!read.ok()) walk_ = 0;
  return read.ok();
}

void TableIterator::PrefetchBeyond(size_t ordinal, ptrdiff_t direction) const {
  // The header of block `next` was prefetched at the previous block, as that of `after` is here.
  const size_t next = ordinal + static_cast<size_t>(direction);
  const size_t after = next + static_cast<size_t>(direction);
  if (next >= table_.slots_.size()) return;
  if (const CachedBlock* const block = table_.PeekCached(next)) block->PrefetchEnds();
  if (after >= table_.slots_.size()) return;
  if (const CachedBlock* const block = table_.PeekCached(after)) block->Prefetch();
}

TableIterator::Stretch TableIterator::StretchFrom(size_t ordinal, ptrdiff_t direction,
                                                  size_t bytes_max) const {
  const auto begin_of = [this](size_t block) { return index_->handle(block).offset; };
  const auto end_of = [this](size_t block) {
    const BlockHandle handle = index_->handle(block);
    return handle.offset + handle.stored_bytes + kBlockTrailerBytes;
  };
  const auto is_wanted = [this](size_t block) {
    return options_.readahead_bytes > 0 || table_.PeekCached(block) == nullptr;
  };
  Stretch found{ordinal, ordinal + 1, begin_of(ordinal), end_of(ordinal)};
  auto& [begin_ordinal, end_ordinal, begin, end] = found;
  while (direction > 0 && end_ordinal < index_->end() && is_wanted(end_ordinal) &&
         end_of(end_ordinal) - begin <= bytes_max) {
    end = end_of(end_ordinal++);
  }
  while (direction < 0 && begin_ordinal > index_->begin() && is_wanted(begin_ordinal - 1) &&
         end - begin_of(begin_ordinal - 1) <= bytes_max) {
    begin = begin_of(--begin_ordinal);
  }
  return found;
}

absl::Status TableIterator::ReadStretch(const Stretch& stretch, size_t bytes_max) {
  const auto& [begin_ordinal, end_ordinal, begin, end] = stretch;
  stretch_begin_ = stretch_end_ = 0;
  const size_t size_bytes = end - begin;
  if (stretch_.size() < size_bytes) stretch_ = BlockBuffer(std::max<size_t>(size_bytes, bytes_max));
  TRELLIS_ASSIGN_OR_RETURN(const size_t read_bytes,
                           table_.file_->ReadAt(begin, {stretch_.data(), size_bytes}));
  if (read_bytes != size_bytes) {
    return DamageAt(table_.path(), begin,
                    Concat("the file ends after ", read_bytes, " of ", size_bytes, " bytes"));
  }
  CountRead(begin_ordinal, end_ordinal);
  stretch_offset_ = begin;
  stretch_begin_ = begin_ordinal;
  stretch_end_ = end_ordinal;
  return absl::OkStatus();
}

std::string_view TableIterator::StoredInStretch(size_t ordinal) const {
  const BlockHandle handle = index_->handle(ordinal);
  return stretch_.view().substr(handle.offset - stretch_offset_,
                                handle.stored_bytes + kBlockTrailerBytes);
}

absl::Status TableIterator::LoadFromStretch(size_t ordinal, Block* block) {
  if (!IsInStretch(ordinal)) {
    ordinal_ = kNoBlock;  // its bytes may be in the stretch that is released
    const Stretch stretch = StretchFrom(ordinal, 1, options_.readahead_bytes);
    TRELLIS_RETURN_IF_ERROR(CatchOutOfMemoryAt(table_.path(), stretch.begin, [&] {
      return ReadStretch(stretch, options_.readahead_bytes);
    }));
  }
  const BlockHandle handle = index_->handle(ordinal);
  ordinal_ = kNoBlock;  // its bytes may be in `expanded_`
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes,
                           CatchOutOfMemoryAt(table_.path(), handle.offset, [&] {
                             return OpenStored(StoredInStretch(ordinal), handle,
                                               table_.footer_.file_id, table_.path(), &expanded_);
                           }));
  if (!block->Init(bytes)) return table_.DamagedBlock(handle, "a data block is malformed");
  return absl::OkStatus();
}

void TableIterator::Check(bool forward) {
  if (!position_.Valid()) return;
  const std::string_view key = position_.key();
  bool sound = true;
  if (position_.AtFirst() || position_.AtLast()) {
    const BlockBounds bounds = table_.BoundsOf(*index_, ordinal_);
    if (position_.AtFirst() && bounds.lower) sound &= UserKeyOf(key) >= *bounds.lower;
    if (position_.AtLast()) sound &= UserKeyOf(key) <= bounds.upper;
  }
  if (!boundary_key_.empty()) {
    const int order = CompareInternalKeys(boundary_key_, key);
    sound &= forward ? order < 0 : order > 0;
    boundary_key_.clear();
  }
  if (!sound) {
    Fail(table_.DamagedBlock(
        index_->handle(ordinal_),
        Concat("the key \"", Escape(UserKeyOf(key), 64), "\" is out of order")));
  }
  if (inspected_ || !sound) return;
  const auto [smallest, largest] = table_.sequences_;
  const Sequence sequence = SequenceOf(SuffixOf(key));
  if (sequence < smallest || sequence > largest)
    Fail(table_.DamagedBlock(index_->handle(ordinal_), kSequenceOutside));
}

void TableIterator::SettleForward() {
  while (!position_.Valid()) {
    if (!position_.problem().empty()) {
      return Fail(
          position_.status(Concat(table_.path(), ": offset ", index_->handle(ordinal_).offset)));
    }
    if (ordinal_ + 1 >= table_.block_count() || !Load(ordinal_ + 1, Entry::kFirst, 1)) return;
    position_.SeekToFirst();
  }
  Check(/*forward=*/true);
  if (options_.check_filter && Valid()) CheckFilter();
}

const FilterPart* TableIterator::FilterHere() {
  if (!table_.is_partitioned()) return &table_.filter_;
  if (table_.footer().filter.is_null()) return nullptr;
  const Partitions& partitions = table_.partitions();
  if (!table_.reads_partitions()) return &table_.filter_partition(partitions.With(ordinal_));
  // Called for each entry, but the partition rarely changes.
  const size_t last = filter_partition_number_;
  const bool is_same = last != kNoBlock && ordinal_ >= partitions.first_block(last) &&
                       ordinal_ - partitions.first_block(last) < partitions.entry(last).data_blocks;
  if (!is_same) {
    const size_t number = partitions.With(ordinal_);
    // Without memory the check is skipped.
    absl::StatusOr<Table::PartitionRef> found = CatchOutOfMemory([&] {
      return table_.PinPartition(PartitionKind::kFilter, number, /*fill_cache=*/false,
                                 /*counts=*/nullptr);
    });
    if (!found.ok()) return nullptr;
    filter_partition_ = std::move(found->pin);
    filter_partition_number_ = number;
  }
  return &static_cast<const CachedPartition*>(filter_partition_.get())->filter();
}

void TableIterator::CheckFilter() {
  if (table_.filter_.presence != FilterPresence::kUsable || table_.context_.counters == nullptr)
    return;
  const FilterPart* const part = FilterHere();
  if (part == nullptr || part->presence != FilterPresence::kUsable) return;
  const bloom::Digest digest = bloom::DigestOf(UserKeyOf(position_.key()), table_.digest_seed_);
  if (!part->filter.MayContain(digest))
    table_.context_.counters->Add(Counter::kFilterFalseNegatives, 1);
}

void TableIterator::SettleBackward() {
  while (!position_.Valid()) {
    if (!position_.problem().empty()) {
      return Fail(
          position_.status(Concat(table_.path(), ": offset ", index_->handle(ordinal_).offset)));
    }
    if (ordinal_ == 0 || !Load(ordinal_ - 1, Entry::kAnywhere, -1)) return;
    position_.SeekToLast();
  }
  Check(/*forward=*/false);
}

void TableIterator::SeekToFirst() {
  Restart();
  if (!table_.has_entries() || !Load(0, Entry::kFirst, 0)) return;
  position_.SeekToFirst();
  SettleForward();
}

void TableIterator::SeekToLast() {
  Restart();
  if (!table_.has_entries() || !Load(table_.block_count() - 1, Entry::kAnywhere, 0)) return;
  position_.SeekToLast();
  SettleBackward();
}

void TableIterator::Seek(std::string_view target) {
  Restart();
  const std::string_view user_key = UserKeyOf(target);
  size_t ordinal = 0;
  if (absl::Status status = FindBlock(user_key, &ordinal); !status.ok())
    return Fail(std::move(status));
  for (; ordinal < table_.block_count(); ++ordinal) {
    if (!Load(ordinal, Entry::kAnywhere, 0)) return;
    position_.Seek(target);
    // Versions of the index's own key may continue in the next block, and the sought one may be
    // among them.
    if (position_.Valid() || !position_.problem().empty() || index_->fence(ordinal) != user_key) {
      return SettleForward();
    }
  }
  position_.Attach({}, /*internal_keys=*/true);
  ordinal_ = kNoBlock;
}

size_t TableIterator::AwaitedBlock(std::string_view user_key) const {
  if (!table_.reads_partitions()) return table_.index_.LowerBoundFrom(approached_, user_key);
  // The block is known only if its index partition is cached.
  const EpochGuard guard;
  const size_t number = table_.partitions().LowerBound(user_key);
  if (number == table_.partitions().count()) return kNoBlock;
  const IndexPart* const part = table_.PeekIndexPartition(number);
  return part == nullptr ? kNoBlock : part->LowerBound(user_key);
}

void TableIterator::WantAwaited() {
  if (!table_.reads_partitions()) {
    return options_.seek_reads->Want(&table_, &table_.index_, BlockRef(), awaited_);
  }
  BlockRef pin =
      table_.PinCachedPartition(PartitionKind::kIndex, table_.partitions().With(awaited_));
  if (!pin) return;  // evicted meanwhile: both are read alone
  const IndexPart* const index = &static_cast<const CachedPartition*>(pin.get())->index();
  options_.seek_reads->Want(&table_, index, std::move(pin), awaited_);
}

void TableIterator::PrefetchSeek(std::string_view target, int step) {
  const std::string_view user_key = UserKeyOf(target);
  if (step == 0) {
    if (options_.seek_reads != nullptr) options_.seek_reads->Begin();
    // The index of a partition is small, and is searched at once.
    if (!table_.reads_partitions()) approached_ = table_.index_.Approach(user_key);
    return;
  }
  if (step == 1) awaited_ = AwaitedBlock(user_key);
  if (awaited_ >= table_.slots_.size() || awaited_ == ordinal_) return;
  if (step == 1) return table_.PrefetchSlot(awaited_);
  const EpochGuard guard;
  const CachedBlock* const block = table_.PeekCached(awaited_);
  if (block != nullptr) {
    step == 2 ? block->Prefetch() : block->PrefetchSeek(user_key);
  } else if (step == 2 && options_.seek_reads != nullptr) {
    // Without memory the block is read alone.
    CatchOutOfMemory([&] {
      WantAwaited();
      return absl::OkStatus();
    }).IgnoreError();
  }
}

void TableIterator::SeekForPrev(std::string_view target) {
  Seek(target);
  if (!status_.ok()) return;
  if (!position_.Valid()) {
    SeekToLast();
  } else if (CompareInternalKeys(position_.key(), target) > 0) {
    Prev();
  }
}

void TableIterator::Next() {
  assert(Valid());
  if (position_.AtLast()) boundary_key_.assign(position_.key());
  position_.Next();
  SettleForward();
}

void TableIterator::Prev() {
  assert(Valid());
  if (position_.AtFirst()) boundary_key_.assign(position_.key());
  position_.Prev();
  SettleBackward();
}

}  // namespace lsm
