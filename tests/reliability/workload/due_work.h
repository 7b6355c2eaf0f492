// Background work ends, and leaves no drop of a table that no reader needs, and nothing that the
// rule for tombstones makes due.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_DUE_WORK_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_DUE_WORK_H_

#include <string>
#include <vector>

#include "lsm/base/internal_key.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "lsm/options.h"
#include "tests/reliability/workload/actions.h"

namespace reliability {

struct RunningStore {
  lsm::DB* db;
  lsm::MemoryFileSystem* files;
  std::string path;
  const lsm::Options* options;
  std::vector<lsm::Sequence> snapshots;  // ascending
  bool is_alone;                         // one thread uses it, which also runs its jobs
};

// Lets some days pass, or none, and waits for background work.  Returns what is wrong, or an empty
// string.  REQUIRES: the store's clock is a ManualClock, and its disk is not full.
std::string ProblemOfBackgroundWork(const RunningStore& store, Draws& draws);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_DUE_WORK_H_
