#include "bloom/rotating.h"

#include "bloom/core/concat.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr uint32_t kMinGenerations = 2;
constexpr uint32_t kMaxGenerations = 64;

bool IsNumberOfGenerations(uint64_t generations) {
  return generations >= kMinGenerations && generations <= kMaxGenerations;
}

}  // namespace

absl::StatusOr<RotatingPlan> PlanRotating(uint64_t key_count, double target_fpp,
                                          uint32_t generations) {
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  if (!IsNumberOfGenerations(generations)) {
    return absl::InvalidArgumentError(Concat("generations must lie in [", kMinGenerations, ", ",
                                             kMaxGenerations, "], is ", generations));
  }
  const uint64_t with_window = generations - 1;
  RotatingPlan plan;
  plan.capacity = key_count / with_window + (key_count % with_window != 0);
  plan.target_fpp = -std::expm1(std::log1p(-target_fpp) / generations);
  if (plan.target_fpp < kMinTargetFpp) {
    return absl::InvalidArgumentError(
        Concat("target_fpp ", target_fpp, " is too low for ", generations,
               " generations: each has a part of it, which must be at least ", kMinTargetFpp));
  }
  return plan;
}

uint32_t GenerationsOf(uint64_t detail) {
  const uint64_t generations = detail >> 8;
  return IsNumberOfGenerations(generations) ? static_cast<uint32_t>(generations) : 0;
}

absl::Status GenerationTooFull(uint32_t age, uint64_t mine, uint64_t theirs, uint64_t capacity) {
  return absl::InvalidArgumentError(Concat("filters cannot be merged: the ", mine, " and ", theirs,
                                           " keys of age ", age,
                                           " have no room in a generation of ", capacity));
}

}  // namespace bloom
