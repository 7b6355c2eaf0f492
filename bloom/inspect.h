// What tools show of a filter besides FilterReader::Describe.
#ifndef TRELLIS_BLOOM_INSPECT_H_
#define TRELLIS_BLOOM_INSPECT_H_

#include <cstddef>
#include <vector>

#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"

namespace bloom::inline TRELLIS_ABI {

// Share of ones in each of `parts` equal stretches of the filter's bits, in order: a picture of the
// fill. Fewer parts if there are fewer bits; none if the filter is empty, not usable, or of a kind
// whose fill tells nothing (FilterReader::has_fill).  Reads the whole filter.
std::vector<double> FillByPart(const FilterReader& reader, size_t parts);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_INSPECT_H_
