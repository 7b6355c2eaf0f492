// The runs of all trees of a store, for one allocation of filter memory.  Pure functions.
//
// A lookup asks the runs of one tree alone.  So of a lookup of the store, a run gets the part that
// its tree gets.  The shares of the trees are their counted lookups, as if kSpreadLookups more had
// been spread over all keys evenly.  So a store that was just opened treats all keys alike, and a
// tree that no lookup has asked yet still has filters.
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
// The share of each tree in the lookups of the store.  Their sum is 1 if there are keys or lookups.
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

// Makes the weights and the expected reads those of a lookup in the store that has these trees, and
// numbers the trees (FilterRun::tree).
void WeighTrees(std::span<RunsOfTree> trees);

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_TREE_RUNS_H_
