#include "bloom/parameters.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "absl/status/status.h"
#include "bloom/core/capacity.h"
#include "bloom/core/concat.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

absl::Status CheckBits(uint64_t bits) {
  if (bits >= 1 && bits <= kMaxSizeBits) return absl::OkStatus();
  return absl::InvalidArgumentError(Concat("bits must lie in [1, 2^56], is ", bits));
}

absl::Status CheckProbes(uint32_t probes) {
  if (probes >= 1 && probes <= kMaxProbes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("probes must lie in [1, ", kMaxProbes, "], is ", probes));
}

absl::Status CheckKeyCount(uint64_t key_count) {
  if (key_count >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError("key_count must be at least 1");
}

absl::Status FirstError(std::initializer_list<absl::Status> statuses) {
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Rounds to three digits.
double Rounded(double rate) {
  const double unit = std::pow(10.0, std::floor(std::log10(rate)) - 2);
  return std::round(rate / unit) * unit;
}

double TableRate(uint32_t bits_per_key, uint32_t probes) {
  return std::pow(-std::expm1(-static_cast<double>(probes) / bits_per_key), probes);
}

}  // namespace

absl::StatusOr<StandardRates> StandardRatesOf(uint64_t bits, uint32_t probes, uint64_t key_count) {
  TRELLIS_RETURN_IF_ERROR(
      FirstError({CheckBits(bits), CheckProbes(probes), CheckKeyCount(key_count)}));
  const double throws = static_cast<double>(probes) * static_cast<double>(key_count);
  return StandardRates{
      .approximate = std::pow(-std::expm1(-throws / static_cast<double>(bits)), probes),
      .classic = ClassicFpp(bits, probes, key_count),
      .exact = StandardFpp(bits, probes, key_count)};
}

absl::StatusOr<uint32_t> BestProbesFor(uint64_t bits, uint64_t key_count) {
  TRELLIS_ASSIGN_OR_RETURN(const double best, RealProbesFor(bits, key_count));
  const auto low = static_cast<uint32_t>(std::clamp<double>(std::floor(best), 1, kMaxProbes));
  const uint32_t high = std::min(low + 1, kMaxProbes);
  return ClassicFpp(bits, high, key_count) < ClassicFpp(bits, low, key_count) ? high : low;
}

absl::StatusOr<double> RealProbesFor(uint64_t bits, uint64_t key_count) {
  TRELLIS_RETURN_IF_ERROR(FirstError({CheckBits(bits), CheckKeyCount(key_count)}));
  return static_cast<double>(bits) / static_cast<double>(key_count) * std::log(2.0);
}

absl::StatusOr<double> RateAtRealProbes(uint64_t bits, uint64_t key_count) {
  TRELLIS_ASSIGN_OR_RETURN(const double probes, RealProbesFor(bits, key_count));
  return std::exp2(-probes);
}

absl::StatusOr<uint64_t> KeyCapacityOf(uint64_t bits, uint32_t probes, double target_fpp) {
  TRELLIS_RETURN_IF_ERROR(
      FirstError({CheckBits(bits), CheckProbes(probes), CheckTargetFpp(target_fpp)}));
  if (bits == 1) return uint64_t{0};  // one key fills it
  // The exact rate is never below the classic one, but near 1 rounding may make its sum smaller.
  return MostKeysWithin(target_fpp, [&](uint64_t keys) {
    return std::max(StandardFpp(bits, probes, keys), ClassicFpp(bits, probes, keys));
  });
}

absl::StatusOr<double> OverfilledFpp(uint64_t planned_key_count, double target_fpp, double times) {
  if (planned_key_count == 0)
    return absl::InvalidArgumentError("planned_key_count must be at least 1");
  TRELLIS_ASSIGN_OR_RETURN(const Shape shape, StandardShapeFor(planned_key_count, target_fpp));
  const double keys = times * static_cast<double>(planned_key_count);
  if (!(keys >= 0 && keys < 0x1p63)) {
    return absl::InvalidArgumentError(
        Concat("times must make a number of keys from 0 to 2^63, is ", times));
  }
  return StandardFpp(shape.size, shape.probes, static_cast<uint64_t>(std::round(keys)));
}

absl::StatusOr<double> RateInTable(uint32_t bits_per_key, uint32_t probes) {
  if (bits_per_key < kTableBitsMin || bits_per_key > kTableBitsMax) {
    return absl::InvalidArgumentError(Concat("bits_per_key must lie in [", kTableBitsMin, ", ",
                                             kTableBitsMax, "], is ", bits_per_key));
  }
  TRELLIS_RETURN_IF_ERROR(CheckProbes(probes));
  return TableRate(bits_per_key, probes);
}

absl::StatusOr<TableChoice> ChooseFromTable(double target_fpp) {
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  for (uint32_t bits = kTableBitsMin; bits <= kTableBitsMax; ++bits) {
    // Tries fewer probes first.  Beyond the best number the rates only rise.
    for (uint32_t probes = 1; probes <= bits; ++probes) {
      const double fpp = TableRate(bits, probes);
      // A rate that rounds to the target may differ from it in the last bit.
      if (Rounded(fpp) <= target_fpp * (1 + 1e-12)) return TableChoice{bits, probes, fpp};
    }
  }
  return absl::InvalidArgumentError(Concat("target_fpp ", target_fpp,
                                           " is below all rates of the table, which ends with ",
                                           kTableBitsMax, " bits a key"));
}

}  // namespace bloom
