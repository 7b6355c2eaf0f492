#include "lsm/block/index_part.h"

#include <algorithm>
#include <utility>

#include "lsm/block/block.h"
#include "lsm/block/block_iterator.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

bool DecodeHandle(std::string_view bytes, BlockHandle* handle) {
  return TakeVarint64(&bytes, &handle->offset) && TakeVarint64(&bytes, &handle->stored_bytes) &&
         bytes.empty();
}

}  // namespace

IndexReader::IndexReader(std::string_view path, size_t first_block, uint64_t data_begin,
                         uint64_t data_end, std::string_view lower)
    : path_(path), data_end_(data_end), key_ends_{0} {
  part_.begin_ = first_block;
  part_.lower_ = lower;
  part_.offsets_.push_back(data_begin);
}

std::string_view IndexReader::last_fence() const {
  if (key_ends_.size() == 1) return part_.lower_;
  return std::string_view(keys_).substr(key_ends_[key_ends_.size() - 2]);
}

absl::Status IndexReader::Add(std::string_view bytes, uint64_t offset) {
  Block block;
  if (!block.Init(bytes)) return DamageAt(path_, offset, "the index block is malformed");
  TRELLIS_RETURN_IF_ERROR(MakeRoom(block, offset));
  BlockIterator entry(block, /*internal_keys=*/false);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    // Data blocks are adjacent, up to the next part of the file.
    const uint64_t room_bytes = data_end_ - next_offset();
    BlockHandle handle;
    if (!DecodeHandle(entry.value(), &handle) || handle.offset != next_offset() ||
        room_bytes < kBlockTrailerBytes || handle.stored_bytes > room_bytes - kBlockTrailerBytes ||
        handle.stored_bytes > kBlockBytesMax) {
      return DamageAt(path_, offset,
                      Concat("the index gives data block ", next_block(), " an impossible place"));
    }
    // Within the block, its iterator checks the order.
    if (entry.AtFirst() && entry.key() < last_fence())
      return DamageAt(path_, offset, "the index's keys are not after those before them");
    part_.offsets_.push_back(handle.offset + handle.stored_bytes + kBlockTrailerBytes);
    keys_.append(entry.key());
    key_ends_.push_back(keys_.size());
  }
  return entry.status(Concat(path_, ": offset ", offset, ": index"));
}

// Reserves exactly what the block needs, after checking that it is within the bounds.
absl::Status IndexReader::MakeRoom(const Block& block, uint64_t offset) {
  const Block::Extent extent = block.Measure();
  TRELLIS_RETURN_IF_ERROR(
      CheckIndexExtent(block.bytes().size(), keys_.size(), extent.key_bytes, path_, offset));
  if (!keys_.empty()) return absl::OkStatus();  // not the first block: let the vectors grow
  keys_.reserve(extent.key_bytes);
  key_ends_.reserve(extent.entries + 1);
  part_.offsets_.reserve(extent.entries + 1);
  return absl::OkStatus();
}

absl::Status CheckIndexExtent(uint64_t block_bytes, uint64_t keys_before, uint64_t key_bytes,
                              std::string_view path, uint64_t offset) {
  // A block with a full key at every kIndexRestartInterval-th entry cannot hold more.
  if (key_bytes > kIndexRestartInterval * block_bytes)
    return DamageAt(path, offset, "the index's keys share more than they can");
  if (key_bytes > kIndexBytesMax - std::min(keys_before, kIndexBytesMax)) {
    return DamageAt(path, offset,
                    Concat("the index's keys take ", keys_before + key_bytes,
                           " bytes; those of a table may take ", kIndexBytesMax));
  }
  return absl::OkStatus();
}

IndexPart IndexReader::Finish() {
  part_.fences_ = Fences(std::move(keys_), std::move(key_ends_));
  part_.offsets_.shrink_to_fit();
  return std::move(part_);
}

}  // namespace lsm
