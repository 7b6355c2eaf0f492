// Begin and end events of flushes, compactions and stalls.
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

// Runs the job, which fills in its result, and delivers an event before and after it.  Returns the
// job's status; OutOfMemory() if it throws std::bad_alloc.
using Job = std::function<absl::Status(JobResult*)>;
absl::Status WithFlushEvents(EventQueue* events, Clock* clock, FlushReason reason,
                             const Memtable& memtable, const Job& job);
// The job may change or release the plan.
absl::Status WithCompactionEvents(EventQueue* events, Clock* clock, CompactionReason reason,
                                  const CompactionPlan& plan, const Job& job);

// Stall events of a writer, which may wait for several causes in turn.  The destructor ends the
// last one.
class StallEvents {
 public:
  StallEvents(EventQueue* events, Clock* clock) : events_(*events), clock_(*clock) {}
  ~StallEvents() { End(); }
  StallEvents(const StallEvents&) = delete;
  StallEvents& operator=(const StallEvents&) = delete;

  // Returns true if an event was added.  The caller must deliver it before the writer waits.
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
