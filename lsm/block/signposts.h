// Where in a data block in memory a point lookup may begin, closer to its key than the restart
// points on disk.
//
// Blocks of the cache are mostly not in the processor's: each line of one that a lookup touches
// after another costs a DRAM access.  A binary search over restarts, and then a walk over half a
// run of entries, touches ten or twenty.  So signposts are made when a block is read: every
// kSpacingBytes or so, the offset of an entry with the eight bytes of its user key behind a prefix
// that all keys of the block begin with.  They lie together in a line or two; a lookup reads these,
// and then only the entries between two signposts, all lines at once.
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

// A view of the signposts of one block; none: its restarts must do.
struct Signposts {
  static constexpr size_t kSpacingBytes = 512;

  const uint64_t* heads = nullptr;    // ascending; the first is that of the block's first entry
  const uint32_t* offsets = nullptr;  // of the same entries
  uint32_t count = 0;
  uint32_t prefix_bytes = 0;  // that all user keys of the block begin with
};

// What is made of a block, before it is put where it stays.
struct SignpostPlan {
  std::vector<uint64_t> heads;
  std::vector<uint32_t> offsets;
  uint32_t prefix_bytes = 0;
};

inline constexpr std::string_view kSequenceOutside =
    "an entry's sequence is outside of what the table's properties say";

// The bounds of a data block, by the index and the properties of its table.
struct BlockBounds {
  std::optional<std::string_view> lower;
  std::string_view upper;
  Sequence smallest_sequence = 0;
  Sequence largest_sequence = kSequenceMax;
};

// Walks a data block from end to end, once, and plans its signposts on the way (none for a small
// block).  Returns what is wrong with it; empty if nothing is: every entry is whole, all keys are
// internal ones in order, the user keys lie between `lower` (nothing: no bound) and `upper`, and
// the sequences between those of the table.  So no lookup misses a key because a block differs from
// what the lookup assumes.
std::string_view InspectDataBlock(const Block& block, const BlockBounds& bounds,
                                  SignpostPlan* plan);

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_SIGNPOSTS_H_
