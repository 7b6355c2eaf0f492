// A directory of the store that reports each file created or removed in it to an EventQueue.
#ifndef TRELLIS_LSM_ENGINE_WATCHED_DIRECTORY_H_
#define TRELLIS_LSM_ENGINE_WATCHED_DIRECTORY_H_

#include <memory>

#include "lsm/engine/event_queue.h"
#include "lsm/fs/file_system.h"

namespace lsm {

// Passes every call on to `directory`.  AtomicReplace, Lock and Link are not reported: links lead
// out of the store, into a copy.  The queue outlives it.
std::unique_ptr<Directory> WatchDirectory(std::unique_ptr<Directory> directory, EventQueue* events);

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_WATCHED_DIRECTORY_H_
