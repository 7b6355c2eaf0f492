// Chooses what to compact.  Pure: looks at a version and at the options, and returns a plan;
// nothing is done here, nothing is remembered.
//
// The three styles (CompactionStyle) are shapes that the levels below level 0 are kept in:
//
//   leveled       one run a level, of a limited size; a level that is beyond it gives tables to the
//                 one below, which are merged with what they overlap there
//   tiered        up to T - 1 runs a level; T runs become one new run of the level below, and those
//                 of the last level one run in place.  T is level0_compaction_tables, at least 2
//   lazy-leveled  the deepest level that holds anything is one run of a limited size; the levels
//                 above are tiered, and what the lowest of them has goes into that run.  When the
//                 run is beyond its size, it moves down a level as it is
//
// In all of them level 0 is due at level0_compaction_tables.  A version of any shape may come, for
// a store may be opened with another style than before: what a style does not allow is due.
//
// How age is kept in order: what goes down from a level is all that overlaps it there, so that no
// older version stays above; it becomes either a new run, newer than those of the level below, or
// part of the oldest run there, after it was merged with all tables of that level that overlap it.
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
  int level = 0;            // of `inputs`
  int output_level = 0;     // level + 1, or level to rewrite in place
  uint32_t output_run = 0;  // of output_level, which the outputs become or join
  OpenTables inputs;        // in the order of Version::level
  OpenTables overlapped;    // of output_level; empty when rewriting in place
  OpenTables grandparents;  // of output_level + 1, within the range; none if that has several runs
  OpenTables staying;       // of output_run, between the inputs when rewriting in place: outputs
                            // must not reach over them
  // The inputs overlap nothing, and are of one run with output_run's number: they change their
  // level, not their bytes.
  bool trivial_move = false;
};

// Bytes that a level of one run may hold.
uint64_t LevelBytesMax(const Options& options, int level);

// The level that is furthest over its limit; nothing if none is over.
std::optional<int> DueLevel(const Version& version, const Options& options);

// What to do about DueLevel; nothing if no level is over its limit.  From a level that is leveled:
//   Level 0: the oldest table and all that overlap it, so that no older version is left above a
//            newer one.
//   Below:   the table that overlaps the fewest bytes below per byte of its own, so that the least
//            is rewritten.
// From a tiered one: all of it.
std::optional<CompactionPlan> PickCompaction(const Version& version, const Options& options);

// One step of bringing [from, to) (nullopt: unbounded) down, in any style: all tables of `level` in
// the range, and those that overlap them there, into the oldest run of the level below.  For the
// deepest level a rewrite in place: of all of these if they are of several runs, and else of those
// tables that hold tombstones or old versions.  Nothing if there are none.
std::optional<CompactionPlan> PlanRange(const Version& version, int level,
                                        std::optional<std::string_view> from,
                                        std::optional<std::string_view> to);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_PICKER_H_
