// Balls into cells: what the exact false-positive rates are made of.
//
// F is the share of cells that are occupied after some number of throws, each of them uniform.  A
// query of k probes passes with E[F^k], which is more than E[F]^k because F varies.  Pure
// functions; thread-safe.
#ifndef TRELLIS_BLOOM_CORE_OCCUPANCY_H_
#define TRELLIS_BLOOM_CORE_OCCUPANCY_H_

#include <cstdint>

namespace bloom {

// E[F^k] from F's mean and variance, with its higher moments those of a normal distribution:
// sum over j of C(k, 2j) (2j - 1)!! mean^(k - 2j) variance^j.
double MomentOfFill(double mean, double variance, uint32_t probes);

// E[F^k] for `cells` cells after `throws` throws, without any assumption:
//
//     sum over j of S(k, j) * cells! / (cells - j)! / cells^k * P(j given cells are all occupied)
//
// where S(k, j), Stirling's numbers of the second kind, count the ways in which k probes meet j
// different cells.  P is taken from powers of the chain "how many of the j are still empty", so
// that no term is negative and nothing cancels.  Where both cells and throws are beyond 2^20, by
// mean and variance, which are exact; what that leaves out is below 10^-7 of the result.  1 where
// there is no cell.
// REQUIRES: probes <= kMaxProbes.
double OccupiedMoment(uint64_t cells, uint32_t probes, double throws);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_OCCUPANCY_H_
