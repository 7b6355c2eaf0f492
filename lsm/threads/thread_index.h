// A small number for each running thread, from 0, reused after its thread has ended.  Counters have
// a stripe for each number, so that threads on different cores never write to the same cache line.
#ifndef TRELLIS_LSM_THREADS_THREAD_INDEX_H_
#define TRELLIS_LSM_THREADS_THREAD_INDEX_H_

#include <cstddef>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// The number of the calling thread, constant for its life.
size_t ThreadIndex();

}  // namespace lsm

#endif  // TRELLIS_LSM_THREADS_THREAD_INDEX_H_
