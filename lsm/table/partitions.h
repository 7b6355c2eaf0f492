// The resident part of a partitioned table: its top-level index, with the places of the filter and
// index partitions, and a cache slot for each of these.
//
// lsm/FORMAT.md, section "Partitions", has the entries of the top-level block.
//
// A partition covers consecutive data blocks.  Its index partition is an index block of these.  Its
// filter partition is a filter of exactly the user keys that have an entry in them.  If the
// versions of a user key extend over the end of a partition, both filters have the key.  A search
// for this key begins in the first of these partitions, whose fence is the key itself.
//
// Sizes.  A partition ends when its index has kPartitionBytes, or its filter about
// kPartitionFilterFactor times as much.  So a lookup with nothing cached reads one or two pages of
// filter and, if the filter says "maybe", one page of index.  (A disk reads at least a page.)  The
// resident part is about 100 bytes for 4 KiB of index and 8 KiB of filter, plus 8 bytes for the
// slot of each data block.
#ifndef TRELLIS_LSM_TABLE_PARTITIONS_H_
#define TRELLIS_LSM_TABLE_PARTITIONS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/fences.h"
#include "lsm/block/filter_part.h"
#include "lsm/block/format.h"
#include "lsm/block/index_part.h"
#include "lsm/table/block_cache.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr size_t kPartitionBytes = 4096;
inline constexpr size_t kPartitionFilterFactor = 2;

// One entry of the top-level block.
struct PartitionEntry {
  uint64_t data_offset = 0;
  uint64_t data_blocks = 0;
  BlockHandle filter;  // null: none
  BlockHandle index;

  std::string Encode() const;
  static bool Decode(std::string_view bytes, PartitionEntry* entry);
};

enum class PartitionKind : uint8_t { kFilter, kIndex };

class Partitions {
 public:
  // Parses a top-level block.  DataLoss unless all partitions are adjacent: their data blocks up to
  // footer.data_end(), then any filter partitions, then the index partitions up to the top-level
  // block.
  static absl::StatusOr<std::unique_ptr<Partitions>> Read(std::string_view bytes,
                                                          const Footer& footer,
                                                          std::string_view path);

  size_t count() const { return entries_.size(); }
  const PartitionEntry& entry(size_t number) const { return entries_[number]; }
  BlockHandle handle(PartitionKind kind, size_t number) const {
    return kind == PartitionKind::kFilter ? entries_[number].filter : entries_[number].index;
  }
  std::string_view fence(size_t number) const { return fences_[number]; }
  size_t first_block(size_t number) const { return first_blocks_[number]; }
  // End of the partition's data blocks.
  uint64_t data_end(size_t number) const {
    return number + 1 < entries_.size() ? entries_[number + 1].data_offset : data_end_;
  }
  // The first partition that may hold keys at or after `user_key`; count() if there is none.
  size_t LowerBound(std::string_view user_key) const { return fences_.LowerBound(user_key); }
  // The partition that contains a data block.
  size_t With(size_t ordinal) const;

  BlockSlot& slot(PartitionKind kind, size_t number) {
    return slots_[2 * number + static_cast<size_t>(kind)];
  }
  std::span<BlockSlot> slots() { return slots_; }

  size_t memory_bytes() const;
  // Stored size of all index and filter partitions, without trailers.
  uint64_t index_bytes() const { return index_bytes_; }
  uint64_t filter_bytes() const { return filter_bytes_; }

 private:
  Partitions() = default;
  absl::Status Check(const Footer& footer, std::string_view path) const;

  Fences fences_;
  std::vector<PartitionEntry> entries_;
  std::vector<size_t> first_blocks_;
  uint64_t data_end_ = 0;
  uint64_t index_bytes_ = 0;
  uint64_t filter_bytes_ = 0;
  std::vector<BlockSlot> slots_;  // two per partition: filter, index
};

// A partition in the block cache, ready for queries.
class CachedPartition : public CachedBlock {
 public:
  using Part = std::variant<FilterPart, IndexPart>;
  explicit CachedPartition(Part part);

  const FilterPart& filter() const { return std::get<FilterPart>(part_); }
  const IndexPart& index() const { return std::get<IndexPart>(part_); }
  size_t charge_bytes() const { return charge_bytes_; }  // hides the block's

 private:
  const Part part_;
  const size_t charge_bytes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_PARTITIONS_H_
