// Counts of the reads and writes of one tree since the opening, and the sum that its readers have
// paid for merging its level 0 (lsm/compaction/level0_account.h).  All versions of a tree share it.
// It lives as long as any of them, so a reader of an older version counts safely.
#ifndef TRELLIS_LSM_VERSION_TREE_READS_H_
#define TRELLIS_LSM_VERSION_TREE_READS_H_

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// The reads that level 0 wasted, each counted once per table.
struct Level0Reads {
  uint64_t asks = 0;   // lookups whose key the table's filter denied
  uint64_t reads = 0;  // lookups that read the table and did not find their key
  uint64_t seeks = 0;  // seeks of iterators
};

// Thread-safe.
struct TreeReads {
  TreeCounters counters;
  std::atomic<uint64_t> level0_merges{0};  // that have ended
  // The rent for a table's tombstones has been paid (tombstone_rent.h).
  std::atomic<bool> rent_is_due{false};

  Mutex mutex;  // is taken last
  uint64_t paid_bytes ABSL_GUARDED_BY(mutex) = 0;
  Level0Reads counted ABSL_GUARDED_BY(mutex);
  Level0Reads charged ABSL_GUARDED_BY(mutex);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_TREE_READS_H_
