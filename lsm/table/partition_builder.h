// Builds the filter and index partitions of a table while its data blocks are written, and writes
// them after these: (AddKey+ AddBlock)+ Write.
//
// Memory: the digests of one partition's keys, and the finished partitions.  These take as much as
// a whole filter and index.  (A builder of a whole filter also holds the digests of all keys.)
#ifndef TRELLIS_LSM_TABLE_PARTITION_BUILDER_H_
#define TRELLIS_LSM_TABLE_PARTITION_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "lsm/block/block.h"
#include "lsm/block/format.h"
#include "lsm/file_system.h"
#include "lsm/table/partitions.h"
#include "lsm/table/properties.h"

namespace lsm::inline TRELLIS_ABI {

class PartitionBuilder {
 public:
  // `filter_policy`: null for no filter.  A partition ends with the block at which its index
  // reaches `partition_bytes`, or its filter an estimated kPartitionFilterFactor times that.
  PartitionBuilder(std::shared_ptr<const bloom::FilterPolicy> filter_policy,
                   bloom::FilterContext filter_context, size_t partition_bytes);

  // Adds a user key of the next block.  Call it once for each partition in which the key has an
  // entry.
  void AddKey(std::string_view user_key, const bloom::DigestSeed& seed);
  // Whether the next key is the first of a partition.  It must be added even if it equals the
  // previous one.
  bool is_at_start() const { return key_count_ == 0; }

  // Call this after the block of those keys was written.  `fence` is its key in the index.
  absl::Status AddBlock(std::string_view fence, BlockHandle handle);

  // Writes all partitions and the top-level block, and sets their fields in footer and properties.
  absl::Status Write(AppendFile* file, std::string* scratch, Footer* footer,
                     TableProperties* properties);

  uint64_t index_bytes() const { return index_bytes_ + index_.size_bytes_estimate(); }

 private:
  struct Finished {
    PartitionEntry entry;
    std::string fence;
    std::string filter_bytes;
    std::string index_bytes;
  };
  absl::Status EndPartition();
  void Begin();

  const std::shared_ptr<const bloom::FilterPolicy> filter_policy_;
  const bloom::FilterContext filter_context_;
  const size_t partition_bytes_;
  double filter_bytes_per_key_ = 0;

  // The current partition.
  BlockBuilder index_;
  std::unique_ptr<bloom::FilterBuilder> filter_;
  uint64_t key_count_ = 0;
  PartitionEntry entry_;
  std::string fence_;  // of its last block

  std::vector<Finished> finished_;
  uint64_t index_bytes_ = 0;
  uint64_t filter_bytes_ = 0;
  uint64_t filtered_keys_ = 0;
  double expected_fpp_sum_ = 0;  // weighted by keys
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_PARTITION_BUILDER_H_
