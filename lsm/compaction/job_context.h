// The parts of the store that flushes and compactions need.
#ifndef TRELLIS_LSM_COMPACTION_JOB_CONTEXT_H_
#define TRELLIS_LSM_COMPACTION_JOB_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/environment.h"
#include "lsm/filters/filter_allocation.h"
#include "lsm/filters/filter_choice.h"
#include "lsm/filters/tree_runs.h"
#include "lsm/options.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

// Everything outlives the jobs.
struct JobContext {
  const Options* options = nullptr;  // of the store, or of one tree (ContextOfTree, filter_plan.h)
  Directory* directory = nullptr;    // of the tables
  Clock* clock = nullptr;
  RandomSource* random = nullptr;
  bloom::DigestSeed digest_seed;
  TableContext table_context;  // for opening the written tables
  FilterChoice filter_choice;
  std::shared_ptr<const FilterAllocator> filter_allocator;  // null without Options::filter_goal
  std::function<uint64_t()> new_file_number;
  // The bytes of filters and indexes that the store's other trees have (partition_plan.h).
  uint64_t filter_index_bytes_beside = 0;
  // Their runs, if there is a filter_allocator (TreesBeside, filter_plan.h).
  std::vector<RunsOfTree> trees_beside;
  // The lookups of the tree so far (Tree::LookupsSoFar).  Null: none.
  std::function<uint64_t()> lookups_so_far;
};

// Seconds since 1970.
inline uint64_t WallSecondsOf(Clock& clock) { return clock.WallMicros() / 1'000'000; }

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_JOB_CONTEXT_H_
