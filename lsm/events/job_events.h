// The events of flushes, compactions and stalls, from their beginning to their end.
#ifndef TRELLIS_LSM_EVENTS_JOB_EVENTS_H_
#define TRELLIS_LSM_EVENTS_JOB_EVENTS_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/picker.h"
#include "lsm/environment.h"
#include "lsm/event_listener.h"
#include "lsm/events/event_queue.h"
#include "lsm/memtable/memtable.h"

namespace lsm::inline TRELLIS_ABI {

// Runs the job, which fills in its result, between its two events, and delivers each of them.
// Returns what the job returns; OutOfMemory() if it throws std::bad_alloc.
using Job = std::function<absl::Status(JobResult*)>;
absl::Status WithFlushEvents(EventQueue* events, Clock* clock, FlushReason reason,
                             const Memtable& memtable, const Job& job);
// The job may change the plan, or let it go.
absl::Status WithCompactionEvents(EventQueue* events, Clock* clock, CompactionReason reason,
                                  const CompactionPlan& plan, const Job& job);

// The events of a writer that may have to wait, for one cause after the other.  Ends with it.
class StallEvents {
 public:
  StallEvents(EventQueue* events, Clock* clock) : events_(*events), clock_(*clock) {}
  ~StallEvents() { End(); }
  StallEvents(const StallEvents&) = delete;
  StallEvents& operator=(const StallEvents&) = delete;

  // True if an event was added, which is to be delivered before the writer waits.
  bool Begin(StallCause cause);

 private:
  void End();

  EventQueue& events_;
  Clock& clock_;
  std::optional<StallCause> cause_;
  uint64_t from_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENTS_JOB_EVENTS_H_
