#include "lsm/table/table_builder.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

#include "bloom/hash.h"
#include "lsm/block/block_io.h"
#include "lsm/block/ranges_part.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/shared_prefix.h"
#include "lsm/bytes/status.h"
#include "lsm/filters/filter_curve.h"
#include "lsm/limits.h"
#include "lsm/release.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Limit for key and value together.  A block ends when it reaches its target size, so it exceeds
// that by at most one entry.  It must stay below the size that readers accept.
constexpr uint64_t kEntryBytesMax = kBlockBytesMax - (uint64_t{4} << 20);
static_assert(kTreeKeyBytesMax + kInternalKeySuffixBytes + kValueBytesMax <= kEntryBytesMax);
constexpr std::string_view kCreatedBy = "trellis " TRELLIS_VERSION_STRING;

// A table is full at this size of its index or of its ranges, or with this many keys.  It may still
// grow then, since all versions of a user key are in one table.  The limit of keys allows a filter
// 16 bytes/key, more than any kind takes.
constexpr uint64_t kIndexBytesFull = kIndexBytesMax / 4;
constexpr uint64_t kRangesBytesFull = kRangesBytesMax / 4;
constexpr uint64_t kKeysFull = kFilterBytesMax / 16;

// The shortest key at or after `last` and strictly before `next`.  If both have the same user key,
// that one.
std::string SeparatorOf(std::string_view last, std::string_view next) {
  const size_t shared = SharedPrefixBytes(last, next);
  if (shared + 1 >= last.size()) return std::string(last);  // it is minimal, or the two are equal
  // They differ at `shared`, where `next` has the greater byte.
  if (shared + 1 < next.size()) return std::string(next.substr(0, shared + 1));
  std::string separator(last);
  if (static_cast<uint8_t>(last[shared]) + 1 < static_cast<uint8_t>(next[shared])) {
    separator.resize(shared + 1);
    ++separator.back();
    return separator;
  }
  // `next` ends there, and its byte is greater by one.  So a later byte must be increased.
  for (size_t i = shared + 1; i < separator.size(); ++i) {
    if (static_cast<uint8_t>(separator[i]) == 0xff) continue;
    if (i + 1 == separator.size()) break;
    ++separator[i];
    separator.resize(i + 1);
    break;
  }
  return separator;
}

}  // namespace

TableBuilder::TableBuilder(TableBuildOptions options, std::unique_ptr<AppendFile> file)
    : options_(std::move(options)),
      file_(std::move(file)),
      data_block_(options_.block_restart_interval),
      index_block_(kIndexRestartInterval) {
  assert(options_.block_bytes <= size_t{1} << 20);
  properties_.filter_kind = "none";
  properties_.filter_reason = options_.filter_reason;
  if (options_.filter_policy != nullptr) {
    if (options_.partition_bytes == 0) {
      filter_ = options_.filter_policy->NewBuilder(
          {.target_fpp = options_.target_fpp, .seed = options_.file_id});
    }
    filter_bytes_per_key_ = TextbookFilterBytesPerKey(options_.target_fpp);
    properties_.filter_kind = options_.filter_policy->name();
    properties_.target_fpp = options_.target_fpp;
  }
  if (options_.partition_bytes > 0) {
    partitions_ = std::make_unique<PartitionBuilder>(
        options_.filter_policy,
        bloom::FilterContext{.target_fpp = options_.target_fpp, .seed = options_.file_id},
        options_.partition_bytes);
  }
  properties_.set_digest_seed(options_.digest_seed);
  properties_.compression = NameOf(options_.compression);
  properties_.block_bytes = options_.block_bytes;
  properties_.restart_interval = static_cast<uint64_t>(options_.block_restart_interval);
  properties_.keyspace = options_.keyspace;
  properties_.level = options_.level;
  properties_.created_micros = options_.created_micros;
  properties_.created_by = kCreatedBy;
  status_ = file_->Append(EncodeTableHeader(options_.file_id));
}

TableBuilder::~TableBuilder() = default;

absl::Status TableBuilder::Refusal(std::string_view internal_key, size_t value_bytes,
                                   bool is_parsed, bool is_in_order) const {
  if (!is_parsed) {
    return absl::InternalError(
        Concat(file_->path(), ": a malformed internal key was added: ", Escape(internal_key, 64)));
  }
  if (!is_in_order) {
    return absl::InternalError(Concat(file_->path(), ": keys were added out of order: \"",
                                      Escape(last_key_, 64), "\", then \"",
                                      Escape(internal_key, 64), "\""));
  }
  if (!IsSoundEntry(SuffixOf(internal_key), value_bytes))
    return absl::InternalError(Concat(file_->path(), ": a timed put without a time was added"));
  return absl::InvalidArgumentError(Concat(file_->path(), ": an entry of ",
                                           internal_key.size() + value_bytes,
                                           " bytes; a table takes at most ", kEntryBytesMax));
}

void TableBuilder::Add(std::string_view internal_key, std::string_view value) {
  if (!status_.ok()) return;
  ParsedKey key;
  const bool is_parsed = ParseInternalKey(internal_key, &key);
  const bool first = properties_.entries == 0;
  // Compares user keys: negative if this one comes after the last one.
  const int order = first || !is_parsed ? -1 : CompareUserKeys(UserKeyOf(last_key_), key.user_key);
  const bool is_in_order =
      order < 0 || (order == 0 && SequenceOf(SuffixOf(last_key_)) > key.sequence);
  if (!is_parsed || !is_in_order || !IsSoundEntry(SuffixOf(internal_key), value.size()) ||
      internal_key.size() + value.size() > kEntryBytesMax) [[unlikely]] {
    status_ = Refusal(internal_key, value.size(), is_parsed, is_in_order);
    return;
  }
  if (data_block_.size_bytes_estimate() >= options_.block_bytes && !data_block_.empty()) {
    FlushDataBlock(key.user_key);
    if (!status_.ok()) return;
  }
  if (first) smallest_ = internal_key;
  if (order != 0) ++properties_.distinct_keys;
  AddToFilter(key.user_key, order != 0);
  data_block_.Add(internal_key, value);
  last_key_.assign(internal_key);

  ++properties_.entries;
  dead_entries_.Count(key, value.size(), /*is_new_key=*/order != 0);
  write_times_.Count(key, value);
  properties_.smallest_sequence =
      first ? key.sequence : std::min(properties_.smallest_sequence, key.sequence);
  properties_.largest_sequence = std::max(properties_.largest_sequence, key.sequence);
  properties_.raw_key_bytes += key.user_key.size();
  properties_.raw_value_bytes += value.size();
}

void TableBuilder::AddRange(std::string_view boundary, std::span<const Sequence> sequences) {
  range_memory_bytes_ += boundary.size() + kBoundaryBytes + sequences.size() * sizeof(Sequence);
  ranges_.Add(boundary, sequences);
}

void TableBuilder::AddToFilter(std::string_view user_key, bool is_new_key) {
  if (partitions_ != nullptr) {
    // A key whose versions extend over a partition's end is in both filters.
    if (is_new_key || partitions_->is_at_start())
      partitions_->AddKey(user_key, options_.digest_seed);
  } else if (filter_ != nullptr && is_new_key) {
    filter_->Add(bloom::DigestOf(user_key, options_.digest_seed));
  }
}

void TableBuilder::FlushDataBlock(std::string_view next_user_key) {
  const std::string_view block = data_block_.Finish();
  properties_.uncompressed_data_bytes += block.size();
  absl::StatusOr<BlockHandle> handle =
      WriteBlock(file_.get(), options_.file_id, block, options_.compression, &scratch_);
  data_block_.Reset();
  if (!handle.ok()) {
    status_ = handle.status();
    return;
  }
  ++properties_.data_blocks;
  properties_.data_bytes += handle->stored_bytes + kBlockTrailerBytes;
  const std::string separator = SeparatorOf(UserKeyOf(last_key_), next_user_key);
  index_key_bytes_ += separator.size();
  if (partitions_ != nullptr) {
    status_ = partitions_->AddBlock(separator, *handle);
    return;
  }
  std::string encoded;
  AppendVarint64(&encoded, handle->offset);
  AppendVarint64(&encoded, handle->stored_bytes);
  index_block_.Add(separator, encoded);
}

absl::Status TableBuilder::WriteFilter(Footer* footer) {
  if (filter_ == nullptr) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(const std::string bytes, filter_->Finish());
  TRELLIS_ASSIGN_OR_RETURN(footer->filter, WriteBlock(file_.get(), options_.file_id, bytes,
                                                      Compression::kNone, &scratch_));
  properties_.filter_bytes = bytes.size();
  properties_.expected_fpp = bloom::FilterReader::Open(bytes).predicted_fpp();
  return absl::OkStatus();
}

absl::Status TableBuilder::WriteIndex(Footer* footer) {
  const std::string_view bytes = properties_.entries == 0 ? "" : index_block_.Finish();
  if (bytes.size() > kIndexBytesMax) {
    return absl::ResourceExhaustedError(Concat(file_->path(), ": an index of ", bytes.size(),
                                               " bytes; a table may have one of ", kIndexBytesMax,
                                               " (too many versions of one key?)"));
  }
  properties_.index_bytes = bytes.size();
  TRELLIS_ASSIGN_OR_RETURN(footer->index, WriteBlock(file_.get(), options_.file_id, bytes,
                                                     Compression::kNone, &scratch_));
  return absl::OkStatus();
}

absl::Status TableBuilder::WriteRanges(const RangeMap& ranges, Footer* footer) {
  if (ranges.empty()) return absl::OkStatus();
  const std::string bytes = EncodeRanges(ranges);
  if (const uint64_t most = std::max<uint64_t>(range_memory_bytes_, bytes.size());
      most > kRangesBytesMax) {
    return absl::ResourceExhaustedError(Concat(file_->path(), ": range deletes of ", most,
                                               " bytes; those of a table may take ",
                                               kRangesBytesMax));
  }
  properties_.range_bytes = bytes.size();
  TRELLIS_ASSIGN_OR_RETURN(footer->ranges, WriteBlock(file_.get(), options_.file_id, bytes,
                                                      Compression::kNone, &scratch_));
  return absl::OkStatus();
}

absl::Status TableBuilder::WriteEntryParts(Footer* footer) {
  if (partitions_ != nullptr)
    return partitions_->Write(file_.get(), &scratch_, footer, &properties_);
  TRELLIS_RETURN_IF_ERROR(WriteFilter(footer));
  return WriteIndex(footer);
}

void TableBuilder::LeaveOutEntryParts() {
  filter_.reset();
  partitions_.reset();
  properties_.filter_kind = "none";
  properties_.filter_reason.clear();
  properties_.target_fpp = 0;
}

absl::StatusOr<TableSummary> TableBuilder::Finish() {
  TRELLIS_RETURN_IF_ERROR(status_);
  const RangeMap ranges = ranges_.Finish();
  if (properties_.entries > 0) {
    FlushDataBlock(UserKeyOf(last_key_));
    TRELLIS_RETURN_IF_ERROR(status_);
    properties_.smallest_key = UserKeyOf(smallest_);
    properties_.largest_key = UserKeyOf(last_key_);
  } else if (ranges.empty()) {
    return absl::InternalError(Concat(file_->path(), ": a table without entries and ranges"));
  } else {
    LeaveOutEntryParts();
  }
  properties_.deletions = dead_entries_.tombstones();
  properties_.dead_bytes = dead_entries_.DeadBytesOf(properties_.data_bytes);
  properties_.range_deletes = ranges.range_count();
  const WriteTimes times = write_times_.Finish();
  properties_.timed_entries = times.timed_entries;
  if (times.timed_entries > 0) {
    properties_.oldest_write_seconds = times.oldest;
    properties_.newest_write_seconds = times.newest;
    properties_.fifth_write_seconds = times.fifth;
  }
  if (properties_.deletions > 0 || properties_.range_deletes > 0) {
    // The manifest has 32 bits for it.
    properties_.oldest_tombstone =
        std::min<uint64_t>(options_.oldest_tombstone, std::numeric_limits<uint32_t>::max());
  }

  if (index_key_bytes_ > kIndexBytesMax) {
    return absl::ResourceExhaustedError(Concat(
        file_->path(), ": an index whose keys take ", index_key_bytes_,
        " bytes; those of a table may take ", kIndexBytesMax, " (too many versions of one key?)"));
  }
  Footer footer;
  footer.file_id = options_.file_id;
  footer.data_blocks = properties_.data_blocks;
  footer.entries = properties_.entries;
  footer.needs_version_3 = options_.keyspace != kDefaultKeyspace || times.timed_entries > 0;
  status_ = WriteEntryParts(&footer);
  if (status_.ok()) status_ = WriteRanges(ranges, &footer);
  TRELLIS_RETURN_IF_ERROR(status_);
  absl::StatusOr<BlockHandle> properties = WriteBlock(
      file_.get(), options_.file_id, properties_.Encode(), Compression::kNone, &scratch_);
  status_ = properties.status();
  TRELLIS_RETURN_IF_ERROR(status_);
  footer.properties = *properties;
  footer.file_bytes = file_->size_bytes() + kFooterBytes;
  status_ = file_->Append(footer.Encode());
  if (status_.ok()) status_ = file_->Sync();
  if (status_.ok()) status_ = file_->Close();
  TRELLIS_RETURN_IF_ERROR(status_);
  return TableSummary{.file_id = options_.file_id,
                      .file_bytes = footer.file_bytes,
                      .smallest = smallest_,
                      .largest = std::string(last_key_.view()),
                      .properties = properties_,
                      .ranges = RangeRecord::Of(ranges)};
}

bool TableBuilder::is_full() const {
  const uint64_t index_bytes =
      partitions_ != nullptr ? partitions_->index_bytes() : index_block_.size_bytes_estimate();
  return std::max(index_bytes, index_key_bytes_) >= kIndexBytesFull ||
         range_memory_bytes_ >= kRangesBytesFull || properties_.distinct_keys >= kKeysFull;
}

uint64_t TableBuilder::size_bytes_estimate() const {
  const uint64_t keys = options_.filter_policy != nullptr ? properties_.distinct_keys : 0;
  const uint64_t index_bytes =
      partitions_ != nullptr ? partitions_->index_bytes() : index_block_.size_bytes_estimate();
  // In the file, ranges take less than in memory.
  return file_->size_bytes() + data_block_.size_bytes_estimate() + index_bytes +
         range_memory_bytes_ / 2 + kFooterBytes +
         static_cast<uint64_t>(static_cast<double>(keys) * filter_bytes_per_key_);
}

}  // namespace lsm
