// Chooses what to compact.  The functions are pure: they look at trees, at the effective options of
// their keyspaces and at the running plans, and return a plan.  They change and remember nothing.
//
// CompactionStyle is the shape of the levels below level 0:
//
//   leveled       Each level is one run of limited size.  A level over its limit gives tables to
//                 the level below, where they are merged with the tables that they overlap.
//   tiered        Each level has up to T - 1 runs.  T runs are merged into one new run of the level
//                 below; T runs of the last level are merged in place.  T is
//                 level0_compaction_tables, but at least 2.
//   lazy-leveled  The deepest level that holds tables is one run of limited size.  The levels above
//                 are tiered, and the lowest of them is merged into that run.  When the run is over
//                 its limit, it moves down one level unchanged.
//
// In every style, level 0 is due when it has level0_compaction_tables tables, of which each without
// entries counts as a sixteenth (Tree::level0_tables).  The style of a store or of a keyspace may
// change.  So a tree may have any shape, and whatever the current style does not allow is due.
//
// No older version of a key may come to lie above a newer one.  (A range delete is a version of
// each key that it covers, and lies in the span of its table.)  So a plan takes from its level all
// tables that overlap its inputs and are older or of the same run.  Its outputs become a new run,
// newer than the other runs of the level below, or a part of the oldest run there, after a merge
// with all tables of that level that they overlap.
//
// Several plans may run at once, and may end in any order.  Each was made for one tree, as it was
// when the plan began.  Plans of different trees never meet.  Two running plans of one tree never
// conflict:
//
//   Rule 1. No table is taken (as one of `inputs` or `overlapped`) by both.
//   Rule 2. If both write to the same level, their hulls have no user key in common.  The hull of a
//           plan is the smallest span of user keys that holds all tables that it takes.  A drop
//           writes nothing, so this rule does not concern it.
//
// These rules are enough.  Let V be the tree for which a plan P was made.  P's outputs lie
// within its hull and hold only entries that P took.
//
//   - P's tables still exist when P ends: only the plan that takes a table removes it (rule 1).
//   - In P's output level, the tables that meet the hull are those of V, without those that were
//     removed: no other plan writes there within the hull (rule 2).  So the outputs overlap no
//     table of the run that they join, and the order of the runs is that of V.
//   - Tables that arrive in P's input level meanwhile are newer than what P takes from it.  They
//     come from a flush or from a plan above, which holds newer entries and perhaps tables of this
//     level.  Those tables hold no key that P takes from this level, or they are of newer runs: P
//     took all others.  So no older version stays above a newer one.
//   - Tables that leave P's output level downwards meanwhile are older than P's outputs, or hold
//     none of their keys.  So no older version comes to lie above a newer one.
//   - P drops a tombstone only if V has no older version of its key outside P's tables.  Other
//     plans only move entries that V had, and add newer ones.  So no older version can appear.
//
// Rule 2 is about hulls, not outputs, because a plan cannot know where its outputs will end.
// Within the hull, a table that P does not take may leave the level, but none may arrive.
//
// Readers pay for level 0 too.  A lookup asks each of its tables whose range holds the key, and a
// seek looks into each of them.  A merge into level 1 ends that cost.  But each such merge rewrites
// level 1, so merges should be rare.  Level 0 therefore waits until its readers have paid the price
// of the merge, as in the ski rental problem: rent until the rent is the price.
//
//   - Random writes make tables that overlap one another and all of level 1.  Then reads and merges
//     together cost at most about twice what the better of the two alone would have cost.
//   - Where tables overlap less, the merge is cheaper than its price, and level 0 waits longer.
//   - A store that is written and seldom read never pays the price.  One that is only read for a
//     long time ends with an empty level 0.
//
// Each tree has its own account (level0_account.h).  Only styles that keep level 1 as one run merge
// for readers.  In the others, the merge would leave as many runs as before.
//
// Dead entries are a third reason.  A table records the bytes that its dead entries are expected to
// free, and when its oldest tombstone was written (lsm/table/dead_entries.h).  The rule for
// tombstones makes a plan P for one table at a time:
//
//   freeable(P)   bytes of dead entries of the inputs, and of what their tombstones cover
//   strays(P)     of these, bytes under ids of no member (Tree::BytesOfNoMember)
//   taken(P)      bytes of the inputs and of the tables that they overlap
//   bottom(P)     no table below P's output level overlaps P's hull
//   held(P)       bottom(P), and a snapshot is older than an entry of the inputs, unless
//                 2 * strays(P) >= taken(P) + kBytesMergedPerJob
//   rent(P)       bytes that could have been merged while iterators walked over the inputs' dead
//                 entries, kBytesMergedPerDeadEntry for each
//
//   P is due if it is not held, and
//     freeable(P) + (bottom(P) ? freeable(P) : strays(P)) + rent(P)
//       >= taken(P) + kBytesMergedPerJob,
//     or an input has a tombstone that is older than kTombstoneSecondsMax
//
//   - A plan that reaches the bottom frees `freeable` and writes the rest of `taken`.  Any other
//     plan writes `taken`, and its garbage goes later.  So in both cases a plan that is due by its
//     bytes writes no more than its tombstones are expected to free.  Rent is paid as by the
//     readers of level 0: until it is the price of the plan.
//   - Every plan frees strays, whatever is below and whatever snapshots exist.
//   - The plan merges the table into the level below.  If nothing below overlaps the table, the
//     plan rewrites it in place, with the runs of its level that overlap it.
//   - It stops: a plan into the next level takes each dead entry of its inputs one level deeper.  A
//     plan in place that is not held has no dead entries in its outputs.  One that only its strays
//     make due has no strays there, and half of what it takes is freed.
//
// lsm/design/tombstones.md derives the rule, and says why a wrong estimate costs a compaction, but
// never a loop.
//
// Tables that no reader needs (NeedlessTable in lsm/version/tree.h) come before all of this: a
// drop removes them unread.  A table goes if no snapshot holds it and no running plan takes it.
// Why a drop disturbs no reader and no other plan:
//
//   - A reader can miss the table T only if its version is without T.  That version has the ranges
//     above T.  The reader takes its number after the version, so it reads at `hidden_from` or
//     later, or as of a snapshot.  The drop checked all snapshots of the moment of its version, and
//     later snapshots are at `hidden_from` or later.
//   - A plan that runs beside the drop, and takes a range above T, was made for a version with T.
//     So it keeps the range.  It may replace it by a higher one if no snapshot can tell the two
//     apart.
//   - T may have hidden older entries.  They are in T's span, so the ranges above T hide them, too.
#ifndef TRELLIS_LSM_COMPACTION_PICKER_H_
#define TRELLIS_LSM_COMPACTION_PICKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"
#include "lsm/options.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {

// Each level below level 1 may hold this many times the bytes of the one above.
inline constexpr uint64_t kLevelRatio = 10;

// The price of the reads that level 0 wasted: the bytes that a compaction reads, merges and writes
// in the same time, at 7 to 8 ns per byte.  The figures are for tables in memory, on a machine with
// a memory latency of 0.2 us.  There, each table of level 0
//
//   - adds 17 to 30 ns to a lookup whose key it does not hold (the cache lines of all filters are
//     fetched at once), or 0.5 us without a filter;
//   - adds 0.2 to 0.3 us to a seek.
inline constexpr uint64_t kBytesMergedPerAsk = 4;
inline constexpr uint64_t kBytesMergedPerRead = 64;
inline constexpr uint64_t kBytesMergedPerSeek = 32;
// An iterator takes about as long for a dead entry: 0.25 us.
inline constexpr uint64_t kBytesMergedPerDeadEntry = 32;
// The syncs of a table, of its directory and of the manifest take 8 ms, even for a small table.
inline constexpr uint64_t kBytesMergedPerJob = uint64_t{1} << 20;
uint64_t BytesPaidBy(const Level0Reads& reads);

struct CompactionPlan {
  // The keyspace whose tree has the tables.
  KeyspaceId keyspace = kDefaultKeyspace;

  int level = 0;            // of `inputs`
  int output_level = 0;     // level + 1, or level to rewrite in place
  uint32_t output_run = 0;  // the run of output_level that the outputs become or join
  OpenTables inputs;        // in the order of Tree::level
  OpenTables overlapped;    // of output_level; empty when rewriting in place
  OpenTables grandparents;  // of output_level + 1, within the range; none if that has several runs
  OpenTables staying;       // of output_run, between the inputs of a rewrite in place: no output
                            // may span one of them
  // The inputs overlap nothing and belong to one run with output_run's number.  So only their level
  // changes, not their bytes.
  bool trivial_move = false;
  // No level is over its limit, but readers have paid for the merge.
  bool for_readers = false;
  bool for_tombstones = false;  // by the rule for tombstones
  // The inputs are removed unread, because no reader needs them.  There are no outputs.
  bool drops = false;
  // Whether it brings tables of level 0 of this tree down, so that readers pay no more for them.
  bool merges_level0(KeyspaceId tree) const { return keyspace == tree && level == 0 && !drops; }

  // --- only for steps (lsm/compaction/steps.h) ---
  // The step takes the user keys in [from, to).  Without `from` it begins at the first key, and
  // without `to` it ends at the last one.  With `to`, the inputs also hold later keys, so the step
  // does not remove them.
  std::optional<std::string> from, to;
  uint64_t table_bytes = 0;  // the approximate size of each output; 0: Options::table_bytes
};

// The plan's inputs and what they overlap.
OpenTables TablesTakenBy(const CompactionPlan& plan);
// The tables that the plan removes: all of them but the inputs of a step that stay.
OpenTables TablesRemovedBy(const CompactionPlan& plan);
// Approximate for a step, which takes only a part of its inputs.
uint64_t BytesTakenBy(const CompactionPlan& plan);

// The running plans of all trees.  None conflicts with another.  A function that gets them also
// gets a tree; its version is at least as new as each plan.  They are shared, because a plan may
// end while another one is chosen.
using RunningPlans = std::span<const std::shared_ptr<const CompactionPlan>>;

// Whether the plan conflicts with a running one (rules 1 and 2 above).
bool Conflicts(const CompactionPlan& plan, RunningPlans running);

// A tree of the store, and the options by which it is compacted.
struct TreeToCompact {
  const Tree* tree = nullptr;
  const Options* options = nullptr;
  bool has_others = false;  // the store has several trees
  uint64_t paid_bytes = 0;  // by readers of its level 0
};

// Bytes that a level of one run may hold.
//
// Trees that share the writes get less in each flush than one tree would.  If level 1 were as large
// as that of one tree, each merge of a small level 0 would rewrite it.  So beside other trees,
// level 1 of a leveled tree may hold what its level 0 gathers before a merge:
// level0_compaction_tables times its largest table there; but at least kLevel1BytesMin, and at most
// Options::level1_bytes.  While level 0 is empty, that is the limit.
inline constexpr uint64_t kLevel1BytesMin = uint64_t{4} << 20;  // of 4 tables at their least
uint64_t LevelBytesMax(const TreeToCompact& tree, int level);

// The level that is furthest over its limit; nullopt if none is.  Tables that running plans take
// down from a level do not count.  Needs no memory.
std::optional<int> DueLevel(const TreeToCompact& tree, RunningPlans running = {});

// The highest price of the merge of level 0 that readers may pay for, in bytes as BytesPaidBy
// counts them; nullopt if the merge would not leave fewer runs.  Allocates no memory.
std::optional<uint64_t> PriceForReaders(const Tree& tree, const Options& options);
// Whether a running plan takes tables from the tree's level 0 to merge them.
bool TakeFromLevel0(const Tree& tree, RunningPlans running);
// Whether `paid_bytes` reach that price and no running plan takes from level 0.  Needs no memory.
bool IsPaidByReaders(const Tree& tree, const Options& options, RunningPlans running,
                     uint64_t paid_bytes);

// --- the rule for tombstones ---

// A tombstone of this age is due, however little it frees: a week.
inline constexpr uint64_t kTombstoneSecondsMax = uint64_t{7} * 24 * 60 * 60;

// The numbers of tables whose oldest tombstone is due by its time.  A time in the future is due
// too: the clock was wrong, and the compaction corrects it.
struct AgedTables {
  size_t old = 0;
  size_t future = 0;

  bool any() const { return old + future > 0; }
  bool operator==(const AgedTables&) const = default;
};
// Needs no memory.
AgedTables AgedTablesOf(const Tree& tree, uint64_t wall_seconds);

// The state that a choice depends on, besides the trees, the options and the running plans.
struct PickMoment {
  enum class Turn : uint8_t { kAfterLevels, kFirst, kNever };

  Turn tombstones = Turn::kAfterLevels;     // when the rule is asked
  Sequence oldest_snapshot = kSequenceMax;  // kSequenceMax: there is none
  uint64_t wall_seconds = 0;                // since 1970
  SnapshotList snapshots = {};              // all
};

struct CompactionChoice {
  std::optional<CompactionPlan> plan;
  // A plan of the rule may be held by snapshots.  This is the least number of the oldest snapshot
  // with which such a plan may be due.  kSequenceMax: no plan is held.
  Sequence held_until = kSequenceMax;
  // The rule was asked, and none of its plans is due, whether held, running or in conflict.
  bool is_rule_idle = false;
  // Tables that have paid rent, but not enough, and the rent that they lack.
  struct Lack {
    std::shared_ptr<const OpenTable> table;
    uint64_t bytes = 0;
  };
  std::vector<Lack> lacking;
};

// Whether work frees at least the bytes that it writes, plus what its syncs cost in bytes.
constexpr bool PaysForItself(double freed_bytes, double written_bytes) {
  return freed_bytes >= written_bytes + static_cast<double>(kBytesMergedPerJob);
}

// A table of level 0 that a flush would make now.
struct TableToBe {
  KeySpan span;
  uint64_t bytes = 0;
  double freeable_bytes = 0;
  Sequence largest_sequence = 0;
};
// Whether the rule would take the table at once, by its bytes.
bool IsWorthAFlush(const Tree& tree, const TableToBe& table, Sequence oldest_snapshot);

// Asks the rule for tombstones in all trees.  In each tree it looks at the deepest level that has
// any plan.  Of all these plans it takes the one that frees most per byte that it takes.  Returns
// no plan while another one of the rule runs, so that other due work finds a thread.
CompactionChoice PickForTombstones(std::span<const TreeToCompact> trees, RunningPlans running,
                                   const PickMoment& moment);

// --- tables that no reader needs ---

// Whether PickDrop has a plan.  Needs no memory.
bool HasDrop(const Tree& tree, RunningPlans running, HasSnapshotIn has_snapshot,
             const KeySpan& span = {});
// A drop in the deepest level that has tables to drop.  It takes all such tables of that level that
// overlap the span.  Tables of other levels need drops of their own, since a plan has one level.
std::optional<CompactionPlan> PickDrop(const Tree& tree, RunningPlans running,
                                       const SnapshotList& snapshots, const KeySpan& span = {});

// --- tables whose entries have expired (lsm/design/expiry.md) ---

// A drop of tables that have expired as a whole, in the deepest level with such tables that can go
// (Tree::Expired).  A table stays if it overlaps an older table that a running plan takes, because
// that plan may write the older entries again.
std::optional<CompactionPlan> PickExpired(const Tree& tree, RunningPlans running,
                                          const SnapshotList& snapshots);
// A plan for a table of which a fifth has expired (Tree::PickHalfExpired).  It rewrites the table
// in place; a table of level 0 is merged down.  nullopt also while a running plan takes a table
// that must be merged with it.
std::optional<CompactionPlan> PickHalfExpired(const Tree& tree, RunningPlans running,
                                              const SnapshotList& snapshots);

// --- all reasons ---

// Goes through the reasons, each for all trees.  Returns a drop, if there is one, also of tables
// that have expired as a whole.  Otherwise returns a plan for the level that is furthest over its
// limit.  If all plans for that level conflict with running ones, returns one for the level that is
// next furthest over its limit, and so on.  After the levels come tables of which a fifth has
// expired.  Then comes the rule for tombstones, if it has its turn; it may also have it before the
// levels.  If no level is over its limit, returns a plan for level 0 of a tree whose readers have
// paid enough.  Otherwise there is no plan.
//
// For a level over its limit, the plan takes from
//   level 0           the oldest table and all tables that overlap it
//   a leveled level   the table that overlaps the fewest bytes below per byte of its own, so that
//                     the fewest bytes are rewritten.  Bytes that the table is expected to free do
//                     not count.  A table without entries is taken only if it overlaps no table, or
//                     if there is no other
//   a tiered level    all tables
// In the first two cases, if that conflicts, it tries the next table.
CompactionChoice PickCompaction(std::span<const TreeToCompact> trees, RunningPlans running,
                                const PickMoment& moment);
// The same in one tree.  Its readers have paid `paid_bytes`.
CompactionChoice PickCompaction(const Tree& tree, const Options& options, RunningPlans running = {},
                                const PickMoment& moment = {}, uint64_t paid_bytes = 0);

// The part of the readers' payment that the plan uses up.
uint64_t PriceOf(const CompactionPlan& plan);

// Plans one part of DB::CompactRange: moves the range [from, to) of one level down, in any style;
// nullopt is unbounded.  It takes the tables of `level` in the range, and those of `level` that
// overlap them, and merges them into the oldest run of the level below.  The deepest level, if it
// is not level 0, is rewritten in place: all of these tables if they are of several runs, otherwise
// only tables with tombstones or old versions.  Returns nothing if there are none.
std::optional<CompactionPlan> PlanRange(const Tree& tree, int level,
                                        std::optional<std::string_view> from,
                                        std::optional<std::string_view> to);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_PICKER_H_
