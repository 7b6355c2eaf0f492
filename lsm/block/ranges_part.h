// The range deletes of a table as a block: an ordinary block of entries (block.h), one for each
// boundary of the map, in order, with restarts every kIndexRestartInterval entries.
//
//   key     the boundary
//   value   varint32 count | varint64 the first sequence | varint64 difference ...
//
// The sequences descend: each difference is that to the next one, at least 1.  A gap has count 0
// and nothing else.  The block is never compressed; the usual trailer follows it.
//
// Cost: writing takes one pass over the map.  Reading takes two over the block, and then holds the
// map, which takes at most about kRangesBytesMax.
//
// Threads: functions without state.
#ifndef TRELLIS_LSM_BLOCK_RANGES_PART_H_
#define TRELLIS_LSM_BLOCK_RANGES_PART_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/range_map.h"
#include "lsm/block/format.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {

// The block as stored, and the map in memory, may take this much.  The map takes 8 bytes for each
// sequence, and kBoundaryBytes for each boundary beside its key (range_map.h).
inline constexpr uint64_t kRangesBytesMax = kIndexBytesMax;
inline constexpr size_t kBoundaryBytes = 36;

// REQUIRES: the map is not empty, and within these limits.
std::string EncodeRanges(const RangeMap& ranges);

// Trusts nothing.  DataLoss, with `path` and `offset`, if the block is not exactly what
// EncodeRanges writes for some map, except for its restarts and the prefixes that its keys share.
// So there is one map for each block, and no block without ranges.
absl::StatusOr<RangeMap> DecodeRanges(std::string_view bytes, std::string_view path,
                                      uint64_t offset);

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_RANGES_PART_H_
