// A directory of the store that reports each file created or removed in it to an EventQueue.
#ifndef TRELLIS_LSM_EVENTS_WATCHED_DIRECTORY_H_
#define TRELLIS_LSM_EVENTS_WATCHED_DIRECTORY_H_

#include <memory>

#include "bloom/core/abi.h"
#include "lsm/events/event_queue.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

// Passes every call on to `directory`.  AtomicReplace, Lock and Link are not reported: links lead
// out of the store, into a copy.  The queue outlives it.
std::unique_ptr<Directory> WatchDirectory(std::unique_ptr<Directory> directory, EventQueue* events);

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENTS_WATCHED_DIRECTORY_H_
