// Whether the tables that a job writes get their filters and indexes in partitions
// (lsm/table/partitions.h).  Pure.
#ifndef TRELLIS_LSM_COMPACTION_PARTITION_PLAN_H_
#define TRELLIS_LSM_COMPACTION_PARTITION_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/options.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// Into partitions of how many bytes (TableBuildOptions::partition_bytes) the filter and index of a
// table are to be cut; 0: they stay whole, in memory as long as the table is open.
//
// They are cut if those of all tables of the store, `store_bytes`, are more than the block cache
// has (with no cache there is no place for partitions: never), for then they would be the larger
// part of what the store keeps in memory; but not those of a table that has no more than 64 KiB of
// them, or of a small cache a 16th, `table_bytes`: most lookups ask it, and it is soon compacted.
// A partition takes no more than a 64th of the cache, so that many fit.
size_t PartitionBytes(uint64_t cache_bytes, uint64_t store_bytes, uint64_t table_bytes);

// The same for the outputs of a job: about `keys` keys and `bytes` of tables (0: not known), in
// `tables` of them with such filters, written in place of `leaving`.
size_t PlanPartitions(const Options& options, const Version& version, const OpenTables& leaving,
                      const TableFilter& filter, uint64_t keys, uint64_t bytes, uint64_t tables);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_PARTITION_PLAN_H_
