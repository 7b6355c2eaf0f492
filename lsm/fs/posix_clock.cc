#include <time.h>

#include <cassert>
#include <cstdint>

#include "lsm/environment.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

uint64_t NanosOf(clockid_t clock) {
  timespec now{};
  [[maybe_unused]] const int result = ::clock_gettime(clock, &now);
  assert(result == 0);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

class PosixClock final : public Clock {
 public:
  // Goes on while the machine is suspended, because locks in an object store expire meanwhile.
  uint64_t MonotonicNanos() override { return NanosOf(CLOCK_BOOTTIME); }
  uint64_t WallMicros() override { return NanosOf(CLOCK_REALTIME) / 1000; }
};

}  // namespace

Clock& SystemClock() {
  static PosixClock* const clock = new PosixClock;  // never destroyed: threads may outlive main
  return *clock;
}

}  // namespace lsm
