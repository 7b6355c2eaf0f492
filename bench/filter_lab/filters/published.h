// The (m/n, k) table as it was published, and the choice that ClickHouse makes by it: what the
// library's own are measured beside.
#ifndef TRELLIS_BENCH_FILTER_LAB_FILTERS_PUBLISHED_H_
#define TRELLIS_BENCH_FILTER_LAB_FILTERS_PUBLISHED_H_

#include <cstdint>
#include <vector>

namespace bench {

// Rates by P. Cao, to three digits, as far as ClickHouse took them over: rows of 2 to 20 bits a
// key, each up to the number of probes that is best for it, rounded up.
struct PublishedRate {
  uint32_t bits_per_key = 0;
  uint32_t probes = 0;
  double fpp = 0;
};
std::vector<PublishedRate> PublishedTable();

// ClickHouse before (21.12 is such a version) and since it takes 2 bits and 2 probes for targets of
// 0.283 and more.
enum class ClickHouse : uint8_t { kUnclamped, kClamped };

// What ClickHouse makes of a target: the fewest bits of which some k meets it, with the fewest
// probes that still do.  It looks for the most probes that do not, to take one more: where one
// probe meets the target, it finds none, and goes on to the next row.  So it does between 0.221 and
// 0.237, where all rows are such that have a rate as low, and without the clamp from 0.283 on.  It
// never looks at its last row.  For any target that it finds nothing for it takes (19, 13), without
// a word.
PublishedRate ClickHouseChoice(double target_fpp, ClickHouse version = ClickHouse::kClamped);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_FILTERS_PUBLISHED_H_
