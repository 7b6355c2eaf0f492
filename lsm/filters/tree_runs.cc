#include "lsm/filters/tree_runs.h"

#include <cstddef>
#include <cstdint>

namespace lsm::inline TRELLIS_ABI {

std::vector<double> SharesOfLookups(std::span<const TreeLookups> trees) {
  double keys = 0, lookups = 0;
  for (const TreeLookups& tree : trees) {
    keys += tree.keys;
    lookups += tree.lookups;
  }
  const double spread = keys == 0 ? 0 : kSpreadLookups;
  std::vector<double> shares;
  shares.reserve(trees.size());
  for (const TreeLookups& tree : trees) {
    const double of_tree = tree.lookups + (keys == 0 ? 0 : spread * tree.keys / keys);
    shares.push_back(lookups + spread == 0 ? 0 : of_tree / (lookups + spread));
  }
  return shares;
}

double RunsOfTree::keys() const {
  double sum = 0;
  for (const FilterRun& run : runs) sum += static_cast<double>(run.keys);
  return sum;
}

void WeighTrees(std::span<RunsOfTree> trees) {
  std::vector<TreeLookups> of_trees;
  for (const RunsOfTree& tree : trees) of_trees.push_back({tree.keys(), tree.lookups});
  const std::vector<double> shares = SharesOfLookups(of_trees);
  for (size_t i = 0; i < trees.size(); ++i) {
    for (FilterRun& run : trees[i].runs) {
      run.weight *= shares[i];
      run.tree = static_cast<uint32_t>(i);
    }
    trees[i].staying_reads *= shares[i];
  }
}

}  // namespace lsm
