#include "bloom/core/occupancy.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// Most cells or throws for the chain, where each throw adds a rounding error.
constexpr double kMostByChain = 1 << 20;

// Probabilities that a number of throws takes the number of watched empty cells from i to j <= i.
class Chain {
 public:
  // No throw; at most `watched` watched cells.
  explicit Chain(size_t watched) : watched_(watched) {
    for (size_t i = 0; i <= watched; ++i) to_[i][i] = 1;
  }
  // One throw.
  static Chain Step(double cells, size_t watched) {
    Chain chain(watched);
    for (size_t i = 0; i <= watched; ++i) {
      const double hits = std::min(static_cast<double>(i) / cells, 1.0);
      chain.to_[i][i] = 1 - hits;
      if (i > 0) chain.to_[i][i - 1] = hits;
    }
    return chain;
  }
  static Chain Power(const Chain& step, double throws) {
    Chain result(step.watched_);
    Chain square = step;
    for (double left = throws; left >= 1; left = std::floor(left / 2)) {
      if (std::fmod(left, 2) >= 1) result = result.Then(square);
      square = square.Then(square);
    }
    return result;
  }

  double AllOccupied(size_t watched) const { return to_[watched][0]; }

 private:
  static constexpr size_t kStates = kMaxProbes + 1;

  Chain Then(const Chain& next) const {
    Chain result(watched_);
    for (size_t i = 0; i <= watched_; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = 0;
        // Not `via <= i`: GCC 14 then warns, wrongly, of an access past the end.
        for (size_t via = j; via < i + 1; ++via) sum += to_[i][via] * next.to_[via][j];
        result.to_[i][j] = sum;
      }
    }
    return result;
  }

  size_t watched_;
  std::array<std::array<double, kStates>, kStates> to_{};
};

// S(probes, j) for all j.
std::array<double, kMaxProbes + 1> StirlingNumbers(uint32_t probes) {
  std::array<double, kMaxProbes + 1> row{};
  row[0] = 1;
  for (uint32_t k = 1; k <= probes; ++k) {
    for (uint32_t j = k; j > 0; --j) row[j] = j * row[j] + row[j - 1];
    row[0] = 0;
  }
  return row;
}

double ByChain(double cells, uint32_t probes, double throws) {
  const std::array<double, kMaxProbes + 1> ways = StirlingNumbers(probes);
  const Chain chain = Chain::Power(Chain::Step(cells, probes), throws);
  double sum = 0;
  double all_differ = 1;  // probability that j random cells are all different
  for (uint32_t j = 0; j <= probes; ++j) {
    const double meet = all_differ * std::pow(cells, static_cast<double>(j) - probes);
    sum += ways[j] * meet * chain.AllOccupied(j);
    all_differ *= std::max(1 - j / cells, 0.0);
  }
  return std::min(sum, 1.0);
}

double ByMoments(double cells, uint32_t probes, double throws) {
  const Occupancy occupied = OccupancyAfter(cells, throws);
  return MomentOfFill(occupied.mean / cells, occupied.variance / (cells * cells), probes);
}

}  // namespace

double MomentOfFill(double mean, double variance, uint32_t probes) {
  if (mean <= 0) return 0;
  const double ratio = std::max(variance, 0.0) / (mean * mean);
  const double k = probes;
  double term = std::pow(mean, k);
  double sum = term;
  for (double j = 0; 2 * j + 2 <= k; ++j) {
    term *= (k - 2 * j) * (k - 2 * j - 1) / (2 * (j + 1)) * ratio;
    sum += term;
    if (term < 1e-9 * sum) break;
  }
  return std::min(sum, 1.0);
}

Occupancy OccupancyAfter(double cells, double throws) {
  if (throws <= 0) return {};
  if (cells <= 1) return {cells, 0};
  // With a and b the probabilities that one given cell, and two given cells, are empty, the
  // variance of the share is (b - a^2) + (a - b) / cells.  Both differences are computed from the
  // logarithms of b / a^2 and b / a.
  const double log_empty = throws * std::log1p(-1 / cells);
  const double one_empty = std::exp(log_empty);
  const double others = cells - 1;
  const double variance =
      one_empty * one_empty * std::expm1(throws * std::log1p(-1 / (others * others))) -
      one_empty / cells * std::expm1(throws * std::log1p(-1 / others));
  return {-cells * std::expm1(log_empty), variance * cells * cells};
}

double MomentOfCount(double cells, double mean, double variance, uint32_t k) {
  if (mean <= 0) return 0;
  const std::array<double, kMaxProbes + 1> ways = StirlingNumbers(k);
  const double excess = variance / mean - 1;
  double sum = 0;
  double factorial_moment = std::pow(cells, -static_cast<double>(k));
  for (uint32_t j = 0; j <= k; ++j) {
    sum += ways[j] * factorial_moment;
    factorial_moment *= std::max(mean + j * excess, 0.0);
  }
  return std::min(sum, 1.0);
}

double OccupiedMoment(uint64_t cells, uint32_t probes, double throws) {
  if (cells == 0) return 1;
  const auto count = static_cast<double>(cells);
  return std::min(count, throws) <= kMostByChain ? ByChain(count, probes, throws)
                                                 : ByMoments(count, probes, throws);
}

}  // namespace bloom
