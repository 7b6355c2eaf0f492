// Spreads filter memory over the sorted runs of a store so that it spares the most reads (Monkey:
// Dayan, Athanassoulis, Idreos, SIGMOD 2017).  Pure: from sizes to FPPs; nothing is built here.
//
// A lookup of an absent key asks every run.  So the expected number of its wasted reads is the sum
// of the runs' FPPs; if parts of runs are asked with different probabilities, the sum weighed by
// them.  One bit a key lowers an FPP by the same factor anywhere, but costs as many bits as the run
// has keys.  So memory is best spent on small runs, until their FPPs are lower by as much as they
// are smaller.
//
// The curves say what a byte buys (lsm/filters/filter_curve.h).  Their lower convex hulls are cut
// into short steps, which are taken steepest first; the last step is taken in part.  This gives the
// least sum for every budget, and the least budget for every sum, exact to the length of one step.
#ifndef TRELLIS_LSM_FILTERS_FILTER_ALLOCATION_H_
#define TRELLIS_LSM_FILTERS_FILTER_ALLOCATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/filter_goal.h"
#include "lsm/filters/filter_curve.h"

namespace lsm::inline TRELLIS_ABI {

// Tables of which a lookup reads at most one: a table of level 0, a run below it, or a part of such
// a run whose tables are asked about as often as one another (lsm/filters/hotness.h).
struct FilterRun {
  uint64_t keys = 0;    // user keys, of all its tables; a run without keys has no filter
  uint64_t tables = 1;  // its keys are in so many filters, about alike
  double lifetime = 0;  // how often level 1 is rewritten before this run is: its size by level
                        // 1's
  // Lookups that ask one of its tables, of all that do not find their key: 1 for a whole run; less
  // for a part of one, whose other parts follow it.
  double weight = 1;
  bool continues = false;  // it is of the same run as the one before
};

enum class FilterReason : uint8_t {
  kTarget,      // Options::target_fpp: a repair wrote it, which does not know the other runs
  kShare,       // its share of the goal's memory, or of its reads
  kFloor,       // as low as filters go
  kDoesNotPay,  // none: what memory there is spares more elsewhere, or the goal is reached without
  kLess,        // less than its share, since tables that were built before have more than theirs
  kMore,        // more than its share, since they have less
  kHot,         // more than its share by size, since lookups were counted that ask for its keys
  kCold,        // less than that, since fewer ask for them than for others
};
// "target", "share", "floor", "does not pay", "less", "more", "hot", "cold".
std::string_view NameOf(FilterReason reason);

// A table's property `filter_reason`: "share: its share of 10 bits a key".  What stands before the
// colon is the reason's name.
std::string ExplanationOf(FilterReason reason, const FilterGoal& goal);

struct FilterShare {
  std::string_view kind;  // lives as long as the program; empty: no filter
  double target_fpp = 1;  // to build with
  double fpp = 1;         // to expect
  double bytes = 0;       // of all the run's filters, headers included
  FilterReason reason = FilterReason::kDoesNotPay;
};

struct FilterAllocation {
  std::vector<FilterShare> shares;  // of the runs, in their order
  double wasted_reads = 0;          // of a lookup for an absent key: the sum of weights by FPPs
  double bytes = 0;
};

// What a job is about to write, and what it leaves as it is.
struct FilterOutput {
  struct Part {
    size_t run = 0;     // among the runs, as they will be after it
    uint64_t keys = 0;  // of that run
  };
  std::vector<Part> parts;
  double staying_bytes = 0;  // that filters take of tables that the job leaves alone
  double staying_reads = 0;  // wasted reads that are expected of these tables
};

// Thread-safe.  The first curves take some milliseconds each; after that a run takes some tens of
// microseconds. std::bad_alloc passes.
class FilterAllocator {
 public:
  // `filter_kind` as FilterChoice takes it; InvalidArgument likewise.
  static absl::StatusOr<std::unique_ptr<FilterAllocator>> Of(std::string_view filter_kind,
                                                             const FilterGoal& goal);

  const FilterGoal& goal() const { return goal_; }

  // Bytes that the filters of runs with that many keys may take; infinity if the goal is not a
  // memory size.
  double BudgetBytes(uint64_t keys) const;

  // For all runs together, as if all their tables were built now.
  FilterAllocation Allocate(std::span<const FilterRun> runs) const;
  // The same within a budget, whatever the goal is.
  FilterAllocation AllocateBytes(std::span<const FilterRun> runs, double bytes) const;

  // For the tables that a job writes.  Tables that stay keep filters from when the store had other
  // sizes, so shares alone would not keep to the goal.  So a job's share is of a corrected goal:
  // corrected by kCorrection times the store's deviation from its goal, at most so far that the
  // goal is met.  More would not help: a small output cannot make up for much, and tables of one
  // run are best alike.  Of a budget in bytes, a share is also smaller by what the store may grow
  // until its tables are rewritten.  The shares of the output's parts are for the job.
  FilterAllocation ForOutput(std::span<const FilterRun> runs, const FilterOutput& output) const;

 private:
  static constexpr double kCorrection = 2;
  static constexpr double kCorrectionMost = 4;  // a goal is put right by this factor at most

  FilterAllocator(std::string_view fast_kind, std::string_view compact_kind, const FilterGoal& goal)
      : fast_kind_(fast_kind), compact_kind_(compact_kind), goal_(goal) {}

  struct Limit {
    double bytes;
    double reads;
  };
  FilterAllocation Solve(std::span<const FilterRun> runs, const Limit& limit) const;
  FilterAllocation SolveWith(std::span<const FilterRun> runs,
                             std::span<const std::string_view> kinds, const Limit& limit) const;
  // What the goal is for the runs that there are: bytes or reads.
  double Wanted(std::span<const FilterRun> runs) const;
  bool WantsReads() const { return goal_.kind() == FilterGoal::Kind::kWastedReads; }
  FilterAllocation SolveFor(std::span<const FilterRun> runs, double wanted) const;
  bool CompactPays(const FilterRun& run, double fpp) const;
  const FilterCurve& CurveOf(std::string_view kind, const FilterRun& run) const;

  // Names of policies.
  const std::string_view fast_kind_;
  const std::string_view compact_kind_;  // the same where there is one kind
  const FilterGoal goal_;
  const std::unique_ptr<FilterCurves> curves_ = std::make_unique<FilterCurves>();
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_FILTER_ALLOCATION_H_
