// Distributes filter memory over the sorted runs of a store so that the fewest reads are wasted
// (Monkey: Dayan, Athanassoulis, Idreos, SIGMOD 2017).  Pure functions from sizes to FPPs; nothing
// is built here.
//
// A lookup of an absent key asks every run, so its expected number of wasted reads is the sum of
// the runs' FPPs.  If parts of runs are asked with different probabilities, these weight the sum.
// One more bit/key lowers any FPP by the same factor, but costs as many bits as the run has keys.
// So memory is best spent on small runs, until their FPPs are lower in proportion to their sizes.
//
// Algorithm: the curves tell the FPP for a memory size (lsm/filters/filter_curve.h).  Their lower
// convex hulls are divided into short steps, which are taken in order of steepness; the last step
// is taken in part.  The result is the least sum for every budget, and the least budget for every
// sum, exact to the length of one step.
#ifndef TRELLIS_LSM_FILTERS_FILTER_ALLOCATION_H_
#define TRELLIS_LSM_FILTERS_FILTER_ALLOCATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/filter_goal.h"
#include "lsm/filters/filter_choice.h"
#include "lsm/filters/filter_curve.h"

namespace lsm::inline TRELLIS_ABI {

// The kinds of filters that a run may get.  These are names of policies, which live as long as the
// program; empty: no filters.
struct FilterKinds {
  std::string_view fast;
  std::string_view compact;  // the same as `fast` if there is only one kind

  static FilterKinds Of(const FilterChoice& choice);
};

// Tables of which a lookup reads at most one: a table of level 0; a run below level 0; or a part of
// such a run whose tables are equally hot (lsm/filters/hotness.h).
struct FilterRun {
  uint64_t keys = 0;    // user keys of all its tables; a run without keys has no filter
  uint64_t tables = 1;  // number of filters that share its keys, about equally
  // Rewrites of level 1 during the life of this run: its size in units of level 1.
  double lifetime = 0;
  // Share of the lookups of absent keys that ask one of its tables: 1 for a whole run in a store
  // with one tree.  Less for a part of a run, or if there are other trees
  // (lsm/filters/tree_runs.h).  The other parts of the run follow it.
  double weight = 1;
  bool continues = false;                           // belongs to the same run as the one before
  uint32_t tree = 0;                                // runs of one tree are consecutive
  std::optional<FilterKinds> kinds = std::nullopt;  // nullopt: those of the allocator
};

enum class FilterReason : uint8_t {
  kTarget,      // Options::target_fpp: written by a repair, which does not know the other runs
  kShare,       // its share of the goal's memory, or of its reads
  kFloor,       // as low as filters go
  kDoesNotPay,  // none: memory saves more elsewhere, or the goal is met without it
  kLess,        // less than its share, since existing tables have more than theirs
  kMore,        // more than its share, since existing tables have less
  kHot,         // more than its share by size, since many counted lookups ask for its keys
  kCold,        // less than its share by size, since few do
};
// "target", "share", "floor", "does not pay", "less", "more", "hot", "cold".
std::string_view NameOf(FilterReason reason);

// Value of a table's property `filter_reason`, e.g. "share: its share of 10 bits a key".  The part
// before the colon is the reason's name.
std::string ExplanationOf(FilterReason reason, const FilterGoal& goal);

struct FilterShare {
  std::string_view kind;  // lives as long as the program; empty: no filter
  double target_fpp = 1;  // to build with
  double fpp = 1;         // to expect
  double bytes = 0;       // of all filters of the run, headers included
  FilterReason reason = FilterReason::kDoesNotPay;
};

struct FilterAllocation {
  std::vector<FilterShare> shares;  // in the order of the runs
  double wasted_reads = 0;          // of a lookup of an absent key: sum of weight times FPP
  double bytes = 0;
};

// The output of a job, and the tables that it leaves as they are.
struct FilterOutput {
  struct Part {
    size_t run = 0;     // index of the run, among the runs after the job
    uint64_t keys = 0;  // keys that the job writes to that run
  };
  std::vector<Part> parts;
  double staying_bytes = 0;  // filter memory of tables that the job leaves alone
  double staying_reads = 0;  // expected wasted reads of these tables
  // The same for a tree that the job does not write to.
  struct TreeBeside {
    uint32_t tree = 0;  // as in FilterRun
    double bytes = 0;
    double reads = 0;
  };
  std::vector<TreeBeside> trees_beside = {};
};

// Thread-safe.  The first curves take some milliseconds each; then a run takes some tens of
// microseconds.  May throw std::bad_alloc.
class FilterAllocator {
 public:
  // `filter_kind` and errors as for FilterChoice.
  static absl::StatusOr<std::unique_ptr<FilterAllocator>> Of(std::string_view filter_kind,
                                                             const FilterGoal& goal);

  const FilterGoal& goal() const { return goal_; }

  // Memory for the filters of runs with that many keys, in bytes; infinity if the goal is not a
  // memory size.
  double BudgetBytes(uint64_t keys) const;

  // Computes shares for all runs, as if all their tables were built now.
  FilterAllocation Allocate(std::span<const FilterRun> runs) const;
  // As Allocate, within a budget, whatever the goal is.
  FilterAllocation AllocateBytes(std::span<const FilterRun> runs, double bytes) const;

  // Computes shares for the tables that a job writes: in the result, only the shares of
  // `output.parts` are for the job.
  //
  // Tables that stay have filters from when the store had other sizes, so plain shares would miss
  // the goal.  Therefore the goal is corrected by kCorrection times the store's deviation from it,
  // but no further than to meet the goal.  A larger correction would not help: a small output
  // cannot compensate for much, and tables of one run should be alike.  With a budget in bytes, a
  // share also leaves room for the growth of the store until its tables are rewritten.
  //
  // Another tree counts with its share, or with its present filters if these exceed the share.  So
  // the memory that it lacks is left for its own jobs.  Otherwise two trees that are rewritten as a
  // whole by turns would each use the memory that the other lacks, and nothing would change.
  FilterAllocation ForOutput(std::span<const FilterRun> runs, const FilterOutput& output) const;

 private:
  static constexpr double kCorrection = 2;
  static constexpr double kCorrectionMost = 4;  // largest factor of the correction

  FilterAllocator(const FilterKinds& kinds, const FilterGoal& goal) : kinds_(kinds), goal_(goal) {}

  struct Limit {
    double bytes;
    double reads;
  };
  FilterAllocation Solve(std::span<const FilterRun> runs, const Limit& limit) const;
  FilterAllocation SolveWith(std::span<const FilterRun> runs,
                             std::span<const std::string_view> kinds, const Limit& limit) const;
  // The goal for the given runs, in bytes or reads.
  double Wanted(std::span<const FilterRun> runs) const;
  bool WantsReads() const { return goal_.kind() == FilterGoal::Kind::kWastedReads; }
  FilterAllocation SolveFor(std::span<const FilterRun> runs, double wanted) const;
  bool CompactPays(const FilterRun& run, double fpp) const;
  const FilterCurve& CurveOf(std::string_view kind, const FilterRun& run) const;
  const FilterKinds& KindsOf(const FilterRun& run) const { return run.kinds ? *run.kinds : kinds_; }

  const FilterKinds kinds_;
  const FilterGoal goal_;
  const std::unique_ptr<FilterCurves> curves_ = std::make_unique<FilterCurves>();
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_FILTER_ALLOCATION_H_
