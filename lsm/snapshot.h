// A fixed moment of a store, for several reads that must agree.
#ifndef TRELLIS_LSM_SNAPSHOT_H_
#define TRELLIS_LSM_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

struct ReadView;  // lsm/runtime/read_view.h
struct ReadTime;  // lsm/base/keyspace_state.h

// Reads with it (ReadOptions::snapshot) see all writes before it and none after.  While it exists,
// the store keeps the old versions that it can see.  May outlive its DB, but no read accepts it
// then.  Reads of any other DB refuse it.  Immutable and thread-safe.
class Snapshot {
 public:
  // Releases it.
  ~Snapshot() { release_(sequence_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Number of the last write that it can see.
  uint64_t sequence() const { return sequence_; }

 private:
  friend class DB;
  friend class Engine;

  // `owner` is the store's engine.  `release` keeps it alive, so that no other engine gets its
  // address.  `view`: the one that reads use; null for the current one, if the store keeps the old
  // versions.  `time`: decides what has expired; null: nothing has.
  Snapshot(const void* owner, uint64_t sequence, std::shared_ptr<const ReadView> view,
           std::shared_ptr<const ReadTime> time, std::function<void(uint64_t)> release)
      : owner_(owner),
        sequence_(sequence),
        time_(std::move(time)),
        release_(std::move(release)),
        view_(std::move(view)) {}

  const void* const owner_;
  const uint64_t sequence_;
  const std::shared_ptr<const ReadTime> time_;
  const std::function<void(uint64_t)> release_;
  // Last: the engine, which `release_` keeps, outlives it.
  const std::shared_ptr<const ReadView> view_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_SNAPSHOT_H_
