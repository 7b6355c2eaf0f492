#include "bloom/core/sizing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bloom/core/concat.h"
#include "bloom/core/occupancy.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr double kLine = kLineBits;

absl::Status CheckRequest(uint64_t key_count, double target_fpp) {
  if (key_count == 0) {
    return absl::InvalidArgumentError("key_count must be at least 1");
  }
  return CheckTargetFpp(target_fpp);
}

// The bits for which the classic formula meets a target; at least kMinStandardBits.
double ClassicBitsFor(uint64_t key_count, double target_fpp, uint32_t probes) {
  // ln(1 - e^(1/k)), accurate also for targets near 1.
  const double log_zero = std::log(-std::expm1(std::log(target_fpp) / probes));
  const double throws = static_cast<double>(probes) * static_cast<double>(key_count);
  return std::max<double>(kMinStandardBits, std::ceil(-1 / std::expm1(log_zero / throws)));
}

// The least number from `low` on that passes, which is near `low`.  REQUIRES: all larger ones pass.
template <class Passes>
uint64_t FewestFrom(uint64_t low, const Passes& passes) {
  if (passes(low)) return low;
  uint64_t step = 1;
  while (!passes(low + step)) low += step, step *= 2;
  uint64_t high = low + step;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (passes(middle) ? high : low) = middle;
  }
  return high;
}

// The probability that k random positions of a line are all ones, stepped from one number of keys
// in the line to the next.
class LineFill {
 public:
  LineFill(uint32_t probes, double keys)
      : probes_(probes),
        one_step_(std::exp(probes * std::log1p(-1 / kLine))),
        two_step_(std::exp(probes * std::log1p(-2 / kLine))),
        one_zero_(std::pow(one_step_, keys)),
        two_zero_(std::pow(two_step_, keys)) {}

  void Up() {
    one_zero_ *= one_step_;
    two_zero_ *= two_step_;
  }
  void Down() {
    one_zero_ /= one_step_;
    two_zero_ /= two_step_;
  }
  double Fpp() const {
    const double variance = two_zero_ * (1 - 1 / kLine) + one_zero_ / kLine - one_zero_ * one_zero_;
    return MomentOfFill(1 - one_zero_, variance, probes_);
  }

 private:
  uint32_t probes_;
  double one_step_;  // probability that a key leaves a given bit unset
  double two_step_;  // two given bits
  double one_zero_;  // probability that a given bit is still zero
  double two_zero_;  // two given bits
};

// As LineFill, for keys that set one of 32 bits in each of eight words.
class WordsFill {
 public:
  explicit WordsFill(double keys) : keys_(keys), zero_(std::pow(kStep, keys)) {}

  void Up() {
    ++keys_;
    zero_ *= kStep;
  }
  void Down() {
    --keys_;
    zero_ /= kStep;
  }
  double Fpp() const {
    return std::min(std::pow(1 - zero_, kSplitBlockWords) + keys_ * kEqualWords, 1.0);
  }

 private:
  static constexpr double kStep = 1 - 1.0 / kSplitBlockWordBits;
  static constexpr double kEqualWords = 0x1p-32;  // probability that two keys have the same 32 bits

  double keys_;
  double zero_;  // probability that a given bit is still zero
};

// Smallest number of lines with fpp_of(lines, probes) <= target.  Searches between a failing and a
// passing number by false position in log-log scale, where the curve is nearly straight.
class LineSearch {
 public:
  using FppOf = double (*)(uint64_t lines, uint32_t probes, uint64_t key_count);

  LineSearch(FppOf fpp_of, uint64_t key_count, double target_fpp)
      : fpp_of_(fpp_of), key_count_(key_count), target_fpp_(target_fpp) {}

  bool Passes(uint64_t lines, uint32_t probes) const {
    return fpp_of_(lines, probes, key_count_) <= target_fpp_;
  }

  // Returns more than a filter may have if it would need that many.
  uint64_t Fewest(uint32_t probes, uint64_t guess) const {
    Point fails, passes;
    Point point = At(guess, probes);
    for (double step = 1.03;; step *= step) {  // bracket
      (point.excess > 0 ? fails : passes) = point;
      if (fails.lines != 0 && passes.lines != 0) break;
      if (point.excess <= 0 && point.lines == 1) return 1;
      const double next = static_cast<double>(point.lines) * (point.excess > 0 ? step : 1 / step);
      if (next >= kTooManyLines) return static_cast<uint64_t>(kTooManyLines);
      const uint64_t lines = static_cast<uint64_t>(next) + (point.excess > 0 ? 1 : 0);
      point = At(std::max<uint64_t>(lines, 1), probes);
    }
    while (passes.lines - fails.lines > 1 + passes.lines / 100000) {
      point = At(Between(fails, passes), probes);
      Point& same = point.excess > 0 ? fails : passes;
      Point& other = point.excess > 0 ? passes : fails;
      same = point;
      other.excess /= 2;  // Illinois rule: an end that does not move counts half each time
    }
    return passes.lines;
  }

 private:
  static constexpr double kTooManyLines = 0x1p56;

  struct Point {
    uint64_t lines = 0;
    double excess = 0;  // ln(FPP / target): positive fails
  };

  Point At(uint64_t lines, uint32_t probes) const {
    return {lines, std::log(fpp_of_(lines, probes, key_count_) / target_fpp_)};
  }

  static uint64_t Between(const Point& fails, const Point& passes) {
    const double low = std::log(static_cast<double>(fails.lines));
    const double high = std::log(static_cast<double>(passes.lines));
    const double slope = fails.excess - passes.excess;
    const double share = slope > 0 ? fails.excess / slope : 0.5;
    const auto lines = static_cast<uint64_t>(std::exp(low + share * (high - low)));
    return std::clamp(lines, fails.lines + 1, passes.lines - 1);
  }

  FppOf fpp_of_;
  uint64_t key_count_;
  double target_fpp_;
};

}  // namespace

absl::Status CheckTargetFpp(double target_fpp) {
  if (target_fpp >= kMinTargetFpp && target_fpp < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("target_fpp must lie in [", kMinTargetFpp, ", 1), is ", target_fpp));
}

absl::Status TooLarge(uint64_t key_count, double rate, std::string_view rate_name) {
  return absl::InvalidArgumentError(
      Concat("key_count ", key_count, " at ", rate_name, " ", rate,
             " needs more than the 2^56 bits that a filter may have"));
}

double ClassicFpp(uint64_t bits, uint32_t probes, uint64_t key_count) {
  if (bits == 0) return 1;
  if (key_count == 0) return 0;
  const double throws = static_cast<double>(probes) * static_cast<double>(key_count);
  const double ones = -std::expm1(throws * std::log1p(-1 / static_cast<double>(bits)));
  return std::pow(ones, probes);
}

double StandardFpp(uint64_t bits, uint32_t probes, uint64_t key_count) {
  return OccupiedMoment(bits, probes, static_cast<double>(probes) * static_cast<double>(key_count));
}

absl::StatusOr<Shape> StandardShapeFor(uint64_t key_count, double target_fpp) {
  TRELLIS_RETURN_IF_ERROR(CheckRequest(key_count, target_fpp));
  constexpr auto kMost = static_cast<double>(kMaxSizeBits);
  std::array<double, kMaxProbes + 1> classic;  // bits by probes: never more than are needed
  classic[0] = HUGE_VAL;
  for (uint32_t probes = 1; probes <= kMaxProbes; ++probes)
    classic[probes] = ClassicBitsFor(key_count, target_fpp, probes);
  const auto least = std::min_element(classic.begin(), classic.end());
  if (!(*least <= kMost)) return TooLarge(key_count, target_fpp);
  const auto fewest = [&](uint32_t probes) {
    return FewestFrom(static_cast<uint64_t>(classic[probes]), [&](uint64_t bits) {
      return StandardFpp(bits, probes, key_count) <= target_fpp;
    });
  };
  Shape best{0, static_cast<uint32_t>(least - classic.begin())};
  best.size = fewest(best.probes);
  for (uint32_t probes = 1; probes <= kMaxProbes; ++probes) {
    // The classic formula is a lower bound.
    const bool fewer_probes = probes < best.probes;
    const uint64_t most_bits = best.size - (fewer_probes ? 0 : 1);
    if (probes == best.probes || classic[probes] > static_cast<double>(most_bits)) continue;
    if (StandardFpp(most_bits, probes, key_count) <= target_fpp) best = {fewest(probes), probes};
  }
  if (best.size > kMaxSizeBits) return TooLarge(key_count, target_fpp);
  return best;
}

double BlockedFpp(uint64_t lines, uint32_t probes, uint64_t key_count) {
  if (lines == 0) return 1;
  if (key_count == 0) return 0;
  const double n = static_cast<double>(key_count);
  if (lines == 1) return LineFill(probes, n).Fpp();
  const double p = 1 / static_cast<double>(lines);
  if (n * p * probes > 64 * kLine) return 1;  // every line is full, even one with few keys
  return MeanOverBinomial(key_count, p, [probes](double keys) { return LineFill(probes, keys); });
}

absl::StatusOr<Shape> BlockedShapeFor(uint64_t key_count, double target_fpp) {
  TRELLIS_ASSIGN_OR_RETURN(Shape classic, StandardShapeFor(key_count, target_fpp));
  const LineSearch search(&BlockedFpp, key_count, target_fpp);
  // Uneven lines need more bits than the classic filter, but at most its probes, log2(1 / e).
  const auto most_probes = std::min(static_cast<uint32_t>(-std::log2(target_fpp)) + 1, kMaxProbes);
  const uint64_t guess = classic.size / kLineBits + classic.size / (16 * kLineBits) + 1;
  Shape best;
  best.probes = std::max(most_probes - most_probes / 4, 1u);
  best.size = search.Fewest(best.probes, guess);
  for (uint32_t probes = 1; probes <= most_probes && best.size > 1; ++probes) {
    if (search.Passes(best.size - 1, probes)) best = {search.Fewest(probes, best.size - 1), probes};
  }
  while (best.probes > 1 && search.Passes(best.size, best.probes - 1)) --best.probes;
  if (best.size > kMaxSizeBits / kLineBits) return TooLarge(key_count, target_fpp);
  return best;
}

double SplitBlockFpp(uint64_t lines, uint64_t key_count) {
  if (lines == 0) return 1;
  if (key_count == 0) return 0;
  const auto fill_of = [](double keys) { return WordsFill(keys); };
  const auto n = static_cast<double>(key_count);
  if (lines == 1) return fill_of(n).Fpp();
  if (n / static_cast<double>(lines) > 64 * kSplitBlockWordBits) return 1;
  return MeanOverBinomial(key_count, 1 / static_cast<double>(lines), fill_of);
}

absl::StatusOr<Shape> SplitBlockShapeFor(uint64_t key_count, double target_fpp) {
  TRELLIS_ASSIGN_OR_RETURN(const Shape classic, StandardShapeFor(key_count, target_fpp));
  constexpr double kLineOfWords = kSplitBlockWords * kSplitBlockWordBits;
  const auto fpp_of = [](uint64_t lines, uint32_t, uint64_t keys) {
    return SplitBlockFpp(lines, keys);
  };
  const double guess = static_cast<double>(classic.size) / kLineOfWords * 1.1;
  const Shape shape{LineSearch(fpp_of, key_count, target_fpp)
                        .Fewest(kSplitBlockWords, static_cast<uint64_t>(guess) + 1),
                    kSplitBlockWords};
  if (shape.size <= kMaxSplitBlockLines) return shape;
  return absl::InvalidArgumentError(
      Concat("key_count ", key_count, " at target_fpp ", target_fpp, " needs ", shape.size,
             " lines, a split-block filter can have ", kMaxSplitBlockLines));
}

double StandardKeyCountFromFill(uint64_t bits, uint32_t probes, double fill) {
  if (bits == 0 || probes == 0) return 0;
  if (fill >= 1) return HUGE_VAL;  // also for a single bit, where the quotient is undefined
  return std::log1p(-fill) / (probes * std::log1p(-1 / static_cast<double>(bits)));
}

double BlockedKeyCountFromFill(uint64_t lines, uint32_t probes, double fill) {
  if (lines == 0 || probes == 0) return 0;
  if (fill >= 1) return HUGE_VAL;
  const double set_by_key = -std::expm1(probes * std::log1p(-1 / kLine));
  return std::log1p(-fill) / std::log1p(-set_by_key / static_cast<double>(lines));
}

}  // namespace bloom
