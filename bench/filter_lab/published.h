// The (m/n, k) table as it was published, and the choice that ClickHouse makes by it: what the
// library's own are measured beside.
#ifndef TRELLIS_BENCH_FILTER_LAB_PUBLISHED_H_
#define TRELLIS_BENCH_FILTER_LAB_PUBLISHED_H_

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

// What ClickHouse makes of a target: the fewest bits of which some k meets it, with the fewest
// probes that still do.  It never looks at its last row, and takes (19, 13) for any target that it
// finds nothing for, without a word.
PublishedRate ClickHouseChoice(double target_fpp);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_PUBLISHED_H_
