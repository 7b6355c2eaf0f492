// Bits, probes and rates of the classic Bloom filter, for planning one by hand.  StandardShapeFor
// in bloom/core/sizing.h computes the least m for (n, e), with its best k; filters are sized by
// that.
//
// n keys, m bits, k probes, c = m/n, e the false-positive probability.  Pure functions,
// thread-safe.  A bad argument returns InvalidArgument, which names it: a count of 0, probes
// outside of 1 to kMaxProbes, bits beyond kMaxSizeBits, an FPP that CheckTargetFpp refuses.
#ifndef TRELLIS_BLOOM_PARAMETERS_H_
#define TRELLIS_BLOOM_PARAMETERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"

namespace bloom::inline TRELLIS_ABI {

// The rate of one filter by three formulas, from the roughest to the exact one.
struct StandardRates {
  double approximate = 0;  // (1 - e^(-kn/m))^k
  double classic = 0;      // (1 - (1 - 1/m)^(kn))^k (Bloom 1970)
  double exact = 0;        // E[(ones/m)^k] (Bose et al. 2008; Christensen et al. 2010)
};
TRELLIS_API absl::StatusOr<StandardRates> StandardRatesOf(uint64_t bits, uint32_t probes,
                                                          uint64_t key_count);

// The whole k with the lowest classic rate for these bits and keys: one of the two next to (m/n) ln
// 2, within 1 to kMaxProbes.  If both are equal, the smaller, which is faster.
TRELLIS_API absl::StatusOr<uint32_t> BestProbesFor(uint64_t bits, uint64_t key_count);

// The real k of the textbook, (m/n) ln 2; and the rate there, 0.5^k = 0.6185^(m/n).  No whole k has
// a lower approximate rate, so this is the limit of a table of whole k.
TRELLIS_API absl::StatusOr<double> RealProbesFor(uint64_t bits, uint64_t key_count);
TRELLIS_API absl::StatusOr<double> RateAtRealProbes(uint64_t bits, uint64_t key_count);

// How many keys a filter takes before its exact rate, StandardFpp, exceeds the FPP; 0 if not even
// one.  (The textbook's n = ln(1 - e^(1/k)) / (k ln(1 - 1/m)) comes from the classic rate and is
// too high in small filters: 576 bits with 20 probes take 19 keys at 10^-6, not 20.)
TRELLIS_API absl::StatusOr<uint64_t> KeyCapacityOf(uint64_t bits, uint32_t probes,
                                                   double target_fpp);

// The rate of a filter that was planned for n keys at the FPP and holds t times as many.
// InvalidArgument also unless t n is in [0, 2^63).
TRELLIS_API absl::StatusOr<double> OverfilledFpp(uint64_t planned_key_count, double target_fpp,
                                                 double times);

// --- the table of (m/n, k) ---

// Rates for whole bits/key and whole probes, (1 - e^(-k/c))^k, as Cao published them.
inline constexpr uint32_t kTableBitsMin = 2;
inline constexpr uint32_t kTableBitsMax = 20;
TRELLIS_API absl::StatusOr<double> RateInTable(uint32_t bits_per_key, uint32_t probes);

// A choice by that table, as ClickHouse intends it: the fewest whole bits/key for which some k
// meets the FPP, then the fewest probes that still do.  Queries are cheaper, and filters larger,
// than with the best k.
//
// The published rates have three digits, so the exact one (`fpp`) may exceed the requested FPP by
// half a percent of it.  If no row of the table meets the FPP (below 6.71 * 10^-5), returns
// InvalidArgument.  (ClickHouse returns the last row instead.  It also overlooks a row for which
// one probe suffices, and spends 19 bits and 13 probes on a target of 0.23.)
struct TableChoice {
  uint32_t bits_per_key = 0;
  uint32_t probes = 0;
  double fpp = 0;

  friend bool operator==(const TableChoice&, const TableChoice&) = default;
};
TRELLIS_API absl::StatusOr<TableChoice> ChooseFromTable(double target_fpp);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_PARAMETERS_H_
