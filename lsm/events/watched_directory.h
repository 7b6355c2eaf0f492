// A directory of the store that reports each file created or removed in it to an EventQueue.
#ifndef TRELLIS_LSM_EVENTS_WATCHED_DIRECTORY_H_
#define TRELLIS_LSM_EVENTS_WATCHED_DIRECTORY_H_

#include <memory>

#include "bloom/core/abi.h"
#include "lsm/events/event_queue.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

// Forwards every call to `directory`.  Does not report AtomicReplace, Lock and Link (which creates
// a file of a copy, not of the store).  The queue must outlive it.
std::unique_ptr<Directory> WatchDirectory(std::unique_ptr<Directory> directory, EventQueue* events);

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENTS_WATCHED_DIRECTORY_H_
