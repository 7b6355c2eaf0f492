#include "lsm/table/partition_builder.h"

#include <algorithm>
#include <utility>

#include "lsm/block/block_io.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/filters/filter_curve.h"

namespace lsm::inline TRELLIS_ABI {

PartitionBuilder::PartitionBuilder(std::shared_ptr<const bloom::FilterPolicy> filter_policy,
                                   bloom::FilterContext filter_context, size_t partition_bytes)
    : filter_policy_(std::move(filter_policy)),
      filter_context_(filter_context),
      partition_bytes_(partition_bytes),
      index_(kIndexRestartInterval) {
  if (filter_policy_ != nullptr)
    filter_bytes_per_key_ = TextbookFilterBytesPerKey(filter_context_.target_fpp);
  Begin();
}

void PartitionBuilder::Begin() {
  index_.Reset();
  if (filter_policy_ != nullptr) filter_ = filter_policy_->NewBuilder(filter_context_);
  key_count_ = 0;
  entry_ = PartitionEntry();
}

void PartitionBuilder::AddKey(std::string_view user_key, const bloom::DigestSeed& seed) {
  ++key_count_;
  if (filter_ != nullptr) filter_->Add(bloom::DigestOf(user_key, seed));
}

absl::Status PartitionBuilder::AddBlock(std::string_view fence, BlockHandle handle) {
  if (entry_.data_blocks++ == 0) entry_.data_offset = handle.offset;
  std::string encoded;
  AppendVarint64(&encoded, handle.offset);
  AppendVarint64(&encoded, handle.stored_bytes);
  index_.Add(fence, encoded);
  fence_ = fence;
  const double filter_bytes = static_cast<double>(key_count_) * filter_bytes_per_key_;
  if (index_.size_bytes_estimate() < partition_bytes_ &&
      filter_bytes < static_cast<double>(kPartitionFilterFactor * partition_bytes_))
    return absl::OkStatus();
  return EndPartition();
}

absl::Status PartitionBuilder::EndPartition() {
  Finished finished;
  finished.entry = entry_;
  finished.fence = fence_;
  finished.index_bytes = index_.Finish();
  index_bytes_ += finished.index_bytes.size();
  if (filter_ != nullptr) {
    TRELLIS_ASSIGN_OR_RETURN(finished.filter_bytes, filter_->Finish());
    filter_bytes_ += finished.filter_bytes.size();
    filtered_keys_ += key_count_;
    expected_fpp_sum_ += static_cast<double>(key_count_) *
                         bloom::FilterReader::Open(finished.filter_bytes).predicted_fpp();
  }
  finished_.push_back(std::move(finished));
  Begin();
  return absl::OkStatus();
}

absl::Status PartitionBuilder::Write(AppendFile* file, std::string* scratch, Footer* footer,
                                     TableProperties* properties) {
  if (entry_.data_blocks > 0) TRELLIS_RETURN_IF_ERROR(EndPartition());
  const auto write = [&](std::string_view bytes) {
    return WriteBlock(file, footer->file_id, bytes, Compression::kNone, scratch);
  };
  if (filter_policy_ != nullptr) {
    for (Finished& partition : finished_) {
      TRELLIS_ASSIGN_OR_RETURN(partition.entry.filter, write(partition.filter_bytes));
      partition.filter_bytes = std::string();
    }
    const BlockHandle last = finished_.back().entry.filter;
    footer->filter.offset = finished_.front().entry.filter.offset;
    footer->filter.stored_bytes = last.offset + last.stored_bytes - footer->filter.offset;
    properties->expected_fpp = expected_fpp_sum_ / static_cast<double>(filtered_keys_);
  }
  footer->index_partitions = file->size_bytes();
  BlockBuilder top_level(kIndexRestartInterval);
  for (Finished& partition : finished_) {
    TRELLIS_ASSIGN_OR_RETURN(partition.entry.index, write(partition.index_bytes));
    partition.index_bytes = std::string();
    top_level.Add(partition.fence, partition.entry.Encode());
  }
  const std::string_view bytes = top_level.Finish();
  if (const uint64_t most = std::max<uint64_t>(index_bytes_, bytes.size()); most > kIndexBytesMax) {
    return absl::ResourceExhaustedError(Concat(file->path(), ": an index of ", most,
                                               " bytes; a table may have one of ", kIndexBytesMax,
                                               " (too many versions of one key?)"));
  }
  TRELLIS_ASSIGN_OR_RETURN(footer->index, write(bytes));
  properties->filter_bytes = filter_bytes_;
  properties->index_bytes = index_bytes_;
  properties->partitions = finished_.size();
  return absl::OkStatus();
}

}  // namespace lsm
