// The published (m/n, k) table, and ClickHouse's choice from it, for comparison with the library's
// own.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_PUBLISHED_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_PUBLISHED_H_

#include <cstdint>
#include <vector>

namespace bench {

// Rates by P. Cao, to three digits, as far as ClickHouse adopted them: rows of 2 to 20 bits per
// key, each up to its best number of probes, rounded up.
struct PublishedRate {
  uint32_t bits_per_key = 0;
  uint32_t probes = 0;
  double fpp = 0;
};
std::vector<PublishedRate> PublishedTable();

// ClickHouse up to 21.12 (kUnclamped), and later versions, which take 2 bits and 2 probes for
// targets of 0.283 and more.
enum class ClickHouse : uint8_t { kUnclamped, kClamped };

// ClickHouse's choice for a target: the fewest bits for which some k meets the target, with the
// fewest probes that do.  Its algorithm has three quirks:
//
// - It looks for the most probes that miss the target and adds one.  If a single probe meets the
//   target it finds none and goes to the next row.  This happens for targets between 0.221 and
//   0.237, and without the clamp from 0.283 on.
// - It never looks at its last row.
// - If it finds nothing, it silently takes (19, 13).
PublishedRate ClickHouseChoice(double target_fpp, ClickHouse version = ClickHouse::kClamped);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_PUBLISHED_H_
