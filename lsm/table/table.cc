#include "lsm/table/table.h"

#include <algorithm>
#include <utility>

#include "lsm/block/block_iterator.h"
#include "lsm/block/ranges_part.h"
#include "lsm/block/signposts.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_iterator.h"
#include "lsm/table/table_tail.h"

namespace lsm::inline TRELLIS_ABI {

Table::Table(std::unique_ptr<ReadFile> file, const TableContext& context)
    : file_(std::move(file)), context_(context) {}

Table::~Table() {
  if (context_.block_cache == nullptr) return;
  context_.block_cache->Erase(slots_);
  if (partitions_ != nullptr) context_.block_cache->Erase(partitions_->slots());
}

absl::StatusOr<std::unique_ptr<Table>> Table::Open(std::unique_ptr<ReadFile> file,
                                                   const TableContext& context,
                                                   std::string_view end) {
  const std::string path = file->path();  // the file may be closed by then
  return CatchOutOfMemoryFor(path, [&] { return OpenUnguarded(std::move(file), context, end); });
}

absl::StatusOr<std::unique_ptr<Table>> Table::OpenUnguarded(std::unique_ptr<ReadFile> file,
                                                            const TableContext& context,
                                                            std::string_view end) {
  std::unique_ptr<Table> table(new Table(std::move(file), context));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t file_bytes, table->file_->Size());
  TableTail tail(*table->file_, file_bytes);
  // The file may have been truncated since its end was read.
  if (end.size() < std::min(file_bytes, kEndBytes) || end.size() > file_bytes) {
    TRELLIS_RETURN_IF_ERROR(tail.Read());
  } else {
    tail.Take(end);
  }
  TRELLIS_RETURN_IF_ERROR(table->ReadEnds(file_bytes, &tail));
  TRELLIS_RETURN_IF_ERROR(table->ReadProperties(&tail));
  tail.Extend(table->opening_offset());
  TRELLIS_RETURN_IF_ERROR(table->ReadRanges(&tail));
  TRELLIS_RETURN_IF_ERROR(table->ReadIndex(&tail));
  table->ReadFilter(&tail);
  if (context.counters != nullptr) {
    context.counters->Add(Counter::kOpeningReads, tail.reads());
    context.counters->Add(Counter::kOpeningBytesRead, tail.read_bytes());
  }
  return table;
}

absl::Status Table::ReadEnds(uint64_t file_bytes, TableTail* tail) {
  const std::string& path = file_->path();
  if (file_bytes < kTableHeaderBytes)
    return DamageAt(path, 0, Concat("a file of ", file_bytes, " bytes is too short for a table"));
  if (file_bytes < kTableHeaderBytes + kFooterBytes) {
    TRELLIS_ASSIGN_OR_RETURN(const std::string header, tail->Bytes(0, kTableHeaderBytes));
    TRELLIS_RETURN_IF_ERROR(DecodeTableHeader(header, path).status());
    return DamageAt(path, file_bytes, Concat("the table ends after ", file_bytes, " bytes"));
  }
  const uint64_t footer_offset = file_bytes - kFooterBytes;
  TRELLIS_ASSIGN_OR_RETURN(const std::string end, tail->Bytes(footer_offset, kFooterBytes));
  absl::StatusOr<Footer> footer = Footer::Decode(end, file_bytes, path);
  if (absl::IsInvalidArgument(footer.status())) {
    TRELLIS_ASSIGN_OR_RETURN(const std::string header, tail->Bytes(0, kTableHeaderBytes));
    if (header.starts_with(kTableMagic)) {
      return DamageAt(
          path, footer_offset,
          "begins like a table, but its end is not a table's: it is cut off or damaged");
    }
  }
  TRELLIS_RETURN_IF_ERROR(footer.status());
  footer_ = *footer;
  if (!context_.file_id.has_value()) return CheckHeader(tail);
  if (*context_.file_id != footer_.file_id) {
    return DamageAt(path, 0,
                    Concat("is another table than the one recorded: its id is ", footer_.file_id,
                           ", recorded is ", *context_.file_id));
  }
  return absl::OkStatus();
}

absl::Status Table::CheckHeader(TableTail* tail) const {
  const std::string& path = file_->path();
  TRELLIS_ASSIGN_OR_RETURN(const std::string header, tail->Bytes(0, kTableHeaderBytes));
  const absl::StatusOr<uint64_t> header_id = DecodeTableHeader(header, path);
  if (absl::IsInvalidArgument(header_id.status())) {
    return DamageAt(path, 0, "ends like a table, but does not begin like one");
  }
  TRELLIS_RETURN_IF_ERROR(header_id.status());
  if (*header_id != footer_.file_id)
    return DamageAt(path, 0, "header and footer are of different tables");
  return absl::OkStatus();
}

absl::Status Table::CheckHeader() const {
  TableTail tail(*file_, file_bytes());
  return CheckHeader(&tail);
}

absl::Status Table::ReadProperties(TableTail* tail) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes,
                           tail->Block(footer_.file_id, footer_.properties, kPropertiesBytesMax));
  TRELLIS_ASSIGN_OR_RETURN(
      properties_, TableProperties::Decode(bytes, file_->path(), footer_.properties.offset));
  // With another version, older releases would take the table for one of the default keyspace.
  const uint64_t keyspace = properties_.keyspace;
  if (keyspace == kDefaultKeyspace && properties_.timed_entries == 0
          ? footer_.needs_version_3
          : footer_.version() != kTableVersionWithRanges) {
    return DamageAt(file_->path(), footer_.properties.offset,
                    Concat("the properties say keyspace ", keyspace,
                           properties_.timed_entries == 0
                               ? ""
                               : Concat(" and ", properties_.timed_entries, " timed entries"),
                           ", the footer says version ", footer_.version()));
  }
  if (properties_.IsStated("smallest_sequence")) sequences_.first = properties_.smallest_sequence;
  if (properties_.IsStated("largest_sequence")) sequences_.second = properties_.largest_sequence;
  states_smallest_key_ = properties_.IsStated("smallest_key");
  states_largest_key_ = properties_.IsStated("largest_key");
  return absl::OkStatus();
}

absl::Status Table::ReadRanges(TableTail* tail) {
  const BlockHandle at = footer_.ranges;
  if (at.is_null()) return absl::OkStatus();
  const absl::StatusOr<std::string_view> bytes = tail->Block(footer_.file_id, at, kRangesBytesMax);
  absl::StatusOr<RangeMap> ranges =
      bytes.ok() ? DecodeRanges(*bytes, file_->path(), at.offset) : bytes.status();
  if (absl::IsDataLoss(ranges.status()) && context_.opens_without_ranges) {
    ranges_status_ = ranges.status();
    return absl::OkStatus();
  }
  TRELLIS_ASSIGN_OR_RETURN(ranges_, std::move(ranges));
  return absl::OkStatus();
}

absl::Status Table::ReadIndex(TableTail* tail) {
  const BlockHandle at = footer_.index;
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes,
                           tail->Block(footer_.file_id, at, kIndexBytesMax));
  if (footer_.is_partitioned()) {
    TRELLIS_RETURN_IF_ERROR(ReadPartitions(bytes));
  } else {
    IndexReader reader(file_->path(), 0, kTableHeaderBytes, footer_.data_end());
    // The index of a table of range deletes alone has no bytes.
    const bool has_index = has_entries() || footer_.ranges.is_null();
    if (has_index) TRELLIS_RETURN_IF_ERROR(reader.Add(bytes, at.offset));
    if (reader.next_block() != footer_.data_blocks || reader.next_offset() != footer_.data_end())
      return DamageAt(file_->path(), at.offset, "the index does not list all data blocks");
    index_ = reader.Finish();
  }
  slots_ = std::vector<BlockSlot>(static_cast<size_t>(footer_.data_blocks));
  return absl::OkStatus();
}

void Table::ReadFilter(TableTail* tail) {
  if (footer_.filter.is_null()) return;
  const std::optional<bloom::DigestSeed> own = properties_.digest_seed_and_hash();
  knows_seed_ = own && (!context_.digest_seed || *context_.digest_seed == *own);
  if (knows_seed_) digest_seed_ = *own;
  if (is_partitioned()) return ReadFilterPartitions();
  filter_ = OpenFilter(tail->Block(footer_.file_id, footer_.filter, kFilterBytesMax), knows_seed_,
                       file_->path(), footer_.filter.offset);
}

std::pair<Sequence, Sequence> Table::SequencesWith(
    const std::optional<std::pair<Sequence, Sequence>>& of_entries) const {
  const std::pair ranges(ranges_.smallest_sequence(), ranges_.largest_sequence());
  if (!of_entries) return ranges;
  if (ranges_.empty()) return *of_entries;
  return {std::min(of_entries->first, ranges.first), std::max(of_entries->second, ranges.second)};
}

absl::StatusOr<TableAnswer> Table::GetFrom(FirstBlock first, const TableLookup& lookup,
                                           TableHit* hit) const {
  LevelCounts* const counts = lookup.counts;
  TableStep* const step = lookup.step;
  bool holds_newer = false;
  const IndexPart* index = first.index;
  IndexRef next_index;
  for (size_t i = first.ordinal; i < slots_.size(); ++i) {
    if (i == index->end()) [[unlikely]] {
      // The versions of a key continue in the next partition.
      TRELLIS_ASSIGN_OR_RETURN(
          next_index, IndexPartition(partitions_->With(i), lookup.fill_cache, counts, step));
      index = next_index.part;
    }
    CachedBlock* block = std::exchange(first.block, nullptr);
    bool from_cache = !first.was_read;
    if (block == nullptr) {
      hit->pin.Reset();  // of the previous block
      block = FindCached(i);
      from_cache = block != nullptr;
    }
    if (block == nullptr) {
      TRELLIS_ASSIGN_OR_RETURN(hit->pin, ReadIntoCache(*index, i, lookup.fill_cache));
      block = hit->pin.get();
    }
    if (counts != nullptr) {
      ++(*counts)[from_cache ? LevelCounts::kBlocksFromCache : LevelCounts::kBlocksFromFile];
      (*counts)[from_cache ? LevelCounts::kBytesFromCache : LevelCounts::kBytesFromFile] +=
          from_cache ? block->block().bytes().size()
                     : index->handle(i).stored_bytes + kBlockTrailerBytes;
    }
    if (step != nullptr) {
      const BlockHandle handle = index->handle(i);
      step->blocks.push_back({i, handle.offset, handle.stored_bytes, from_cache});
    }

    Block::Hit in_block;
    const Block::Answer answer = block->Find(lookup.key, &in_block);
    holds_newer |= in_block.skipped_newer;
    switch (answer) {
      case Block::Answer::kFound:
        if (!hit->pin && lookup.pin_always) {
          block->Ref();
          hit->pin = BlockRef(block);
        }
        hit->value = in_block.value;
        hit->suffix = in_block.suffix;
        if (IsTombstone(hit->suffix)) return TableAnswer::kDeleted;
        return ShowTo(lookup.key.expiry(), KindOf(hit->suffix), &hit->value) == Shown::kValue
                   ? TableAnswer::kFound
                   : TableAnswer::kDeleted;
      case Block::Answer::kAbsent:
      case Block::Answer::kPastTheEnd:
        break;
      case Block::Answer::kDamaged:
        return DamagedBlock(index->handle(i), "an entry is malformed");
    }
    // Only versions of the index key itself may continue in the next block.
    if (answer == Block::Answer::kAbsent || index->fence(i) != lookup.key.user_key()) break;
  }
  if (!holds_newer && filter_.presence == FilterPresence::kUsable) {
    if (counts != nullptr) ++(*counts)[LevelCounts::kFalsePositives];
    if (step != nullptr) step->false_positive = true;
  }
  hit->pin.Reset();
  return TableAnswer::kAbsent;
}

absl::StatusOr<BlockRef> Table::ReadIntoCache(const IndexPart& index, size_t ordinal,
                                              bool fill_cache) const {
  const BlockHandle handle = index.handle(ordinal);
  BlockRooms rooms;
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes,
                           ReadBlock(*file_, footer_.file_id, handle, &rooms));
  return CatchOutOfMemoryAt(file_->path(), handle.offset,
                            [&] { return IntoCache(index, ordinal, bytes, fill_cache); });
}

absl::StatusOr<BlockRef> Table::AdmitBlock(const IndexPart& index, size_t ordinal,
                                           std::string_view stored_with_trailer,
                                           bool fill_cache) const {
  const BlockHandle handle = index.handle(ordinal);
  return CatchOutOfMemoryAt(file_->path(), handle.offset, [&]() -> absl::StatusOr<BlockRef> {
    BlockRooms rooms;
    TRELLIS_ASSIGN_OR_RETURN(
        const std::string_view bytes,
        OpenStored(stored_with_trailer, handle, footer_.file_id, file_->path(), &rooms.expanded));
    return IntoCache(index, ordinal, bytes, fill_cache);
  });
}

absl::StatusOr<BlockRef> Table::IntoCache(const IndexPart& index, size_t ordinal,
                                          std::string_view bytes, bool fill_cache) const {
  Block block;
  if (!block.Init(bytes)) return DamagedBlock(index.handle(ordinal), "a data block is malformed");
  SignpostPlan plan;
  TRELLIS_RETURN_IF_ERROR(InspectBlock(index, ordinal, block, &plan));
  const bool stays = fill_cache && context_.block_cache != nullptr &&
                     context_.block_cache->Fits(CachedBlock::ChargeBytes(block, plan.heads.size()));
  BlockRef cached(CachedBlock::New(block, plan, stays));
  if (!stays) return cached;
  return context_.block_cache->Insert(&slots_[ordinal], std::move(cached));
}

BlockBounds Table::BoundsOf(const IndexPart& index, size_t ordinal) const {
  BlockBounds bounds{index.lower_fence(ordinal), index.fence(ordinal), sequences_.first,
                     sequences_.second};
  if (ordinal == 0 && states_smallest_key_) bounds.lower = properties_.smallest_key;
  if (ordinal + 1 == slots_.size() && states_largest_key_)
    bounds.upper = std::min<std::string_view>(bounds.upper, properties_.largest_key);
  return bounds;
}

absl::Status Table::InspectBlock(const IndexPart& index, size_t ordinal, const Block& block,
                                 SignpostPlan* plan) const {
  const std::string_view problem = InspectDataBlock(block, BoundsOf(index, ordinal), plan);
  return problem.empty()
             ? absl::OkStatus()
             : DamagedBlock(index.handle(ordinal), Concat("a data block is malformed: ", problem));
}

absl::Status Table::DamagedBlock(BlockHandle handle, std::string_view what) const {
  return DamageAt(file_->path(), handle.offset, what);
}

std::unique_ptr<InnerIterator> Table::NewIterator(const ScanOptions& options) const {
  return std::make_unique<TableIterator>(*this, options);
}

uint64_t Table::filter_memory_bytes() const {
  uint64_t bytes = filter_.bytes.size();
  for (const FilterPart& part : filter_partitions_) bytes += part.bytes.size();
  return bytes;
}

uint64_t Table::index_memory_bytes() const {
  return index_.memory_bytes() + slots_.capacity() * sizeof(BlockSlot) +
         (is_partitioned() ? partitions_->memory_bytes() : 0);
}

absl::StatusOr<std::string> Table::ReadDataBlock(BlockHandle handle) const {
  BlockRooms rooms;
  TRELLIS_ASSIGN_OR_RETURN(const std::string_view bytes,
                           ReadBlock(*file_, footer_.file_id, handle, &rooms));
  return std::string(bytes);
}

}  // namespace lsm
