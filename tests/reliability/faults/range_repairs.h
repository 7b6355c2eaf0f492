// Repairs of stores with range deletes, against a plain list of the writes.  The newest write of
// each key that could be saved must decide, whatever was damaged: blocks, range deletes, manifest,
// levels or numbers.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_RANGE_REPAIRS_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_RANGE_REPAIRS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct RangeRepairsReport {
  uint64_t repairs = 0;
  uint64_t ranges = 0;   // range deletes in these stores
  uint64_t lost = 0;     // stores that had lost some
  uint64_t answers = 0;  // that were compared
  std::string finding;
};

// `amount` repairs, in trials with this seed and the following ones.
RangeRepairsReport RepairRanges(uint64_t seed, uint64_t amount);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_RANGE_REPAIRS_H_
