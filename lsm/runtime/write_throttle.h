// How long the next write waits while background jobs make room for it.  The pace of writes
// (write_pace.h) follows from the state of the store.
//
// Two jobs make room: the flush of a sealed memtable, and a compaction of level 0 once that has
// many tables.  If several compactions run at once, the one that counts is the first that merges
// level 0 of the fullest tree (Keyspaces::FullestTree).
//
// Not thread-safe: the engine's mutex guards it.  Nothing here fails or throws.
#ifndef TRELLIS_LSM_RUNTIME_WRITE_THROTTLE_H_
#define TRELLIS_LSM_RUNTIME_WRITE_THROTTLE_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/compaction/compaction_schedule.h"
#include "lsm/environment.h"
#include "lsm/options.h"
#include "lsm/runtime/read_view.h"
#include "lsm/runtime/write_pace.h"

namespace lsm::inline TRELLIS_ABI {

class WriteThrottle {
 public:
  // Both outlive it.
  WriteThrottle(const Options* options, Clock* clock) : options_(*options), clock_(*clock) {}

  // Nanoseconds that the next write has to wait.  `tree` is the one of the view that slows writes.
  // `has_compactions`: compactions run when due, and have not failed.
  uint64_t NanosToWait(const ReadView& view, const Tree& tree, bool has_compactions);
  // A write of this many bytes was committed.
  void Spend(uint64_t bytes) { pace_.Spend(bytes); }

  void BeginFlush(const Memtable& memtable);
  // The flush also merges bytes of tables.
  void AddToFlush(uint64_t bytes) { flush_room_.Add(bytes); }
  void EndFlush(bool made_room);

  // For each compaction that begins or ends.  `job` identifies the compaction until it ends, also
  // in steps.  `tree`: the one that slows writes now.
  void BeginCompaction(const CompactionSchedule::Job* job, const Tree& tree);
  void EndCompaction(const CompactionSchedule::Job* job, bool made_room);

 private:
  const Options& options_;
  Clock& clock_;
  WritePace pace_;
  RoomMaker flush_room_;
  RoomMaker level0_room_;
  const CompactionSchedule::Job* level0_job_ = nullptr;  // that makes room there
  KeyspaceId level0_keyspace_ = kDefaultKeyspace;        // whose level 0 it merges
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_WRITE_THROTTLE_H_
