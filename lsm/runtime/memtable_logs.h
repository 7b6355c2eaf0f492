// Which log holds the same writes as which memtable, and whether the log after them is made ahead
// of time (lsm/store/log_set.h has the files).
//
// The next log goes through these states:
//
//   not begun    it is due once the active memtable, or the one sealed before it, is half full.  So
//                a store that is opened for fewer writes pays nothing
//   being made   by a job or a writer; writers that need it wait
//   made
//   failed       the writer that seals the memtable makes it and gets the error
//
// A memtable that is not full may be sealed early (early_seal.h), but no writer waits for that:
//
//   wanted       the flush job makes the next log.  Then it seals the memtable, unless a writer is
//                queued
//   left         the next writer that leads seals it
//
// Not thread-safe: the engine's mutex guards it.  Only StartingWith and Reserve take memory.
#ifndef TRELLIS_LSM_RUNTIME_MEMTABLE_LOGS_H_
#define TRELLIS_LSM_RUNTIME_MEMTABLE_LOGS_H_

#include <cstdint>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/event_listener.h"
#include "lsm/runtime/read_view.h"

namespace lsm::inline TRELLIS_ABI {

class MemtableLogs {
 public:
  // The log that holds the same writes as a memtable.
  struct MemtableLog {
    uint64_t number = 0;
    // Known once the memtable is sealed:
    Sequence last_sequence = 0;  // in it
    FlushReason reason = FlushReason::kMemtable;
  };

  // No memtable has a log yet.
  MemtableLogs() = default;
  // One memtable has this log.  The ids of all logs follow from the seed.
  static MemtableLogs StartingWith(uint64_t number, uint64_t seed);
  // The id of the log of this number.
  uint64_t FileIdOf(uint64_t number) const;

  // --- the memtables, oldest first ---

  // Allocates the memory that the next Seal needs.
  void Reserve() { logs_.reserve(logs_.size() + 1); }
  // The last memtable is sealed; the one after it has the log `next`.
  void Seal(Sequence last_sequence, FlushReason reason, uint64_t next);
  // REQUIRES: a memtable is sealed.
  const MemtableLog& oldest() const { return logs_.front(); }
  uint64_t number_after_oldest() const { return logs_[1].number; }
  // The oldest memtable was flushed.
  void RemoveOldest() { logs_.erase(logs_.begin()); }

  // --- the next log ---

  bool IsNextDue(const ReadView& view, uint64_t write_buffer_bytes) const;
  // Whether the next log should be made before the memtable is half full, because the memtable is
  // about to be sealed.
  bool IsNextNeeded(const ReadView& view) const {
    const bool may_begin =
        next_ == Next::kNotBegun || (next_ == Next::kFailed && seal_ == EarlySeal::kWanted);
    return may_begin && !view.memtable->empty();
  }
  bool is_next_made() const { return next_ == Next::kMade; }
  bool is_next_being_made() const { return next_ == Next::kBeingMade; }
  void BeginNext() { next_ = Next::kBeingMade; }
  void EndNext(bool is_made) { next_ = is_made ? Next::kMade : Next::kFailed; }

  // --- an early seal of the active memtable ---

  void WantSeal() { seal_ = EarlySeal::kWanted; }
  bool is_seal_wanted() const { return seal_ == EarlySeal::kWanted; }
  // The flush job has tried.  If the memtable is still not sealed, a writer seals it, unless the
  // next log could not be made.
  void LeaveSeal() {
    if (seal_ == EarlySeal::kWanted)
      seal_ = next_ == Next::kMade ? EarlySeal::kLeft : EarlySeal::kNone;
  }
  bool is_seal_left() const { return seal_ == EarlySeal::kLeft; }

 private:
  enum class Next : uint8_t { kNotBegun, kBeingMade, kMade, kFailed };
  enum class EarlySeal : uint8_t { kNone, kWanted, kLeft };

  uint64_t seed_ = 0;
  // The sealed memtables', then the active one's.
  std::vector<MemtableLog> logs_;
  Next next_ = Next::kNotBegun;
  EarlySeal seal_ = EarlySeal::kNone;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_MEMTABLE_LOGS_H_
