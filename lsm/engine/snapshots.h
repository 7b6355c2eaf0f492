// The sequence numbers as of which someone may still read.  Not thread-safe: the engine's mutex
// guards it.
#ifndef TRELLIS_LSM_ENGINE_SNAPSHOTS_H_
#define TRELLIS_LSM_ENGINE_SNAPSHOTS_H_

#include <set>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/compaction/jobs.h"

namespace lsm::inline TRELLIS_ABI {

class Snapshots {
 public:
  void Add(Sequence sequence) { sequences_.insert(sequence); }
  void Remove(Sequence sequence) { sequences_.erase(sequences_.find(sequence)); }

  SnapshotList List() const {
    SnapshotList list;
    for (const Sequence sequence : sequences_) {
      if (list.empty() || list.back() != sequence) list.push_back(sequence);
    }
    return list;
  }

 private:
  std::multiset<Sequence> sequences_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_SNAPSHOTS_H_
