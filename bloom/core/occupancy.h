// The occupancy problem (balls into cells), from which the exact false-positive rates follow.
//
// F is the share of occupied cells after some number of uniform throws.  A query of k probes passes
// with probability E[F^k].  That is more than E[F]^k, because F varies.  Pure functions;
// thread-safe.
#ifndef TRELLIS_BLOOM_CORE_OCCUPANCY_H_
#define TRELLIS_BLOOM_CORE_OCCUPANCY_H_

#include <cmath>
#include <cstdint>

#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

// E[F^k] from mean and variance of F, with the higher moments of a normal distribution: sum over j
// of C(k, 2j) (2j - 1)!! mean^(k - 2j) variance^j.
double MomentOfFill(double mean, double variance, uint32_t probes);

// E[F^k] for `cells` cells after `throws` throws, exactly:
//
//     sum over j of S(k, j) * cells! / (cells - j)! / cells^k * P(j given cells are all occupied)
//
// S(k, j), Stirling's numbers of the second kind, counts the ways in which k probes meet j
// different cells.  P is computed by powers of the Markov chain "how many of the j are still
// empty", so no term is negative and nothing cancels.  If both cells and throws exceed 2^20, the
// moments follow from mean and variance, which are exact; the error is below 10^-7 of the result.
// 1 if there are no cells. REQUIRES: probes <= kMaxProbes.
double OccupiedMoment(uint64_t cells, uint32_t probes, double throws);

// Number of occupied cells after `throws` throws: exact mean and variance.
struct Occupancy {
  double mean = 0;
  double variance = 0;
};
Occupancy OccupancyAfter(double cells, double throws);

// E[S^k] / cells^k for a random whole number S of cells, from its mean and variance.  S may be
// small, even below 1, so a normal distribution does not fit.  Instead its factorial moments are
// assumed to be those of the binomial, Poisson and negative binomial distributions.  These form
// Panjer's class (a, b, 0) (Panjer 1981, "Recursive evaluation of a family of compound
// distributions", ASTIN Bulletin 12).  Sundt and Jewell 1981 show that it has no others.  With t =
// variance / mean - 1:
//
//     E[S (S - 1) ... (S - j + 1)] = mean (mean + t) ... (mean + (j - 1) t)
//     E[S^k] = sum over j of S(k, j) times that,   S(k, j) as above
//
// Exact for k <= 2.
// REQUIRES: k <= kMaxProbes.
double MomentOfCount(double cells, double mean, double variance, uint32_t k);

// E[f(X)] for X ~ Binomial(n, p), with 0 <= f <= 1. make_term(x) returns a term that can step from
// one x to the next: Fpp() is f(x), Up() and Down() change x by one.  REQUIRES: 0 < p < 1, n > 0.
template <class MakeTerm>
double MeanOverBinomial(uint64_t trials, double p, const MakeTerm& make_term) {
  const auto n = static_cast<double>(trials);
  // Weights are relative to that of the mode; dividing by their sum normalises them.
  const double mode = std::floor((n + 1) * p);
  const double odds = p / (1 - p);
  double weights = 0;
  double sum = 0;
  auto term = make_term(mode);
  double weight = 1;
  for (double x = mode; x <= n; ++x) {
    weights += weight;
    sum += weight * term.Fpp();
    if (weight < 1e-9 * sum) break;  // Fpp <= 1 and the weights fall geometrically from here
    weight *= (n - x) / (x + 1) * odds;
    term.Up();
  }
  term = make_term(mode);
  weight = 1;
  for (double x = mode; x > 0; --x) {
    weight *= x / ((n - x + 1) * odds);
    term.Down();
    weights += weight;
    sum += weight * term.Fpp();
    if (weight < 1e-12) break;
  }
  return sum / weights;
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_OCCUPANCY_H_
