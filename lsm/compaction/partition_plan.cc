#include "lsm/compaction/partition_plan.h"

#include <algorithm>

#include "lsm/filters/filter_curve.h"
#include "lsm/table/partitions.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A table keeps its filter and index whole if they take at most this many bytes and at most this
// part of the cache.
constexpr uint64_t kWholeBytes = uint64_t{64} << 10;
constexpr uint64_t kWholePartOfCache = 16;
constexpr uint64_t kPartitionPartOfCache = 64;
constexpr size_t kPartitionBytesMin = 64;
// An index takes about this many bytes for each data block.
constexpr double kIndexBytesPerBlock = 24;

}  // namespace

size_t PartitionBytes(uint64_t cache_bytes, uint64_t store_bytes, uint64_t table_bytes) {
  if (cache_bytes == 0 || store_bytes <= cache_bytes) return 0;
  if (table_bytes <= std::min(kWholeBytes, cache_bytes / kWholePartOfCache)) return 0;
  return std::clamp(static_cast<size_t>(cache_bytes / kPartitionPartOfCache), kPartitionBytesMin,
                    kPartitionBytes);
}

size_t PlanPartitions(const JobContext& context, const Tree& tree, const OpenTables& leaving,
                      const TableFilter& filter, uint64_t keys, uint64_t bytes, uint64_t tables) {
  const Options& options = *context.options;
  uint64_t staying_bytes = context.filter_index_bytes_beside + tree.filter_index_bytes();
  for (const auto& table : leaving)
    staying_bytes -= table->table->filter_bytes() + table->table->index_bytes();
  double written =
      static_cast<double>(bytes) / static_cast<double>(options.block_bytes) * kIndexBytesPerBlock;
  if (filter.policy != nullptr)
    written += static_cast<double>(keys) * TextbookFilterBytesPerKey(filter.target_fpp);
  const auto written_bytes = static_cast<uint64_t>(written);
  return PartitionBytes(options.block_cache_bytes, staying_bytes + written_bytes,
                        written_bytes / std::max<uint64_t>(1, tables));
}

}  // namespace lsm
