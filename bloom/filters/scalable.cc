#include "bloom/scalable.h"

#include <algorithm>
#include <bit>

#include "bloom/core/concat.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr uint32_t kMinGrowth = 2;
constexpr uint32_t kMaxGrowth = 64;
constexpr float kMinTightening = 0.1f;
constexpr float kMaxTightening = 0.9f;
constexpr uint64_t kMaxCapacity = uint64_t{1} << 62;

bool IsGrowthFactor(uint64_t factor) { return factor >= kMinGrowth && factor <= kMaxGrowth; }
bool IsTightening(float tightening) {
  return tightening >= kMinTightening && tightening <= kMaxTightening;
}

ScalableGrowth GrowthOf(uint64_t detail) {
  return {.factor = static_cast<uint32_t>(detail >> 8 & 0xff),
          .tightening = std::bit_cast<float>(static_cast<uint32_t>(detail >> 32))};
}

}  // namespace

absl::StatusOr<ScalablePlan> ScalablePlan::Make(uint64_t first_capacity, double target_fpp,
                                                const ScalableGrowth& growth) {
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  if (!IsGrowthFactor(growth.factor)) {
    return absl::InvalidArgumentError(Concat("growth factor must lie in [", kMinGrowth, ", ",
                                             kMaxGrowth, "], is ", growth.factor));
  }
  if (!IsTightening(growth.tightening)) {
    return absl::InvalidArgumentError(Concat("tightening must lie in [", kMinTightening, ", ",
                                             kMaxTightening, "], is ", growth.tightening));
  }
  if (target_fpp * (1 - static_cast<double>(growth.tightening)) < kMinTargetFpp) {
    return absl::InvalidArgumentError(Concat("target_fpp ", target_fpp,
                                             " is too low: each row has a part of it, which must ",
                                             "be at least ", kMinTargetFpp));
  }
  return ScalablePlan(first_capacity, target_fpp, growth);
}

ScalablePlan ScalablePlan::Of(const FilterHeader& header) {
  return ScalablePlan(header.shape.size, header.target_fpp, GrowthOf(header.shape.detail));
}

std::string ScalablePlan::Problem(uint64_t detail) {
  const ScalableGrowth growth = GrowthOf(detail);
  if (!IsGrowthFactor(growth.factor)) return Concat("grows by a factor of ", growth.factor);
  if (!IsTightening(growth.tightening))
    return Concat("tightens by a factor of ", growth.tightening);
  if ((detail >> 16 & 0xffff) != 0) return "has a detail that no such filter has";
  return "";
}

uint64_t ScalablePlan::Detail(uint8_t row_tag) const {
  return row_tag | uint64_t{growth_.factor} << 8 |
         uint64_t{std::bit_cast<uint32_t>(growth_.tightening)} << 32;
}

uint64_t ScalablePlan::CapacityOf(uint32_t level) const {
  uint64_t capacity = std::min(first_capacity_, kMaxCapacity);
  for (; level > 0 && capacity < kMaxCapacity; --level) {
    if (__builtin_mul_overflow(capacity, growth_.factor, &capacity)) return kMaxCapacity;
    capacity = std::min(capacity, kMaxCapacity);
  }
  return capacity;
}

// Uses only products, which every machine rounds alike.
double ScalablePlan::TargetOf(uint32_t level) const {
  const double tightening = growth_.tightening;
  double target = target_fpp_ * (1 - tightening);
  for (; level > 0 && target > kMinTargetFpp; --level) target *= tightening;
  return std::max(target, kMinTargetFpp);
}

std::string LevelsProblem(std::string_view levels, size_t rows) {
  if (levels.size() != rows) return Concat("has ", rows, " rows and the levels of ", levels.size());
  uint8_t level = 0;
  for (size_t i = 0; i < rows; ++i) {
    const auto next = static_cast<uint8_t>(levels[i]);
    if (next != level && (i == 0 || next != level + 1))
      return Concat("has the level ", next, " at row ", i, ", after ", level);
    level = next;
  }
  return "";
}

}  // namespace bloom
