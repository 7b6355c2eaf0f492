// The runs of all trees of a store, for one allocation of filter memory.  Pure functions.
//
// A lookup asks the runs of one tree only.  So a run counts by its tree's share of the lookups.
// The shares follow from counted lookups, as if kSpreadLookups more had been spread evenly over all
// keys.  So a store that was just opened treats all keys alike, and a tree without lookups still
// gets filters.
#ifndef TRELLIS_LSM_FILTERS_TREE_RUNS_H_
#define TRELLIS_LSM_FILTERS_TREE_RUNS_H_

#include <span>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/filters/filter_allocation.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr double kSpreadLookups = 1000;

struct TreeLookups {
  double keys = 0;     // of its tables
  double lookups = 0;  // that asked them since the opening
};
// Each tree's share of the store's lookups.  Their sum is 1 if there are keys or lookups.
std::vector<double> SharesOfLookups(std::span<const TreeLookups> trees);

// The runs of one tree, and the tables that a job leaves as they are.  The weights and the expected
// reads are those of a lookup in this tree.
struct RunsOfTree {
  std::vector<FilterRun> runs;
  double staying_bytes = 0;
  double staying_reads = 0;
  double lookups = 0;  // as in TreeLookups

  double keys() const;
};

// Multiplies the weights and the expected reads by the trees' shares, so that they are those of a
// lookup in the store.  Numbers the trees (FilterRun::tree).
void WeighTrees(std::span<RunsOfTree> trees);

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_TREE_RUNS_H_
