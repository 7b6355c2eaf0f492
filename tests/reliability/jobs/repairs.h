// Repairs stores with all the damage that the job `damage` does, and forged stores (forgeries.h).
// Afterwards the store must open, verify and take writes, and it must hold all data that could be
// verified.  Otherwise the repair must have returned an error and changed nothing.  A third of the
// stores have keyspaces: each must have the name, id, options and place that the files state.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_REPAIRS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_REPAIRS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct RepairsReport {
  uint64_t repairs = 0;
  uint64_t forged = 0;     // repairs of forged stores
  uint64_t refused = 0;    // repairs that returned an error and changed nothing
  uint64_t keyspaces = 0;  // in repaired stores
  uint64_t whole = 0;      // repairs after which the store held all its data
  std::string finding;
};

// Repairs the specimen of this seed after all forgeries, and after about one in `one_in` damages.
RepairsReport RepairDamages(uint64_t seed, uint64_t one_in);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_REPAIRS_H_
