// Chooses what to compact.  Pure: looks at a version and returns a plan; nothing is done here,
// nothing is remembered.
#ifndef TRELLIS_LSM_COMPACTION_PICKER_H_
#define TRELLIS_LSM_COMPACTION_PICKER_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "lsm/base/options.h"
#include "lsm/version/version.h"

namespace lsm {

// Each level below level 1 may hold this many times the bytes of the one above.
inline constexpr uint64_t kLevelRatio = 10;

struct CompactionPlan {
  int level = 0;         // of `inputs`
  int output_level = 0;  // level + 1, or level to rewrite in place
  OpenTables inputs;
  OpenTables overlapped;    // of output_level; empty when rewriting in place
  OpenTables grandparents;  // of output_level + 1, within the range
  OpenTables staying;       // of output_level, between the inputs when rewriting in place: outputs
                            // must not reach over them
  // One input that overlaps nothing: it changes its level, not its bytes.
  bool trivial_move = false;
};

// Bytes that a level may hold.
uint64_t LevelBytesMax(const Options& options, int level);

// The level that is furthest over its limit; nothing if none is over.
std::optional<int> DueLevel(const Version& version, const Options& options);

// What to move down from DueLevel; nothing if no level is over its limit.
//   Level 0: the oldest table and all that overlap it, so that no older version is left above a
//            newer one.
//   Below:   the table that overlaps the fewest bytes below per byte of its own, so that the least
//            is rewritten.
std::optional<CompactionPlan> PickCompaction(const Version& version, const Options& options);

// One step of bringing [from, to) (nullopt: unbounded) down: all tables of `level` in the range,
// into the level below; for the deepest level, a rewrite in place of those tables that hold
// tombstones or old versions.  Nothing if there are none.
std::optional<CompactionPlan> PlanRange(const Version& version, int level,
                                        std::optional<std::string_view> from,
                                        std::optional<std::string_view> to);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_PICKER_H_
