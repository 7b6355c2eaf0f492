// Range deletes of tables that tests make.
#ifndef TRELLIS_TESTS_LSM_TABLE_TABLE_RANGES_H_
#define TRELLIS_TESTS_LSM_TABLE_TABLE_RANGES_H_

#include <cstddef>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/table/table_builder.h"
#include "tests/support/range_maps.h"

namespace lsm {

using testing_support::RangesOf;

inline std::vector<Sequence> SequencesOf(const RangeMap& ranges, size_t stretch) {
  std::vector<Sequence> sequences;
  ranges.ListSequences(stretch, &sequences);
  return sequences;
}

inline void AddRanges(const RangeMap& ranges, TableBuilder* builder) {
  for (size_t stretch = 0; stretch < ranges.size(); ++stretch)
    builder->AddRange(ranges.boundary(stretch), SequencesOf(ranges, stretch));
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_TABLE_TABLE_RANGES_H_
