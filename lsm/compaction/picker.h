// Chooses what to compact.  Pure: looks at a version, at the options and at the plans that are
// being carried out, and returns a plan; nothing is done here, nothing is remembered.
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
//
// Several plans may be carried out at once, each made for the version of its beginning, and end in
// any order.  Two of them never conflict, which means:
//
//   1. No table is taken (as one of `inputs` or of `overlapped`) by both.
//   2. If both write to the same level, their hulls have no user key in common.  A plan's hull is
//      the range from the smallest to the largest user key of what it takes.
//
// Why that is enough.  Call V the version for which a plan P was made, and remember that outputs
// lie within the hull and hold nothing but what was taken.
//
//   - What P takes is still there when it ends: only who takes a table removes it (1).
//   - The tables of P's output level that meet its hull are, but for those that went, the ones that
//     V had: no other job writes there within the hull (2).  So the outputs meet no table of the
//     run that they join, and older and newer runs are those that they were.
//   - What comes to P's own level meanwhile is newer than what P takes from there: it is a flush,
//     or comes from a plan that brings it down from above.  That one is made of what is newer, and
//     of tables of this level which hold no key that P takes from it: P's plan left none such
//     behind that is older or of the same run, and those of newer runs are newer.  So no older
//     version stays above a newer one.
//   - What goes down from P's output level meanwhile is older than P's outputs: it is of older
//     runs, or holds none of their keys.  So no older version comes to lie above, nor a newer one
//     below.
//   - A tombstone may be dropped if V has no table with an older version but those that P takes.
//     Whatever others do meanwhile, they only carry about what was in V, or what is newer; and
//     while they are at it, what they take is in V.
//
// The hulls of 2, and not the outputs, because where an output ends is not known beforehand; and
// within its hull a table that P does not take may go down, but none may come.
//
// Readers pay for level 0 too: a lookup asks each of its tables whose range holds the key, and a
// seek looks into each of them, for what may lie below.  Merging it into level 1 ends that, but the
// sooner it is done the more often level 1 is rewritten.  So it waits until readers have paid as
// much as the merge would cost (to rent until the rent is the price).  Where the tables of level 0
// overlap one another and all of level 1, as those of random writes do, the two together cost at
// most about twice what the better of them alone would have, in hindsight; elsewhere, where less is
// merged, it waits longer.  A store that is written to and seldom read never comes to it; one that
// stands still and is read for long ends with an empty level 0.  It is for styles that keep level 1
// as one run; elsewhere it would lead to as many runs as before.
#ifndef TRELLIS_LSM_COMPACTION_PICKER_H_
#define TRELLIS_LSM_COMPACTION_PICKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/options.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// Each level below level 1 may hold this many times the bytes of the one above.
inline constexpr uint64_t kLevelRatio = 10;

// The reads that level 0 wasted.
struct Level0Reads {
  uint64_t asks = 0;   // of its tables, by lookups: a filter denied the key
  uint64_t reads = 0;  // of its tables, by lookups: the key was not there
  uint64_t seeks = 0;  // of iterators, once for each of its tables
};

// The price of these reads, in bytes that could have been read, merged and written in the same
// time, at 7 to 8 ns per byte.  The figures hold for tables in memory on a machine with a memory
// latency of 0.2 us.  There each table of level 0 adds 17 to 30 ns to a lookup whose key it does
// not hold (the lines of all filters are fetched at once), or 0.5 us without a filter, and 0.2 to
// 0.3 us to a seek.
inline constexpr uint64_t kBytesMergedPerAsk = 4;
inline constexpr uint64_t kBytesMergedPerRead = 64;
inline constexpr uint64_t kBytesMergedPerSeek = 32;
// The syncs of a table, its name and the manifest take 8 ms, also for a small table.
inline constexpr uint64_t kBytesMergedPerJob = uint64_t{1} << 20;
uint64_t BytesPaidBy(const Level0Reads& reads);

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
  // No level is over its limit, but readers have paid for it.
  bool for_readers = false;

  // --- of a step (lsm/compaction/steps.h) alone ---
  // User keys beyond `after` and up to `through` are taken; nullopt: from the first, to the last.
  // With `through`, the inputs stay: they hold more.
  std::optional<std::string> after, through;
  uint64_t table_bytes = 0;  // of each output, about; 0: Options::table_bytes
};

// The plan's inputs and what they overlap.
OpenTables TablesTakenBy(const CompactionPlan& plan);
// The tables that the plan removes: all of them but the inputs of a step that stay.
OpenTables TablesRemovedBy(const CompactionPlan& plan);
// Only about for a step, since it takes a part of its inputs.
uint64_t BytesTakenBy(const CompactionPlan& plan);

// Those that are being carried out: none conflicts with another, and the version is of after they
// began.  Shared, for one may end while another is chosen.
using RunningPlans = std::span<const std::shared_ptr<const CompactionPlan>>;

// Whether the plan conflicts with one of them.
bool Conflicts(const CompactionPlan& plan, RunningPlans running);

// Bytes that a level of one run may hold.
uint64_t LevelBytesMax(const Options& options, int level);

// The level that is furthest over its limit, without what is on its way down already; nothing if
// none is over.  Needs no memory.
std::optional<int> DueLevel(const Version& version, const Options& options,
                            RunningPlans running = {});

// The highest price of the merge of level 0 that readers may pay for, in bytes as BytesPaidBy
// counts them; nothing if the merge would not leave fewer runs.  Needs no memory.
std::optional<uint64_t> PriceForReaders(const Version& version, const Options& options);
// Whether one of them takes from level 0.
bool TakeFromLevel0(RunningPlans running);
// Whether it is paid, and no plan that runs takes from level 0.  Needs no memory.
bool IsPaidByReaders(const Version& version, const Options& options, RunningPlans running,
                     uint64_t paid_bytes);

// A plan for DueLevel.  If all plans there conflict with running ones, a plan for the level that is
// next furthest over its limit, and so on.  If no level is over its limit and readers have paid
// enough, a plan for level 0.  Otherwise nothing.  From a leveled level it takes:
//   level 0: the oldest table and all that overlap it, so that no older version is left above a
//            newer one; or the next table, if that conflicts
//   below:   the table that overlaps the fewest bytes below per byte of its own, so that the least
//            is rewritten; or the next table, if that conflicts
// From a tiered level it takes all tables.
std::optional<CompactionPlan> PickCompaction(const Version& version, const Options& options,
                                             RunningPlans running = {}, uint64_t paid_bytes = 0);

// The part of the readers' payment that the plan takes.
uint64_t PriceOf(const CompactionPlan& plan);

// One step of bringing [from, to) (nullopt: unbounded) down, in any style: all tables of `level` in
// the range, and those that overlap them there, into the oldest run of the level below.  For the
// deepest level a rewrite in place: of all of these if they are of several runs, and else of those
// tables that hold tombstones or old versions.  Nothing if there are none.
std::optional<CompactionPlan> PlanRange(const Version& version, int level,
                                        std::optional<std::string_view> from,
                                        std::optional<std::string_view> to);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_PICKER_H_
