// Entry points into a cached data block for point lookups, closer together than the restart points
// on disk.
//
// Cached blocks are mostly not in the processor's caches, so each cache line that a lookup reads
// after another costs a DRAM access.  A binary search over restarts, and a walk over half a run of
// entries, reads ten or twenty lines.  When a block is read, a signpost is made about every
// kSpacingBytes.  It has the offset of an entry, and the eight bytes of its user key that follow
// the prefix shared by all keys of the block.  A lookup reads the signposts, which take a line or
// two.  Then it reads only the entries between two signposts, all lines at once.
//
//   uint64 head * n | uint32 offset * n       in memory only; 2.3 % of a block of 4 KiB
#ifndef TRELLIS_LSM_BLOCK_SIGNPOSTS_H_
#define TRELLIS_LSM_BLOCK_SIGNPOSTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"

namespace lsm::inline TRELLIS_ABI {

class Block;

// A view of the signposts of one block.  If empty, lookups use its restarts.
struct Signposts {
  static constexpr size_t kSpacingBytes = 512;

  const uint64_t* heads = nullptr;    // ascending; the first is that of the first entry
  const uint32_t* offsets = nullptr;  // offsets of these entries
  uint32_t count = 0;
  uint32_t prefix_bytes = 0;  // length of the prefix that all user keys share
};

// Signposts of a block that is not yet in its final place.
struct SignpostPlan {
  std::vector<uint64_t> heads;
  std::vector<uint32_t> offsets;
  uint32_t prefix_bytes = 0;
};

inline constexpr std::string_view kSequenceOutside =
    "an entry's sequence is outside of what the table's properties say";

// The bounds of a data block, from the index and the properties of its table.
struct BlockBounds {
  std::optional<std::string_view> lower;
  std::string_view upper;
  Sequence smallest_sequence = 0;
  Sequence largest_sequence = kSequenceMax;
};

// Walks a data block once from end to end, checks it, and plans its signposts (none for a small
// block).  Returns what is wrong with it; empty if nothing is.  Checks that
//
//   - every entry is complete;
//   - all keys are internal keys, in order;
//   - the user keys are between `lower` (nullopt: no bound) and `upper`;
//   - the sequence numbers are between those of the table.
//
// Lookups assume just that, so no lookup misses a key in a block that passed.
std::string_view InspectDataBlock(const Block& block, const BlockBounds& bounds,
                                  SignpostPlan* plan);

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_SIGNPOSTS_H_
