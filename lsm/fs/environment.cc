#include "lsm/environment.h"

namespace lsm::inline TRELLIS_ABI {

Clock::~Clock() = default;
RandomSource::~RandomSource() = default;

}  // namespace lsm
