// A compaction in small steps, for a store on a full disk.
//
// A compaction needs room for all its outputs before its inputs can go.  That may be far more than
// the free space: all of level 0 and what it overlaps below.  A compaction in steps frees the space
// of each step before the next one begins.
//
// The tables that a plan takes from its output run are the *targets*; all others are *sources*.  A
// step takes the oldest source A and the first target B that overlaps the rest of A.  It merges B
// with the entries of A from the end of the previous step to the end of B.  Then B is removed, the
// outputs become targets, and A stays.  The last step of A takes the rest of A and removes it.  So
// a step needs space for B and the part of A that it takes, and A's entries are on disk twice until
// its last step.  The tables that the plan rewrites in place are taken one by one, after the
// sources.
//
// Why readers see the same after each step:
//
//   - The entries of A that are written below are copies of those in A: same key, same sequence,
//     same value.  A lookup finds the newest entry first, in A or above it.  An iterator skips a
//     copy as it skips older versions.
//   - An entry that a step drops, because a newer one hides it or because it is a tombstone that
//     hides nothing, stays in A until A is removed.  There it has the same effect as before.
//   - Sources are taken oldest first.  So the outputs of a step are older than all remaining
//     sources, and newer than the tables below.
//   - The outputs of a step begin after the outputs of A's earlier steps and end where B ends.  No
//     other target overlaps this range.  So the tables of a run stay disjoint.
//
// If the compaction ends between two steps, by a crash or a failure, A and the copies of its
// entries remain.  No reader notices the copies.  A later compaction may take
//
//   both              it drops one of the two
//   only A            it may drop entries that newer ones hide; the same newer ones hide their
//                     copies.  It drops no tombstone while a copy is below
//   only the copies   A stays above them
//
// So in every state the first entry that a lookup finds is the newest.  But below that entry, a
// copy may be newer than an entry above the copy.
//
// Why steps do not disturb other compactions (picker.h): after each step the rest of the plan is a
// valid plan for the new tree.  It takes the tables of the whole plan that are still there, and the
// outputs of the steps.  Within its hull, its output level has no other tables.  Its hull lies
// within that of the whole plan.  So the rest conflicts only with plans with which the whole plan
// conflicts.
#ifndef TRELLIS_LSM_COMPACTION_STEPS_H_
#define TRELLIS_LSM_COMPACTION_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/compaction/picker.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {

// The rest of a plan.  It keeps open only tables that it takes.
struct PlanLeft {
  CompactionPlan plan;              // `overlapped` also has the outputs so far
  std::optional<std::string> from;  // below this user key, the oldest source is done
};

// The whole plan, before its first step.  REQUIRES: it is not carried out as a trivial move.
PlanLeft AllOf(const CompactionPlan& plan);

// The next step, a plan for RunCompaction and EditOf; nullopt if nothing is left.  `tree` is the
// current one.  Outputs get between 5/8 and 5/4 of `table_bytes`.  With a fixed size, a target and
// the few entries that a step adds to it would become a full table and a small one each time.
std::optional<CompactionPlan> NextStep(const Tree& tree, const PlanLeft& left,
                                       uint64_t table_bytes);

// The rest of the plan after the step, which wrote `outputs`.
PlanLeft LeftAfter(const PlanLeft& left, const CompactionPlan& step, const OpenTables& outputs);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_STEPS_H_
