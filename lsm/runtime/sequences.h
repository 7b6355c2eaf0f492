// The sequence numbers of an open store: the last number that was given to an entry, and the
// numbers at which callers may still read, with the times of these readers.  (The last one that
// readers may see is in live_views.h.)
//
// Not thread-safe: the engine's mutex guards it.  Only Take, Snapshots and Readers take memory.
#ifndef TRELLIS_LSM_RUNTIME_SEQUENCES_H_
#define TRELLIS_LSM_RUNTIME_SEQUENCES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/version/snapshot_list.h"

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

  // Takes a snapshot of the present.  `time`: of its reads; null: no keyspace has times.
  Sequence Take(std::shared_ptr<const ReadTime> time = nullptr) {
    snapshots_.insert({last_, std::move(time)});
    return last_;
  }
  // REQUIRES: it was taken, with that time, more often than released.
  void Release(Sequence sequence, const ReadTime* time = nullptr) {
    snapshots_.erase(snapshots_.find(Key{sequence, time}));
  }

  // kSequenceMax if there is none.
  Sequence oldest_snapshot() const {
    return snapshots_.empty() ? kSequenceMax : snapshots_.begin()->first;
  }
  // Tells whether a snapshot s with from <= s < to exists.  Valid while this object lives.
  auto HasSnapshotIn() const {
    return [this](Sequence from, Sequence to) {
      const auto first = snapshots_.lower_bound(Key{from, nullptr});
      return first != snapshots_.end() && first->first < to;
    };
  }
  // Ascending, each once.  `expiry` stays null.
  SnapshotList Snapshots() const {
    SnapshotList list;
    for (const auto& [sequence, time] : snapshots_) {
      if (list.empty() || list.back() != sequence) list.push_back(sequence);
    }
    return list;
  }
  // All of them, each with its time: several may have one number.
  std::vector<JobExpiry::Reader> Readers() const { return {snapshots_.begin(), snapshots_.end()}; }

 private:
  // Several readers may have one number.  The address of the time orders these, so that Release
  // finds the right one.
  using Key = std::pair<Sequence, const ReadTime*>;
  struct Less {
    using is_transparent = void;
    static Key KeyOf(const JobExpiry::Reader& taken) { return {taken.first, taken.second.get()}; }
    static const Key& KeyOf(const Key& key) { return key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      const Key key_a = KeyOf(a), key_b = KeyOf(b);
      return key_a.first != key_b.first ? key_a.first < key_b.first
                                        : std::less<>()(key_a.second, key_b.second);
    }
  };

  Sequence last_ = 0;
  std::multiset<JobExpiry::Reader, Less> snapshots_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_SEQUENCES_H_
