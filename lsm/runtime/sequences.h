// The sequence numbers of an open store: the last number that was given to an entry, and the
// numbers at which callers may still read.  (The last one that readers may see is in live_views.h.)
//
// Not thread-safe: the engine's mutex guards it.  Only Take and Snapshots take memory.
#ifndef TRELLIS_LSM_RUNTIME_SEQUENCES_H_
#define TRELLIS_LSM_RUNTIME_SEQUENCES_H_

#include <cstdint>
#include <set>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/compaction/jobs.h"

namespace lsm::inline TRELLIS_ABI {

class Sequences {
 public:
  Sequence last() const { return last_; }
  // Called by the opening.
  void Start(Sequence last) { last_ = last; }
  // Whether there are that many numbers left.  The highest number itself is never used, because a
  // number must be left after those of a batch.
  bool HaveRoomFor(uint64_t entries) const { return last_ + entries < kSequenceMax; }
  // Gives numbers to that many entries.
  void Advance(uint64_t entries) { last_ += entries; }

  // Takes a snapshot of the present.
  Sequence Take() {
    snapshots_.insert(last_);
    return last_;
  }
  // REQUIRES: it was taken more often than released.
  void Release(Sequence sequence) { snapshots_.erase(snapshots_.find(sequence)); }

  // kSequenceMax if there is none.
  Sequence oldest_snapshot() const {
    return snapshots_.empty() ? kSequenceMax : *snapshots_.begin();
  }
  // Tells whether a snapshot s with from <= s < to exists.  Valid while this object lives.
  auto HasSnapshotIn() const {
    return [this](Sequence from, Sequence to) {
      const auto first = snapshots_.lower_bound(from);
      return first != snapshots_.end() && *first < to;
    };
  }
  // Ascending, each once.
  SnapshotList Snapshots() const {
    SnapshotList list;
    for (const Sequence sequence : snapshots_) {
      if (list.empty() || list.back() != sequence) list.push_back(sequence);
    }
    return list;
  }

 private:
  Sequence last_ = 0;
  std::multiset<Sequence> snapshots_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_SEQUENCES_H_
