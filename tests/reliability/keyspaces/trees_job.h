// Two keyspaces with trees of their own in a store with a budget for all filters.  Lookups ask one
// of them far more often than the other.  Its filters must get the memory, within the budget, and
// its readers must get a merge of its level 0, and of no other.  The counts of each tree must be
// those of the calls.
#ifndef TRELLIS_TESTS_RELIABILITY_KEYSPACES_TREES_JOB_H_
#define TRELLIS_TESTS_RELIABILITY_KEYSPACES_TREES_JOB_H_

#include <cstdint>
#include <string>

namespace reliability {

struct TreesReport {
  uint64_t stores = 0;
  uint64_t lookups = 0;
  uint64_t merges = 0;  // for readers
  std::string finding;
};

// Stores with this seed and the following ones.
TreesReport CheckTrees(uint64_t seed, uint64_t stores);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_KEYSPACES_TREES_JOB_H_
