// How many keys a filter takes before its rate exceeds a target.
#ifndef TRELLIS_BLOOM_CORE_CAPACITY_H_
#define TRELLIS_BLOOM_CORE_CAPACITY_H_

#include <cstdint>

#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

// The largest n with rate_of(n) <= most_rate; 0 if rate_of(1) is already higher.  Takes about 2
// log2(n) calls.  REQUIRES: rate_of never falls as n grows.
//
// It searches because closed forms suffer from rounding, most of all for rates near 1.
template <class RateOf>
uint64_t MostKeysWithin(double most_rate, const RateOf& rate_of) {
  uint64_t most = 0, too_many = 1;
  while (rate_of(too_many) <= most_rate) {
    most = too_many;
    if (too_many > UINT64_MAX / 2) return most;
    too_many *= 2;
  }
  while (too_many - most > 1) {
    const uint64_t middle = most + (too_many - most) / 2;
    (rate_of(middle) <= most_rate ? most : too_many) = middle;
  }
  return most;
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_CAPACITY_H_
