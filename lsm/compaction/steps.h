// A compaction in small steps, for a store on a full disk.
//
// A compaction needs room for all its outputs before its inputs can go.  That may be far more than
// there is: all of level 0 and what it overlaps below.  Taken step by step, each step gives its
// room back before the next one begins.
//
// A plan leads from *sources* to the run that it writes to.  The sources are all tables that it
// takes, but those of that run, which are the *targets*.  A step takes the oldest source A and the
// first target B that overlaps what is left of A.  It merges B with the entries of A from where the
// step before ended up to B's last user key.  Then B goes, the outputs are targets, and A stays.
// The last step of A takes the rest of it, and A goes.  So a step needs room for B and the part of
// A beside it, and A's entries are on disk twice until its last step.  What the plan rewrites in
// place is taken table by table, after the sources.
//
// Why readers see the same after each step:
//
//   - A's entries below are copies of what is above them: same key, same sequence, same value.  A
//     lookup finds the newest entry first, in A or above it.  An iterator meets a copy as it meets
//     older versions, and passes it.
//   - An entry that a step drops, because a newer one hides it or because it is a tombstone that
//     hides nothing, stays in A until A goes.  There it does what it did before.
//   - Sources go oldest first.  So what a step writes is older than all sources that are left, and
//     newer than what it meets below.
//   - The outputs of a step lie beyond the outputs of A's steps before it, and end at B's last user
//     key.  All other targets are outside.  So tables of a run stay disjoint.
//
// If the compaction ends between two steps, by a crash or a failure, A and its copies are left.  No
// reader notices them, and a compaction that takes both drops one.  One that takes only A may drop
// entries that newer ones hide; their copies below are then hidden by the same newer ones.  It
// drops no tombstone while a copy is below.  One that takes only the copies leaves A above them.
// So in every state the entry that a lookup finds first is the newest; but below it, copies may be
// newer than what is above them.
//
// Beside other compactions (picker.h), what is left of a plan is a plan for the version after the
// step: it takes what the whole plan took and has not given back, and what its steps wrote, which
// is all that its output level has within its hull.  That hull lies within the whole plan's.  So it
// conflicts with no plan that the whole one does not conflict with.
#ifndef TRELLIS_LSM_COMPACTION_STEPS_H_
#define TRELLIS_LSM_COMPACTION_STEPS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/compaction/picker.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// The rest of a plan.  It keeps open only tables that it takes.
struct PlanLeft {
  CompactionPlan plan;               // `overlapped` has the outputs so far, too
  std::optional<std::string> after;  // the oldest source's entries up to this user key are below
};

// All of it.  REQUIRES: it is not carried out as a trivial move.
PlanLeft AllOf(const CompactionPlan& plan);

// The next step, a plan for RunCompaction and EditOf; nothing if nothing is left.  The version is
// of now.  Outputs get between 5/8 and 5/4 of `table_bytes`, so that a target and the little that a
// step adds to it do not become a full table and a small one each time.
std::optional<CompactionPlan> NextStep(const Version& version, const PlanLeft& left,
                                       uint64_t table_bytes);

// The rest after the step, which made these tables.
PlanLeft LeftAfter(const PlanLeft& left, const CompactionPlan& step, const OpenTables& outputs);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_STEPS_H_
