// Table: finds partitions of its filter and index in the cache or in the file.
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status Table::ReadPartitions(std::string_view top_level_bytes) {
  TRELLIS_ASSIGN_OR_RETURN(partitions_, Partitions::Read(top_level_bytes, footer_, file_->path()));
  if (context_.partitions_on_demand) return absl::OkStatus();
  IndexReader reader(file_->path(), 0, kTableHeaderBytes, footer_.data_end());
  for (size_t i = 0; i < partitions_->count(); ++i)
    TRELLIS_RETURN_IF_ERROR(AddIndexPartition(i, &reader));
  index_ = reader.Finish();
  return absl::OkStatus();
}

void Table::ReadFilterPartitions() {
  filter_.in_partitions = true;
  filter_.presence = knows_seed_ ? FilterPresence::kUsable : FilterPresence::kUnknown;
  if (context_.partitions_on_demand) return;
  for (size_t i = 0; i < partitions_->count(); ++i) {
    filter_partitions_.push_back(ReadFilterPartition(i));
    const FilterPart& part = filter_partitions_.back();
    if (part.presence == FilterPresence::kUnknown && filter_.status.ok())
      filter_.presence = FilterPresence::kUnknown;
    if (part.presence == FilterPresence::kDamaged && filter_.status.ok()) {
      filter_.presence = FilterPresence::kDamaged;
      filter_.status = part.status;
    }
  }
}

absl::Status Table::AddIndexPartition(size_t number, IndexReader* reader) const {
  const PartitionEntry& entry = partitions_->entry(number);
  TRELLIS_ASSIGN_OR_RETURN(const BlockBuffer bytes,
                           ReadPlainBlock(*file_, footer_.file_id, entry.index, kIndexBytesMax));
  TRELLIS_RETURN_IF_ERROR(reader->Add(bytes.view(), entry.index.offset));
  if (reader->next_block() != partitions_->first_block(number) + entry.data_blocks ||
      reader->next_offset() != partitions_->data_end(number) ||
      reader->last_fence() != partitions_->fence(number)) {
    return DamageAt(file_->path(), entry.index.offset,
                    Concat("index partition ", number, " is not what the top-level index says"));
  }
  return absl::OkStatus();
}

absl::StatusOr<IndexPart> Table::ReadIndexPartition(size_t number) const {
  IndexReader reader(file_->path(), partitions_->first_block(number),
                     partitions_->entry(number).data_offset, partitions_->data_end(number),
                     number == 0 ? std::string_view() : partitions_->fence(number - 1));
  TRELLIS_RETURN_IF_ERROR(AddIndexPartition(number, &reader));
  return reader.Finish();
}

FilterPart Table::ReadFilterPartition(size_t number) const {
  const BlockHandle at = partitions_->entry(number).filter;
  const absl::StatusOr<BlockBuffer> read =
      ReadPlainBlock(*file_, footer_.file_id, at, kFilterBytesMax);
  const absl::StatusOr<std::string_view> bytes =
      read.ok() ? absl::StatusOr<std::string_view>(read->view()) : read.status();
  return OpenFilter(bytes, knows_seed_, file_->path(), at.offset);
}

absl::StatusOr<BlockRef> Table::ReadPartitionIntoCache(PartitionKind kind, size_t number,
                                                       bool fill_cache) const {
  std::unique_ptr<CachedPartition> partition;
  if (kind == PartitionKind::kFilter) {
    partition = std::make_unique<CachedPartition>(ReadFilterPartition(number));
    // Damage is permanent and need not be read again; another fault may be temporary.
    const absl::Status& status = partition->filter().status;
    fill_cache &= status.ok() || absl::IsDataLoss(status);
  } else {
    TRELLIS_ASSIGN_OR_RETURN(IndexPart part, ReadIndexPartition(number));
    partition = std::make_unique<CachedPartition>(std::move(part));
  }
  BlockRef read(partition.release());
  if (!fill_cache || context_.block_cache == nullptr) return read;
  return context_.block_cache->Insert(&partitions_->slot(kind, number), std::move(read));
}

absl::StatusOr<Table::PartitionRef> Table::FindPartition(PartitionKind kind, size_t number,
                                                         bool fill_cache, LevelCounts* counts,
                                                         std::vector<PartitionStep>* steps) const {
  PartitionRef found;
  // Sequentially consistent: see EpochGuard.  Also acquires the partition.
  CachedBlock* cached = partitions_->slot(kind, number).load(std::memory_order_seq_cst);
  const bool from_cache = cached != nullptr;
  if (from_cache) {
    cached->MarkUsed();
  } else {
    TRELLIS_ASSIGN_OR_RETURN(found.pin, ReadPartitionIntoCache(kind, number, fill_cache));
    cached = found.pin.get();
  }
  found.partition = static_cast<CachedPartition*>(cached);
  CountPartition(kind, number, from_cache, counts);
  if (steps != nullptr) {
    const BlockHandle handle = partitions_->handle(kind, number);
    steps->push_back(
        {kind == PartitionKind::kFilter, number, handle.offset, handle.stored_bytes, from_cache});
  }
  return found;
}

BlockRef Table::PinCachedPartition(PartitionKind kind, size_t number) const {
  const EpochGuard guard;
  // As in FindPartition.
  CachedBlock* const cached = partitions_->slot(kind, number).load(std::memory_order_seq_cst);
  if (cached == nullptr) return BlockRef();
  cached->MarkUsed();
  cached->Ref();
  return BlockRef(cached);
}

absl::StatusOr<Table::PartitionRef> Table::PinPartition(PartitionKind kind, size_t number,
                                                        bool fill_cache,
                                                        LevelCounts* counts) const {
  PartitionRef found;
  found.pin = PinCachedPartition(kind, number);
  const bool from_cache = static_cast<bool>(found.pin);
  if (!from_cache) {
    TRELLIS_ASSIGN_OR_RETURN(found.pin, ReadPartitionIntoCache(kind, number, fill_cache));
  }
  CountPartition(kind, number, from_cache, counts);
  found.partition = static_cast<CachedPartition*>(found.pin.get());
  return found;
}

void Table::CountPartition(PartitionKind kind, size_t number, bool from_cache,
                           LevelCounts* counts) const {
  if (counts == nullptr) return;
  ++(*counts)[from_cache ? LevelCounts::kPartitionsFromCache : LevelCounts::kPartitionsFromFile];
  if (from_cache) return;
  (*counts)[LevelCounts::kPartitionBytesFromFile] +=
      partitions_->handle(kind, number).stored_bytes + kBlockTrailerBytes;
}

const IndexPart* Table::PeekIndexPartition(size_t number) const {
  // As in FindPartition.
  const CachedBlock* const cached =
      partitions_->slot(PartitionKind::kIndex, number).load(std::memory_order_seq_cst);
  return cached == nullptr ? nullptr : &static_cast<const CachedPartition*>(cached)->index();
}

Table::FilterAnswer Table::AskFilter(const TableLookup& lookup) const {
  const LookupKey& key = lookup.key;
  if (!is_partitioned()) return {MayContain(key.digest()), filter_.presence};
  if (footer_.filter.is_null()) return {true, FilterPresence::kAbsent};
  const size_t number = partitions_->LowerBound(key.user_key());
  // After all keys of the table.
  if (number == partitions_->count())
    return {filter_.presence != FilterPresence::kUsable, filter_.presence};
  std::vector<PartitionStep>* const steps =
      lookup.step == nullptr ? nullptr : &lookup.step->partitions;
  if (!context_.partitions_on_demand) {
    const FilterPart& part = filter_partitions_[number];
    const BlockHandle at = partitions_->entry(number).filter;
    if (steps != nullptr) steps->push_back({true, number, at.offset, at.stored_bytes, false});
    return {part.filter.MayContain(key.digest()), part.presence};
  }
  // The filter could not be queried even if it were loaded.
  if (filter_.presence == FilterPresence::kUnknown) return {true, FilterPresence::kUnknown};
  const absl::StatusOr<PartitionRef> found = CatchOutOfMemory([&] {
    return FindPartition(PartitionKind::kFilter, number, lookup.fill_cache, lookup.counts, steps);
  });
  // There was no memory.
  if (!found.ok()) return {true, FilterPresence::kDamaged};
  const FilterPart& part = found->partition->filter();
  return {part.filter.MayContain(key.digest()), part.presence};
}

absl::StatusOr<Table::IndexRef> Table::IndexPartition(size_t number, bool fill_cache,
                                                      LevelCounts* counts, TableStep* step) const {
  TRELLIS_ASSIGN_OR_RETURN(PartitionRef found,
                           FindPartition(PartitionKind::kIndex, number, fill_cache, counts,
                                         step == nullptr ? nullptr : &step->partitions));
  return IndexRef{&found.partition->index(), std::move(found.pin)};
}

absl::StatusOr<Table::IndexRef> Table::IndexFor(std::string_view user_key, bool fill_cache,
                                                LevelCounts* counts, TableStep* step) const {
  if (!is_partitioned()) return IndexRef{&index_, BlockRef()};
  const size_t number = partitions_->LowerBound(user_key);
  if (number == partitions_->count()) return IndexRef();
  if (!context_.partitions_on_demand) {
    const BlockHandle at = partitions_->entry(number).index;
    if (step != nullptr)
      step->partitions.push_back({false, number, at.offset, at.stored_bytes, false});
    return IndexRef{&index_, BlockRef()};
  }
  return IndexPartition(number, fill_cache, counts, step);
}

absl::StatusOr<TableAnswer> Table::GetPartitioned(const TableLookup& lookup, TableHit* hit) const {
  const std::string_view user_key = lookup.key.user_key();
  TRELLIS_ASSIGN_OR_RETURN(const IndexRef index,
                           IndexFor(user_key, lookup.fill_cache, lookup.counts, lookup.step));
  const size_t ordinal = index.part == nullptr ? block_count() : index.part->LowerBound(user_key);
  return GetFrom({index.part, ordinal, nullptr, false}, lookup, hit);
}

size_t Table::piece_count() const {
  return reads_partitions() ? partitions_->count() : block_count();
}

std::string_view Table::piece_fence(size_t number) const {
  return reads_partitions() ? partitions_->fence(number) : block_fence(number);
}

uint64_t Table::piece_offset(size_t number) const {
  if (number == piece_count()) return footer_.data_end();
  return reads_partitions() ? partitions_->entry(number).data_offset : block_handle(number).offset;
}

size_t Table::FirstPieceFor(std::string_view user_key) const {
  return reads_partitions() ? partitions_->LowerBound(user_key) : FirstBlockFor(user_key);
}

uint64_t Table::ApproximateOffsetOf(std::string_view user_key) const {
  const EpochGuard guard;
  const absl::StatusOr<IndexRef> index =
      IndexFor(user_key, /*fill_cache=*/true, /*counts=*/nullptr, /*step=*/nullptr);
  if (!index.ok()) return partitions_->entry(partitions_->LowerBound(user_key)).data_offset;
  if (index->part == nullptr) return footer_.data_end();
  const size_t ordinal = index->part->LowerBound(user_key);
  return ordinal < index->part->end() ? index->part->handle(ordinal).offset : footer_.data_end();
}

}  // namespace lsm
