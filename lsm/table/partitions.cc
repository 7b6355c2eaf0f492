#include "lsm/table/partitions.h"

#include <algorithm>
#include <utility>

#include "lsm/block/block.h"
#include "lsm/block/block_iterator.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

std::string PartitionEntry::Encode() const {
  std::string bytes;
  for (const uint64_t number : {data_offset, data_blocks, filter.offset, filter.stored_bytes,
                                index.offset, index.stored_bytes})
    AppendVarint64(&bytes, number);
  return bytes;
}

bool PartitionEntry::Decode(std::string_view bytes, PartitionEntry* entry) {
  for (uint64_t* const number :
       {&entry->data_offset, &entry->data_blocks, &entry->filter.offset,
        &entry->filter.stored_bytes, &entry->index.offset, &entry->index.stored_bytes}) {
    if (!TakeVarint64(&bytes, number)) return false;
  }
  return bytes.empty();
}

namespace {

// Smallest entry of an index block: three lengths, and a handle of two varints.
constexpr uint64_t kIndexEntryBytesMin = 5;

}  // namespace

absl::StatusOr<std::unique_ptr<Partitions>> Partitions::Read(std::string_view bytes,
                                                             const Footer& footer,
                                                             std::string_view path) {
  const uint64_t offset = footer.index.offset;
  Block block;
  if (!block.Init(bytes)) return DamageAt(path, offset, "the top-level index is malformed");
  std::unique_ptr<Partitions> read(new Partitions);
  const Block::Extent extent = block.Measure();
  TRELLIS_RETURN_IF_ERROR(CheckIndexExtent(bytes.size(), 0, extent.key_bytes, path, offset));
  std::string keys;
  std::vector<uint64_t> key_ends{0};
  keys.reserve(extent.key_bytes);
  key_ends.reserve(extent.entries + 1);
  size_t blocks = 0;
  BlockIterator at(block, /*internal_keys=*/false);
  for (at.SeekToFirst(); at.Valid(); at.Next()) {
    PartitionEntry entry;
    if (!PartitionEntry::Decode(at.value(), &entry) || entry.data_blocks == 0 ||
        entry.data_blocks > footer.data_blocks - blocks) {
      return DamageAt(path, offset,
                      Concat("the top-level index's entry of partition ", read->entries_.size(),
                             " is impossible"));
    }
    read->entries_.push_back(entry);
    read->first_blocks_.push_back(blocks);
    blocks += entry.data_blocks;
    keys.append(at.key());
    key_ends.push_back(keys.size());
  }
  TRELLIS_RETURN_IF_ERROR(at.status(Concat(path, ": offset ", offset, ": top-level index")));
  if (blocks != footer.data_blocks)
    return DamageAt(path, offset, "the top-level index does not list all data blocks");
  read->data_end_ = footer.data_end();
  TRELLIS_RETURN_IF_ERROR(read->Check(footer, path));
  for (const PartitionEntry& entry : read->entries_) {
    read->index_bytes_ += entry.index.stored_bytes;
    read->filter_bytes_ += entry.filter.stored_bytes;
  }
  read->fences_ = Fences(std::move(keys), std::move(key_ends));
  read->entries_.shrink_to_fit();
  read->first_blocks_.shrink_to_fit();
  read->slots_ = std::vector<BlockSlot>(2 * read->entries_.size());
  return read;
}

absl::Status Partitions::Check(const Footer& footer, std::string_view path) const {
  uint64_t data = kTableHeaderBytes;
  uint64_t filters = footer.data_end();
  uint64_t indexes = footer.index_partitions;
  uint64_t index_bytes = 0;
  // Whether the block begins at `*at` and ends by `end`; advances `*at`.
  const auto follows = [](BlockHandle handle, uint64_t bytes_max, uint64_t end, uint64_t* at) {
    const uint64_t room_bytes = end - *at;
    if (handle.offset != *at || handle.stored_bytes > bytes_max ||
        room_bytes < kBlockTrailerBytes || handle.stored_bytes > room_bytes - kBlockTrailerBytes)
      return false;
    *at += handle.stored_bytes + kBlockTrailerBytes;
    return true;
  };
  bool sound = true;
  for (size_t i = 0; i < entries_.size() && sound; ++i) {
    const PartitionEntry& entry = entries_[i];
    // Only the order: AddIndexPartition checks where the data blocks of a partition end.
    sound = i == 0 ? entry.data_offset == data : entry.data_offset > data;
    data = entry.data_offset;
    sound &= data < footer.data_end();
    sound &= entry.filter.is_null() == footer.filter.is_null();
    if (!footer.filter.is_null())
      sound &= follows(entry.filter, kFilterBytesMax, footer.index_partitions, &filters);
    sound &= follows(entry.index, kIndexBytesMax, footer.index.offset, &indexes);
    // Each block takes a slot, so their number is limited.
    sound &= entry.data_blocks <= entry.index.stored_bytes / kIndexEntryBytesMin;
    index_bytes += entry.index.stored_bytes;
    sound &= index_bytes <= kIndexBytesMax;
  }
  sound &= filters == footer.index_partitions && indexes == footer.index.offset;
  if (sound) return absl::OkStatus();
  return DamageAt(path, footer.index.offset,
                  "the top-level index gives its partitions impossible places");
}

size_t Partitions::With(size_t ordinal) const {
  const auto above = std::upper_bound(first_blocks_.begin(), first_blocks_.end(), ordinal);
  return static_cast<size_t>(above - first_blocks_.begin()) - 1;
}

size_t Partitions::memory_bytes() const {
  return fences_.memory_bytes() + entries_.capacity() * sizeof(PartitionEntry) +
         first_blocks_.capacity() * sizeof(size_t) + slots_.capacity() * sizeof(BlockSlot);
}

namespace {

size_t MemoryBytesOf(const CachedPartition::Part& part) {
  if (const auto* const index = std::get_if<IndexPart>(&part)) return index->memory_bytes();
  return BlockMemory::TakenBytes(std::get<FilterPart>(part).bytes.size());
}

}  // namespace

CachedPartition::CachedPartition(Part part)
    : CachedBlock(OfPartition()),
      part_(std::move(part)),
      charge_bytes_(sizeof(CachedPartition) + MemoryBytesOf(part_)) {}

}  // namespace lsm
