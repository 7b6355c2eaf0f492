#include "lsm/environment.h"

#include "lsm/fs/scheduler.h"

namespace lsm::inline TRELLIS_ABI {

Clock::~Clock() = default;
Scheduler::~Scheduler() = default;
RandomSource::~RandomSource() = default;

}  // namespace lsm
