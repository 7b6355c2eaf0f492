#include "lsm/table/table.h"

#include <limits>
#include <utility>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/table/block_iterator.h"
#include "lsm/table/signposts.h"
#include "lsm/table/table_iterator.h"

namespace lsm {
namespace {

// Fails unless the file holds all of them.
absl::StatusOr<std::string> ReadExactly(const ReadFile& file, uint64_t offset, size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  LSM_ASSIGN_OR_RETURN(const size_t read_bytes, file.ReadAt(offset, {bytes.data(), bytes.size()}));
  if (read_bytes != size_bytes) {
    return DamageAt(file.path(), offset,
                    Concat("the file ends after ", read_bytes, " of ", size_bytes, " bytes"));
  }
  return bytes;
}

bool DecodeHandle(std::string_view bytes, BlockHandle* handle) {
  return TakeVarint64(&bytes, &handle->offset) && TakeVarint64(&bytes, &handle->stored_bytes) &&
         bytes.empty();
}

}  // namespace

const char* NameOf(FilterPresence presence) {
  switch (presence) {
    case FilterPresence::kUsable:
      return "usable";
    case FilterPresence::kAbsent:
      return "absent";
    case FilterPresence::kDamaged:
      return "damaged";
    case FilterPresence::kUnknown:
      return "unknown";
  }
  return "?";
}

Table::Table(std::unique_ptr<ReadFile> file, const TableContext& context)
    : file_(std::move(file)), context_(context) {}

Table::~Table() {
  if (context_.block_cache != nullptr) context_.block_cache->Erase(slots_);
}

absl::StatusOr<std::unique_ptr<Table>> Table::Open(std::unique_ptr<ReadFile> file,
                                                   const TableContext& context) {
  std::unique_ptr<Table> table(new Table(std::move(file), context));
  LSM_RETURN_IF_ERROR(table->ReadEnds());
  LSM_RETURN_IF_ERROR(table->ReadProperties());
  LSM_RETURN_IF_ERROR(table->ReadIndex());
  table->ReadFilter();
  return table;
}

absl::Status Table::ReadEnds() {
  const std::string& path = file_->path();
  LSM_ASSIGN_OR_RETURN(const uint64_t file_bytes, file_->Size());
  if (file_bytes < kTableHeaderBytes) {
    return DamageAt(path, 0, Concat("a file of ", file_bytes, " bytes is too short for a table"));
  }
  LSM_ASSIGN_OR_RETURN(const std::string header, ReadExactly(*file_, 0, kTableHeaderBytes));
  if (file_bytes < kTableHeaderBytes + kFooterBytes) {
    LSM_RETURN_IF_ERROR(DecodeTableHeader(header, path).status());
    return DamageAt(path, file_bytes, Concat("the table ends after ", file_bytes, " bytes"));
  }
  const uint64_t footer_offset = file_bytes - kFooterBytes;
  LSM_ASSIGN_OR_RETURN(const std::string end, ReadExactly(*file_, footer_offset, kFooterBytes));
  absl::StatusOr<Footer> footer = Footer::Decode(end, file_bytes, path);
  if (absl::IsInvalidArgument(footer.status()) && header.starts_with(kTableMagic)) {
    return DamageAt(path, footer_offset,
                    "begins like a table, but its end is not a table's: it is cut off or damaged");
  }
  LSM_RETURN_IF_ERROR(footer.status());
  footer_ = *footer;
  absl::StatusOr<uint64_t> header_id = DecodeTableHeader(header, path);
  if (absl::IsInvalidArgument(header_id.status())) {
    return DamageAt(path, 0, "ends like a table, but does not begin like one");
  }
  LSM_RETURN_IF_ERROR(header_id.status());
  if (*header_id != footer_.file_id)
    return DamageAt(path, 0, "header and footer are of different tables");
  if (context_.file_id.has_value() && *context_.file_id != footer_.file_id) {
    return DamageAt(path, 0,
                    Concat("is another table than the one recorded: its id is ", footer_.file_id,
                           ", recorded is ", *context_.file_id));
  }
  return absl::OkStatus();
}

absl::Status Table::ReadProperties() {
  LSM_ASSIGN_OR_RETURN(
      const BlockBuffer bytes,
      ReadPlainBlock(*file_, footer_.file_id, footer_.properties, kPropertiesBytesMax));
  LSM_ASSIGN_OR_RETURN(
      properties_, TableProperties::Decode(bytes.view(), file_->path(), footer_.properties.offset));
  return absl::OkStatus();
}

absl::Status Table::ReadIndex() {
  const BlockHandle at = footer_.index;
  LSM_ASSIGN_OR_RETURN(const BlockBuffer bytes,
                       ReadPlainBlock(*file_, footer_.file_id, at, kIndexBytesMax));
  Block block;
  if (!block.Init(bytes.view()))
    return DamageAt(file_->path(), at.offset, "the index block is malformed");

  std::string keys;
  std::vector<size_t> key_ends;
  uint64_t block_offset = kTableHeaderBytes;
  BlockIterator entry(block, /*internal_keys=*/false);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    // Data blocks follow one another without a gap, up to what comes next.
    const uint64_t room_bytes = footer_.data_end() - block_offset;
    BlockHandle handle;
    if (!DecodeHandle(entry.value(), &handle) || handle.offset != block_offset ||
        room_bytes < kBlockTrailerBytes || handle.stored_bytes > room_bytes - kBlockTrailerBytes ||
        handle.stored_bytes > kBlockBytesMax) {
      return DamageAt(
          file_->path(), at.offset,
          Concat("the index says of data block ", handles_.size(), " where it cannot be"));
    }
    block_offset += handle.stored_bytes + kBlockTrailerBytes;
    handles_.push_back(handle);
    keys.append(entry.key());
    key_ends.push_back(keys.size());
    // So much and no more can a block hold whose every kIndexRestartInterval-th key is whole.
    if (keys.size() > kIndexRestartInterval * at.stored_bytes) {
      return DamageAt(file_->path(), at.offset, "the index's keys share more than they can");
    }
  }
  LSM_RETURN_IF_ERROR(entry.status(Concat(file_->path(), ": offset ", at.offset, ": index")));
  if (handles_.size() != footer_.data_blocks || block_offset != footer_.data_end()) {
    return DamageAt(file_->path(), at.offset, "the index does not list all data blocks");
  }

  std::vector<std::string_view> views;
  views.reserve(key_ends.size());
  size_t begin = 0;
  for (const size_t end : key_ends) {
    views.push_back(std::string_view(keys).substr(begin, end - begin));
    begin = end;
  }
  fences_ = Fences(views);
  handles_.shrink_to_fit();
  slots_ = std::vector<BlockSlot>(handles_.size());
  return absl::OkStatus();
}

void Table::ReadFilter() {
  if (footer_.filter.is_null()) return;
  filter_presence_ = FilterPresence::kDamaged;
  // Whatever keeps it from being read, the table's answers do not need it; that it is missed shows
  // in filter_presence().
  absl::StatusOr<BlockBuffer> bytes =
      ReadPlainBlock(*file_, footer_.file_id, footer_.filter, kFilterBytesMax);
  if (!bytes.ok()) {
    filter_status_ = bytes.status();
    return;
  }
  filter_bytes_ = BlockBytes(bytes->view());
  const auto damage = [this](std::string_view problem) {
    return DamageAt(file_->path(), footer_.filter.offset,
                    Concat("the filter is damaged: ", problem));
  };
  bloom::FilterReader filter = bloom::FilterReader::Open(filter_bytes_.view());
  switch (filter.state()) {
    case bloom::FilterState::kDamaged:
      filter_status_ = damage(filter.Describe().problem);
      break;
    case bloom::FilterState::kUnknown:
      filter_presence_ = FilterPresence::kUnknown;
      break;
    case bloom::FilterState::kUsable:
      // A table has keys, so the filter of none, which denies all, is not its own.
      if (filter.size_bits() == 0) {
        filter_status_ = damage("it is empty, and the table is not");
        return;  // filter_ stays the one that says "maybe"
      }
      const std::optional<bloom::DigestSeed> own = properties_.digest_seed_and_hash();
      if (!own || (context_.digest_seed && *context_.digest_seed != *own)) {
        filter_presence_ = FilterPresence::kUnknown;
        return;
      }
      digest_seed_ = *own;
      filter_presence_ = FilterPresence::kUsable;
      break;
  }
  filter_ = filter;
}

absl::StatusOr<TableAnswer> Table::GetFrom(FirstBlock first, const LookupKey& key, bool fill_cache,
                                           std::string_view* value, uint64_t* suffix, BlockRef* pin,
                                           LevelCounts* counts, TableStep* step,
                                           bool pin_always) const {
  bool holds_newer = false;
  for (size_t i = first.ordinal; i < fences_.size(); ++i) {
    CachedBlock* block = std::exchange(first.block, nullptr);
    bool from_cache = !first.was_read;
    if (block == nullptr) {
      pin->Reset();  // of the block before
      block = FindCached(i);
      from_cache = block != nullptr;
    }
    if (block == nullptr) {
      LSM_ASSIGN_OR_RETURN(*pin, ReadIntoCache(i, fill_cache));
      block = pin->get();
    }
    if (counts != nullptr) {
      ++(*counts)[from_cache ? LevelCounts::kBlocksFromCache : LevelCounts::kBlocksFromFile];
      (*counts)[from_cache ? LevelCounts::kBytesFromCache : LevelCounts::kBytesFromFile] +=
          from_cache ? block->block().bytes().size()
                     : handles_[i].stored_bytes + kBlockTrailerBytes;
    }
    if (step != nullptr)
      step->blocks.push_back({i, handles_[i].offset, handles_[i].stored_bytes, from_cache});

    Block::Hit hit;
    const Block::Answer answer = block->Find(key, &hit);
    holds_newer |= hit.skipped_newer;
    switch (answer) {
      case Block::Answer::kFound:
        if (!*pin && pin_always) {
          block->Ref();
          *pin = BlockRef(block);
        }
        *value = hit.value;
        *suffix = hit.suffix;
        return static_cast<EntryKind>(hit.suffix & 0xff) == EntryKind::kDelete
                   ? TableAnswer::kDeleted
                   : TableAnswer::kFound;
      case Block::Answer::kAbsent:
      case Block::Answer::kPastTheEnd:
        break;
      case Block::Answer::kDamaged:
        return DamagedBlock(i, "an entry is malformed");
    }
    // Only the versions of the index's own key may go on in the next block.
    if (answer == Block::Answer::kAbsent || fences_[i] != key.user_key()) break;
  }
  if (!holds_newer && filter_presence_ == FilterPresence::kUsable) {
    if (counts != nullptr) ++(*counts)[LevelCounts::kFalsePositives];
    if (step != nullptr) step->false_positive = true;
  }
  pin->Reset();
  return TableAnswer::kAbsent;
}

absl::StatusOr<BlockRef> Table::ReadIntoCache(size_t ordinal, bool fill_cache) const {
  LSM_ASSIGN_OR_RETURN(const BlockBuffer buffer, ReadDataBlock(ordinal));
  return IntoCache(ordinal, buffer, fill_cache);
}

absl::StatusOr<BlockRef> Table::AdmitBlock(size_t ordinal, BlockBuffer stored,
                                           bool fill_cache) const {
  LSM_ASSIGN_OR_RETURN(const BlockBuffer buffer, OpenStored(std::move(stored), handles_[ordinal],
                                                            footer_.file_id, file_->path()));
  return IntoCache(ordinal, buffer, fill_cache);
}

absl::StatusOr<BlockRef> Table::IntoCache(size_t ordinal, const BlockBuffer& buffer,
                                          bool fill_cache) const {
  Block block;
  if (!block.Init(buffer.view())) return DamagedBlock(ordinal, "a data block is malformed");
  SignpostPlan plan;
  LSM_RETURN_IF_ERROR(InspectBlock(ordinal, block, &plan));
  const bool stays = fill_cache && context_.block_cache != nullptr &&
                     context_.block_cache->Fits(CachedBlock::ChargeBytes(block, plan.heads.size()));
  BlockRef cached(CachedBlock::New(block, plan, stays));
  if (!stays) return cached;
  return context_.block_cache->Insert(&slots_[ordinal], std::move(cached));
}

absl::Status Table::InspectBlock(size_t ordinal, const Block& block, SignpostPlan* plan) const {
  const auto lower = ordinal == 0 ? std::nullopt : std::optional(fences_[ordinal - 1]);
  const std::string_view problem = InspectDataBlock(block, lower, fences_[ordinal], plan);
  return problem.empty() ? absl::OkStatus()
                         : DamagedBlock(ordinal, Concat("a data block is malformed: ", problem));
}

absl::Status Table::DamagedBlock(size_t ordinal, std::string_view what) const {
  return DamageAt(file_->path(), handles_[ordinal].offset, what);
}

std::unique_ptr<Iterator> Table::NewIterator(const ScanOptions& options) const {
  return std::make_unique<TableIterator>(*this, options);
}

uint64_t Table::index_memory_bytes() const {
  return fences_.memory_bytes() + handles_.capacity() * sizeof(BlockHandle) +
         slots_.capacity() * sizeof(BlockSlot);
}

uint64_t Table::ApproximateOffsetOf(std::string_view user_key) const {
  const size_t i = FirstBlockFor(user_key);
  return i < handles_.size() ? handles_[i].offset : footer_.data_end();
}

absl::StatusOr<BlockBuffer> Table::ReadDataBlock(size_t ordinal) const {
  return ReadBlock(*file_, footer_.file_id, handles_[ordinal]);
}

}  // namespace lsm
