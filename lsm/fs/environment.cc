#include "lsm/fs/environment.h"

#include "lsm/fs/scheduler.h"

namespace lsm {

Clock::~Clock() = default;
Scheduler::~Scheduler() = default;
RandomSource::~RandomSource() = default;

}  // namespace lsm
