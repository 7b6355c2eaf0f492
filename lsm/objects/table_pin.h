// A follower's pin: the entry pin:ID of an index, which keeps the chunks of tables whose names
// other processes remove (lsm/design/followers.md).
#ifndef TRELLIS_LSM_OBJECTS_TABLE_PIN_H_
#define TRELLIS_LSM_OBJECTS_TABLE_PIN_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/objects/lock_keeper.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

struct ObjectProcess;  // object_directory.h

// Each holder has a number of removals, and needs the tables that were removed after it.  A renewal
// writes the lowest of these numbers.
//
// Thread-safe.
class TablePin final : public KeptEntry {
 public:
  // `pin.removals`: as the index has it now.
  TablePin(std::shared_ptr<IndexHandle> index, const std::string& id, IndexedPin pin, Clock* clock)
      : index_(std::move(index)),
        entry_(std::string(kPinPrefix) + id),
        clock_(*clock),
        pin_(std::move(pin)),
        let_go_(pin_.removals),
        renewed_nanos_(clock->MonotonicNanos()) {}
  TablePin(const TablePin&) = delete;
  TablePin& operator=(const TablePin&) = delete;

  const std::string& entry() const { return entry_; }

  // Adds the entry and counts it, if the index still has these counts.  Aborted if it was refused.
  absl::Status Write(const IndexCounts& counts) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a holder.  False if the pin may not cover all that was removed after `removals`, or if its
  // last holder has let go.
  bool Hold(uint64_t removals) ABSL_LOCKS_EXCLUDED(mutex_);
  // True if that was the last holder.  Then the caller removes the entry.
  bool LetGo(uint64_t removals) ABSL_LOCKS_EXCLUDED(mutex_);
  // If the pool fails, the pin stays until it lapses.
  void RemoveEntry() ABSL_LOCKS_EXCLUDED(mutex_);

  // NotFound if the entry does not exist: the pin has lapsed.
  absl::Status Renew() override ABSL_LOCKS_EXCLUDED(mutex_);
  // Renews it if it may lapse at any time, because the last renewal is too long ago.
  absl::Status RenewIfLate() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Reads the entry after a change of it was refused.  NotFound if it does not exist or is damaged.
  absl::Status ReadAgain() ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<IndexHandle> index_;
  const std::string entry_;
  Clock& clock_;
  Mutex mutex_;                             // never held during a call to the pool
  IndexedPin pin_ ABSL_GUARDED_BY(mutex_);  // as this process last knew the entry
  // So that no two attempts to renew write the same value.  An earlier one may be applied late.
  uint64_t attempts_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t let_go_ ABSL_GUARDED_BY(mutex_);         // the entry has this number, or soon may
  uint64_t renewed_nanos_ ABSL_GUARDED_BY(mutex_);  // when the last renewal that succeeded began
  bool is_released_ ABSL_GUARDED_BY(mutex_) = false;
  std::multiset<uint64_t> held_ ABSL_GUARDED_BY(mutex_);
};

// Directory::PinTables.
absl::StatusOr<std::shared_ptr<const void>> PinTables(const std::shared_ptr<ObjectProcess>& process,
                                                      const std::shared_ptr<IndexHandle>& index);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_TABLE_PIN_H_
