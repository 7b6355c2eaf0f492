// Repairs of everything that the job `damage` does to stores, and of forged stores (forgeries.h).
// Afterwards the store opens, verifies and takes writes, and what could be verified is there; or
// the repair returned an error and changed nothing.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_REPAIRS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_REPAIRS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct RepairsReport {
  uint64_t repairs = 0;
  uint64_t forged = 0;   // of stores with right checksums
  uint64_t refused = 0;  // an error, and nothing was changed
  uint64_t whole = 0;    // the store holds all that it held before it was damaged
  std::string finding;
};

// Repairs the specimen of this seed after all forgeries, and after about one in `one_in` damages.
RepairsReport RepairDamages(uint64_t seed, uint64_t one_in);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_REPAIRS_H_
