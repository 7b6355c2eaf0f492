#include "bloom/core/occupancy.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "bloom/core/shape.h"

namespace bloom {
namespace {

constexpr uint64_t kCellsByChain = uint64_t{1} << 20;

// Chances to get, in some number of throws, from i to j of the watched cells still empty; j <= i.
class Chain {
 public:
  // No throw.
  Chain() {
    for (size_t i = 0; i < kStates; ++i) to_[i][i] = 1;
  }
  // One throw.
  static Chain Step(double cells) {
    Chain chain;
    for (size_t i = 0; i < kStates; ++i) {
      const double hits = std::min(static_cast<double>(i) / cells, 1.0);
      chain.to_[i][i] = 1 - hits;
      if (i > 0) chain.to_[i][i - 1] = hits;
    }
    return chain;
  }
  static Chain Power(const Chain& step, double throws) {
    Chain result;
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
    Chain result;
    for (size_t i = 0; i < kStates; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (size_t via = j; via <= i; ++via) sum += to_[i][via] * next.to_[via][j];
        result.to_[i][j] = sum;
      }
    }
    return result;
  }

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
  const Chain chain = Chain::Power(Chain::Step(cells), throws);
  double sum = 0;
  double meet = std::pow(cells, -static_cast<double>(probes));  // of j given cells, in this order
  for (uint32_t j = 0; j <= probes; ++j) {
    sum += ways[j] * meet * chain.AllOccupied(j);
    meet *= std::max(cells - j, 0.0);
  }
  return std::min(sum, 1.0);
}

double ByMoments(double cells, uint32_t probes, double throws) {
  const double one_empty = std::exp(throws * std::log1p(-1 / cells));
  const double two_empty = std::exp(throws * std::log1p(-2 / cells));
  return MomentOfFill(cells, one_empty, two_empty, probes);
}

}  // namespace

double MomentOfFill(double cells, double one_empty, double two_empty, uint32_t probes) {
  const double mean = 1 - one_empty;
  const double variance = two_empty * (1 - 1 / cells) + one_empty / cells - one_empty * one_empty;
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

double OccupiedMoment(uint64_t cells, uint32_t probes, double throws) {
  if (cells == 0) return 1;
  const auto count = static_cast<double>(cells);
  return cells <= kCellsByChain ? ByChain(count, probes, throws) : ByMoments(count, probes, throws);
}

}  // namespace bloom
