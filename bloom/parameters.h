// Bits, probes and rates of the classic filter, for those who plan one by hand: every bad argument
// is an error that names it.  The least m with its best k for (n, e), which filters are sized by,
// is StandardShapeFor in sizing.h.
//
// n keys, m bits, k probes, c = m/n, e the false-positive probability.  Pure functions;
// thread-safe. In all of them InvalidArgument names the argument: a count of 0, probes outside of
// 1 to kMaxProbes, bits beyond kMaxSizeBits, an FPP that CheckTargetFpp refuses.
#ifndef TRELLIS_BLOOM_PARAMETERS_H_
#define TRELLIS_BLOOM_PARAMETERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"

namespace bloom::inline TRELLIS_ABI {

// The rate of one filter by three formulas, from the roughest to the true one.
struct StandardRates {
  double approximate = 0;  // (1 - e^(-kn/m))^k
  double classic = 0;      // (1 - (1 - 1/m)^(kn))^k (Bloom 1970)
  double exact = 0;        // E[(ones/m)^k] (Bose et al. 2008; Christensen et al. 2010)
};
absl::StatusOr<StandardRates> StandardRatesOf(uint64_t bits, uint32_t probes, uint64_t key_count);

// The whole k with the lowest classic rate for these bits and keys: one of the two beside
// (m/n) ln 2, within 1 to kMaxProbes.  Of equal ones the smaller, which asks less.
absl::StatusOr<uint32_t> BestProbesFor(uint64_t bits, uint64_t key_count);

// The k of the textbook, (m/n) ln 2, before it is rounded; and the rate there, 0.5^k, which is
// 0.6185^(m/n).  No whole k has a lower approximate rate, so this is what a table of whole k comes
// near to.
absl::StatusOr<double> RealProbesFor(uint64_t bits, uint64_t key_count);
absl::StatusOr<double> RateAtRealProbes(uint64_t bits, uint64_t key_count);

// How many keys a filter takes before its true rate, StandardFpp, is above the FPP; 0 if not even
// one.  The textbook's n = ln(1 - e^(1/k)) / (k ln(1 - 1/m)) comes from the classic rate and is too
// high in small filters: 576 bits with 20 probes take 19 keys at 10^-6, not 20.
absl::StatusOr<uint64_t> KeyCapacityOf(uint64_t bits, uint32_t probes, double target_fpp);

// The rate of a filter that was planned for n keys at the FPP and holds t times as many.
// InvalidArgument too unless t n lies in [0, 2^63).
absl::StatusOr<double> OverfilledFpp(uint64_t planned_key_count, double target_fpp, double times);

// --- the table of (m/n, k) ---

// Rates for whole bits a key and whole probes, (1 - e^(-k/c))^k, as P. Cao published them.
inline constexpr uint32_t kTableBitsMin = 2;
inline constexpr uint32_t kTableBitsMax = 20;
absl::StatusOr<double> RateInTable(uint32_t bits_per_key, uint32_t probes);

// A choice by that table, as ClickHouse means to make it: the fewest whole bits a key with which
// some k meets the FPP, then the fewest probes that still do.  Queries are cheaper and filters
// larger than with the best k.  It goes by rates of three digits, as they were published, so that
// the true one (`fpp`) may be above what was asked for by half a percent of it.  Where no row of
// the table meets the FPP (below 6.71 * 10^-5) it is InvalidArgument that says so, instead of the
// last row's rate for whatever was asked.  (ClickHouse does not see a row with which a single probe
// is enough, and spends 19 bits and 13 probes on a target of 0.23.)
struct TableChoice {
  uint32_t bits_per_key = 0;
  uint32_t probes = 0;
  double fpp = 0;

  friend bool operator==(const TableChoice&, const TableChoice&) = default;
};
absl::StatusOr<TableChoice> ChooseFromTable(double target_fpp);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_PARAMETERS_H_
