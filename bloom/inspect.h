// Details of a filter for tools, in addition to FilterReader::Describe.
#ifndef TRELLIS_BLOOM_INSPECT_H_
#define TRELLIS_BLOOM_INSPECT_H_

#include <cstddef>
#include <vector>

#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"

namespace bloom::inline TRELLIS_ABI {

// Shows how evenly a filter is filled: the share of ones in each of `parts` equal ranges of its
// bits, in order.  Fewer parts if there are fewer bits.  Empty if the filter is empty or not
// usable, or its fill carries no information (FilterReader::has_fill).  Reads the whole filter.
TRELLIS_API std::vector<double> FillByPart(const FilterReader& reader, size_t parts);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_INSPECT_H_
