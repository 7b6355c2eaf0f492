#include "lsm/table/index_part.h"

#include <utility>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/table/block.h"
#include "lsm/table/block_iterator.h"

namespace lsm {
namespace {

bool DecodeHandle(std::string_view bytes, BlockHandle* handle) {
  return TakeVarint64(&bytes, &handle->offset) && TakeVarint64(&bytes, &handle->stored_bytes) &&
         bytes.empty();
}

}  // namespace

IndexReader::IndexReader(std::string_view path, size_t first_block, uint64_t data_begin,
                         uint64_t data_end, std::string_view lower)
    : path_(path), data_end_(data_end), next_offset_(data_begin) {
  part_.begin_ = first_block;
  part_.lower_ = lower;
}

std::string_view IndexReader::last_fence() const {
  if (key_ends_.empty()) return part_.lower_;
  const size_t begin = key_ends_.size() == 1 ? 0 : key_ends_[key_ends_.size() - 2];
  return std::string_view(keys_).substr(begin);
}

absl::Status IndexReader::Add(std::string_view bytes, uint64_t offset) {
  Block block;
  if (!block.Init(bytes)) return DamageAt(path_, offset, "the index block is malformed");
  const size_t keys_before = keys_.size();
  BlockIterator entry(block, /*internal_keys=*/false);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    // Data blocks follow one another without a gap, up to what comes next.
    const uint64_t room_bytes = data_end_ - next_offset_;
    BlockHandle handle;
    if (!DecodeHandle(entry.value(), &handle) || handle.offset != next_offset_ ||
        room_bytes < kBlockTrailerBytes || handle.stored_bytes > room_bytes - kBlockTrailerBytes ||
        handle.stored_bytes > kBlockBytesMax) {
      return DamageAt(path_, offset,
                      Concat("the index says of data block ", next_block(), " where it cannot be"));
    }
    // Within the block its iterator sees to that.
    if (entry.AtFirst() && entry.key() < last_fence())
      return DamageAt(path_, offset, "the index's keys are not after those before them");
    next_offset_ += handle.stored_bytes + kBlockTrailerBytes;
    part_.handles_.push_back(handle);
    keys_.append(entry.key());
    key_ends_.push_back(keys_.size());
    // So much and no more can a block hold whose every kIndexRestartInterval-th key is whole.
    if (keys_.size() - keys_before > kIndexRestartInterval * bytes.size())
      return DamageAt(path_, offset, "the index's keys share more than they can");
  }
  return entry.status(Concat(path_, ": offset ", offset, ": index"));
}

IndexPart IndexReader::Finish() {
  std::vector<std::string_view> views;
  views.reserve(key_ends_.size());
  size_t begin = 0;
  for (const size_t end : key_ends_) {
    views.push_back(std::string_view(keys_).substr(begin, end - begin));
    begin = end;
  }
  part_.fences_ = Fences(views);
  part_.handles_.shrink_to_fit();
  return std::move(part_);
}

}  // namespace lsm
