#include "lsm/filters/filter_allocation.h"

#include <algorithm>
#include <limits>

#include "bloom/core/filter_format.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The compact kind takes this much more build time per key than the fast kind: 74 instead of 17 ns
// (`layout_bench --table`).  A saved bit per key is worth kNanosPerBit of build time for each time
// that level 1 is rewritten.  At an FPP of 0.01 the compact kind saves 3 bits, so it pays for runs
// of at least 2.4 times the size of level 1, that is in the levels below.  RocksDB recommends the
// same.
constexpr double kMoreBuildNanos = 57;
constexpr double kNanosPerBit = 8;

double HeaderBytes(const FilterRun& run) {
  return static_cast<double>(run.tables) * static_cast<double>(bloom::kFilterHeaderBytes);
}
double BytesOf(const FilterRun& run, double bits) {
  return HeaderBytes(run) + static_cast<double>(run.keys) * bits / 8;
}
double BitsIn(const FilterRun& run, double bytes) {
  return 8 * (bytes - HeaderBytes(run)) / static_cast<double>(run.keys);
}

// A corner of a run's lower convex hull, and the step to it from the previous corner.  The hull
// begins at 0 bytes and an FPP of 1.
struct Step {
  size_t run = 0;
  FilterCurve::Point point;
  double bytes = 0;        // at the corner
  double saved_reads = 0;  // by this step
  double more_bytes = 0;   // that the step costs
  double steepness() const { return saved_reads / more_bytes; }
};

// Adds the steps of one run, each less steep than the one before.
void AddSteps(size_t index, const FilterRun& run, const FilterCurve& curve,
              std::vector<Step>* steps) {
  const size_t first = steps->size();
  for (const FilterCurve::Point& point : curve.points()) {
    Step step{index, point, BytesOf(run, point.bits), 0, 0};
    for (;;) {
      const bool is_first = steps->size() == first;
      const double fpp = is_first ? 1 : steps->back().point.fpp;
      const double bytes = is_first ? 0 : steps->back().bytes;
      step.saved_reads = run.weight * (fpp - point.fpp);
      step.more_bytes = step.bytes - bytes;
      if (is_first || step.steepness() < steps->back().steepness()) break;
      steps->pop_back();  // it lies above the line from the corner before it to this one
    }
    steps->push_back(step);
  }
}

void Set(FilterShare* share, std::string_view kind, const FilterCurve::Point& point, double bytes) {
  share->kind = kind;
  share->target_fpp = point.target_fpp;
  share->fpp = point.fpp;
  share->bytes = bytes;
  share->reason =
      point.target_fpp <= FilterCurve::kLeastFpp ? FilterReason::kFloor : FilterReason::kShare;
}

uint64_t KeysOf(std::span<const FilterRun> runs) {
  uint64_t keys = 0;
  for (const FilterRun& run : runs) keys += run.keys;
  return keys;
}

// The deepest run of a tree is rewritten completely during the time in which as many keys come down
// as there are above it.  So in a growing tree, its tables are sized for too few keys: on average
// half of that number is missing.  Sizing the tables for this half too makes the sum right.
double ShareBeforeGrowth(std::span<const FilterRun> runs) {
  const auto all = static_cast<double>(KeysOf(runs));
  if (all == 0) return 1;
  double above = 0;
  bool is_deepest = true;
  for (size_t i = runs.size(); i > 0; --i) {
    const FilterRun& run = runs[i - 1];
    if (!is_deepest) above += static_cast<double>(run.keys);
    if (!run.continues) is_deepest = i > 1 && runs[i - 2].tree != run.tree;
  }
  return all / (all + above / 2);
}

}  // namespace

std::string_view NameOf(FilterReason reason) {
  switch (reason) {
    case FilterReason::kTarget:
      return "target";
    case FilterReason::kShare:
      return "share";
    case FilterReason::kFloor:
      return "floor";
    case FilterReason::kDoesNotPay:
      return "does not pay";
    case FilterReason::kLess:
      return "less";
    case FilterReason::kMore:
      return "more";
    case FilterReason::kHot:
      return "hot";
    case FilterReason::kCold:
      return "cold";
  }
  return "?";
}

std::string ExplanationOf(FilterReason reason, const FilterGoal& goal) {
  const std::string_view text = [reason]() -> std::string_view {
    switch (reason) {
      case FilterReason::kTarget:
        return "written by a repair, without regard to ";
      case FilterReason::kShare:
        return "its share of ";
      case FilterReason::kFloor:
        return "as low as filters go, within ";
      case FilterReason::kDoesNotPay:
        return "no filter here, within ";
      case FilterReason::kLess:
        return "since older tables have more than theirs, less than its share of ";
      case FilterReason::kMore:
        return "since older tables have less than theirs, more than its share of ";
      case FilterReason::kHot:
        return "lookups ask here more than elsewhere, so more than its share by size of ";
      case FilterReason::kCold:
        return "lookups ask here less than elsewhere, so less than its share by size of ";
    }
    return "";
  }();
  return Concat(NameOf(reason), ": ", text, goal.ToText());
}

FilterKinds FilterKinds::Of(const FilterChoice& choice) {
  const auto name_of = [&choice](int level) {
    const auto& policy = choice.ForLevel(level);
    return policy == nullptr ? std::string_view() : policy->name();
  };
  return {name_of(0), name_of(FilterChoice::kFirstCompactLevel)};
}

absl::StatusOr<std::unique_ptr<FilterAllocator>> FilterAllocator::Of(std::string_view filter_kind,
                                                                     const FilterGoal& goal) {
  TRELLIS_ASSIGN_OR_RETURN(const FilterChoice choice, FilterChoice::Of(filter_kind));
  return std::unique_ptr<FilterAllocator>(new FilterAllocator(FilterKinds::Of(choice), goal));
}

double FilterAllocator::BudgetBytes(uint64_t keys) const {
  switch (goal_.kind()) {
    case FilterGoal::Kind::kBitsPerKey:
      return goal_.value() * static_cast<double>(keys) / 8;
    case FilterGoal::Kind::kBytes:
      return goal_.value();
    case FilterGoal::Kind::kNone:
    case FilterGoal::Kind::kWastedReads:
      break;
  }
  return kInfinity;
}

const FilterCurve& FilterAllocator::CurveOf(std::string_view kind, const FilterRun& run) const {
  return curves_->Of(kind, run.keys / std::max<uint64_t>(run.tables, 1));
}

FilterAllocation FilterAllocator::SolveWith(std::span<const FilterRun> runs,
                                            std::span<const std::string_view> kinds,
                                            const Limit& limit) const {
  FilterAllocation allocation;
  allocation.shares.resize(runs.size());
  std::vector<Step> steps;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].keys == 0 || kinds[i].empty()) continue;
    AddSteps(i, runs[i], CurveOf(kinds[i], runs[i]), &steps);
    allocation.wasted_reads += runs[i].weight;
  }
  // Stable: of equal steps, the one of the first run comes first.
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.steepness() > b.steepness(); });
  for (const Step& step : steps) {
    if (allocation.wasted_reads <= limit.reads) break;
    FilterShare& share = allocation.shares[step.run];
    const FilterRun& run = runs[step.run];
    const std::string_view kind = kinds[step.run];
    const double reads_left = allocation.wasted_reads - run.weight * share.fpp;
    const double bytes_left = allocation.bytes - share.bytes;
    const bool is_last = bytes_left + step.bytes > limit.bytes ||
                         reads_left + run.weight * step.point.fpp <= limit.reads;
    FilterCurve::Point point = step.point;
    if (bytes_left + step.bytes > limit.bytes) {
      point = CurveOf(kind, run).At(BitsIn(run, limit.bytes - bytes_left));
    } else if (is_last) {
      point = CurveOf(kind, run).Reaching((limit.reads - reads_left) / run.weight);
    }
    if (point.fpp < share.fpp) Set(&share, kind, point, BytesOf(run, point.bits));
    allocation.wasted_reads = reads_left + run.weight * share.fpp;
    allocation.bytes = bytes_left + share.bytes;
    if (is_last) break;
  }
  return allocation;
}

bool FilterAllocator::CompactPays(const FilterRun& run, double fpp) const {
  const FilterKinds& kinds = KindsOf(run);
  const double saved_bits =
      CurveOf(kinds.fast, run).Reaching(fpp).bits - CurveOf(kinds.compact, run).Reaching(fpp).bits;
  return saved_bits * kNanosPerBit * run.lifetime >= kMoreBuildNanos;
}

FilterAllocation FilterAllocator::Solve(std::span<const FilterRun> runs, const Limit& limit) const {
  std::vector<std::string_view> kinds;
  bool has_choice = false;
  for (const FilterRun& run : runs) {
    kinds.push_back(KindsOf(run).fast);
    has_choice = has_choice || KindsOf(run).fast != KindsOf(run).compact;
  }
  FilterAllocation allocation = SolveWith(runs, kinds, limit);
  if (!has_choice) return allocation;
  // The FPPs of fast kinds suffice to estimate what a compact kind would save.
  for (size_t i = 0; i < runs.size(); ++i) {
    const FilterKinds& of_run = KindsOf(runs[i]);
    const double fpp = std::min(allocation.shares[i].fpp, 0.5);
    if (runs[i].keys > 0 && of_run.fast != of_run.compact && CompactPays(runs[i], fpp))
      kinds[i] = of_run.compact;
  }
  return SolveWith(runs, kinds, limit);
}

FilterAllocation FilterAllocator::AllocateBytes(std::span<const FilterRun> runs,
                                                double bytes) const {
  return Solve(runs, {bytes, 0});
}

double FilterAllocator::Wanted(std::span<const FilterRun> runs) const {
  return WantsReads() ? goal_.value() : BudgetBytes(KeysOf(runs));
}

FilterAllocation FilterAllocator::SolveFor(std::span<const FilterRun> runs, double wanted) const {
  return WantsReads() ? Solve(runs, {kInfinity, wanted}) : AllocateBytes(runs, wanted);
}

FilterAllocation FilterAllocator::Allocate(std::span<const FilterRun> runs) const {
  return SolveFor(runs, Wanted(runs));
}

FilterAllocation FilterAllocator::ForOutput(std::span<const FilterRun> runs,
                                            const FilterOutput& output) const {
  double beside = 0;
  const auto total_with = [&](const FilterAllocation& allocation) {
    double total = beside + (WantsReads() ? output.staying_reads : output.staying_bytes);
    for (const FilterOutput::Part& part : output.parts) {
      const FilterRun& run = runs[part.run];
      if (run.keys == 0) continue;
      const FilterShare& share = allocation.shares[part.run];
      total += static_cast<double>(part.keys) / static_cast<double>(run.keys) *
               (WantsReads() ? run.weight * share.fpp : share.bytes);
    }
    return total;
  };
  const double goal = Wanted(runs);
  const double usual =
      goal_.kind() == FilterGoal::Kind::kBytes ? goal * ShareBeforeGrowth(runs) : goal;
  const FilterAllocation fair = SolveFor(runs, usual);
  for (const FilterOutput::TreeBeside& tree : output.trees_beside) {
    double share = 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].tree != tree.tree || runs[i].keys == 0) continue;
      share += WantsReads() ? runs[i].weight * fair.shares[i].fpp : fair.shares[i].bytes;
    }
    beside += std::max(share, WantsReads() ? tree.reads : tree.bytes);
  }
  const double beyond = total_with(fair) - goal;  // negative: below the goal
  double farthest =
      std::clamp(usual - kCorrection * beyond, usual / kCorrectionMost, usual * kCorrectionMost);
  FilterAllocation allocation = SolveFor(runs, farthest);
  if ((total_with(allocation) > goal) != (beyond > 0)) {
    // The goal is met at a point between the two.  Finds the nearest point on the permitted side.
    double below = std::min(usual, farthest), above = std::max(usual, farthest);
    constexpr int kHalvings = 10;
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (below + above) / 2;
      (total_with(SolveFor(runs, middle)) > goal ? above : below) = middle;
    }
    allocation = SolveFor(runs, below);
  }
  for (const FilterOutput::Part& part : output.parts) {
    FilterShare& share = allocation.shares[part.run];
    if (share.reason != FilterReason::kShare) continue;
    constexpr double kNoticed = 0.02;  // relative difference that is reported
    const double fair_bytes = fair.shares[part.run].bytes;
    if (share.bytes < fair_bytes * (1 - kNoticed)) share.reason = FilterReason::kLess;
    if (share.bytes > fair_bytes * (1 + kNoticed)) share.reason = FilterReason::kMore;
  }
  return allocation;
}

}  // namespace lsm
