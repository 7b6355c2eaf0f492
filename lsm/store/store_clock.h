// The time by which entries expire (lsm/design/expiry.md): the environment's wall clock, except
// that it never runs backwards while the store is open.  After a jump back it stands still.
#ifndef TRELLIS_LSM_STORE_STORE_CLOCK_H_
#define TRELLIS_LSM_STORE_STORE_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/environment.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.
class StoreClock {
 public:
  // `clock` outlives it.
  explicit StoreClock(Clock* clock) : clock_(*clock) {}

  // Seconds since 1970.
  uint32_t Now() {
    const uint32_t now = SecondsOf(clock_.WallMicros());
    // Relaxed: it is one variable.  A thread that learnt another one's time by anything that
    // synchronizes finds that time here, or a later one.
    uint32_t last = last_.load(std::memory_order_relaxed);
    while (last < now && !last_.compare_exchange_weak(last, now, std::memory_order_relaxed)) {
    }
    return last < now ? now : last;
  }

 private:
  Clock& clock_;
  std::atomic<uint32_t> last_{0};
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_STORE_CLOCK_H_
