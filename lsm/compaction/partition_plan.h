// Whether the tables that a job writes get their filters and indexes in partitions
// (lsm/table/partitions.h).  Pure.
#ifndef TRELLIS_LSM_COMPACTION_PARTITION_PLAN_H_
#define TRELLIS_LSM_COMPACTION_PARTITION_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/options.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {

// The size of the partitions (TableBuildOptions::partition_bytes) into which the filter and index
// of a table are cut; 0: they stay whole, in memory as long as the table is open.
//
// They are cut if the filters and indexes of all tables, `store_bytes`, exceed the block cache.
// Kept whole, they would then be the larger part of the store's memory.  Exceptions:
//
//   no cache      there is no place for partitions
//   small table   its filter and index, `table_bytes`, take at most 64 KiB and at most a 16th of
//                 the cache: most lookups use it, and it is soon compacted
//
// A partition takes at most a 64th of the cache, so that many fit.
size_t PartitionBytes(uint64_t cache_bytes, uint64_t store_bytes, uint64_t table_bytes);

// The same for the outputs of a job, which replace the tables `leaving` of the tree.  The outputs
// have about `keys` keys and `bytes` bytes (0: unknown), in `tables` tables with this filter.
size_t PlanPartitions(const JobContext& context, const Tree& tree, const OpenTables& leaving,
                      const TableFilter& filter, uint64_t keys, uint64_t bytes, uint64_t tables);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_PARTITION_PLAN_H_
