// The reserves of a store on a full disk (lsm/store/reserve.h): one beside the tables, and one
// beside the logs if these have a directory of their own.  They are built, released and asked
// together, since the two file systems may be one.
//
// Thread-safe: each call takes the reserves' own locks, which are the last in the order of locks.
// Callers of Build, Release and CountStall hold no lock.  Only the constructor and CheckMayPut
// throw, and CountStall if its `work` does.
#ifndef TRELLIS_LSM_RUNTIME_RESERVES_H_
#define TRELLIS_LSM_RUNTIME_RESERVES_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/events/event_queue.h"
#include "lsm/options.h"
#include "lsm/store/reserve.h"
#include "lsm/store/store_directory.h"

namespace lsm::inline TRELLIS_ABI {

class Reserves {
 public:
  // All outlive it.  Until Build, there is no reserve, and puts are accepted.
  Reserves(const StoreDirectory* store, const Options& options, Counters* counters,
           EventQueue* events);
  Reserves(const Reserves&) = delete;
  Reserves& operator=(const Reserves&) = delete;

  // --- the files ---

  // Builds reserves for tables and memtables of these sizes.
  void Build(uint64_t table_bytes, uint64_t memtable_bytes, Reserve::Effort effort);
  // True if there is more space than before.
  bool Release();
  // Runs the job and returns its status.  If the disk is full and `may_release` then returns true,
  // releases the reserves.  Runs the job again if a release, by this call or by another one
  // meanwhile, has freed space.
  absl::Status RunWithReserve(absl::FunctionRef<absl::Status()> job,
                              absl::FunctionRef<bool()> may_release);
  uint64_t held_bytes() const { return reserve_.held_bytes(); }

  // --- what puts may do ---

  // Whether there is no space to build a reserve, or to build it large enough for the memtables.
  // Then puts are refused, or flush the memtables first.
  bool IsShort() const {
    return reserve_.is_short() || (log_reserve_ != nullptr && log_reserve_->is_short());
  }
  bool ArePutsRefused() const {
    return reserve_.is_missing() || (log_reserve_ != nullptr && log_reserve_->is_missing());
  }
  // ResourceExhausted, naming the directory, while space is short.
  absl::Status CheckMayPut() const;
  // False if the reserve should be built before memtables of this size are written: it has fewer
  // bytes than they need, or than its limit if that is less.  True while the reserve of the tables
  // is short.
  bool Fits(uint64_t memtable_bytes) const {
    return !reserve_.is_below(ReserveBytesLeast(memtable_bytes));
  }
  // Whether a larger reserve should be built: the memtables exceed half of the size that was last
  // tried, and that was below the limit.  False while the reserve of the tables is short.
  bool IsDue(uint64_t memtable_bytes) const { return reserve_.is_due(2 * memtable_bytes); }
  // Runs `work` and counts its time as a stall of a put.
  void CountStall(absl::FunctionRef<void()> work);

  // Sets whether the listener was already told that puts are refused.  Relaxed: no other thread has
  // the store yet.
  void SetToldRefused(bool refused) { told_refused_.store(refused, std::memory_order_relaxed); }

 private:
  // Tells the listener whether puts are refused, if that has changed.
  void NoteSpace();

  Clock& clock_;
  Counters& counters_;
  EventQueue& events_;
  Reserve reserve_;
  const std::unique_ptr<Reserve> log_reserve_;  // null: the logs are with the tables
  std::atomic<bool> told_refused_{false};
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_RESERVES_H_
