// The rent of a table's tombstones: bytes that could have been merged while iterators walked over
// them.  Once it is high enough, it makes their compaction due (lsm/compaction/picker.h).
#ifndef TRELLIS_LSM_VERSION_TOMBSTONE_RENT_H_
#define TRELLIS_LSM_VERSION_TOMBSTONE_RENT_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.  Relaxed throughout: the numbers decide when work begins, and need no other memory.
class TombstoneRent {
 public:
  uint64_t paid_bytes() const { return paid_bytes_.load(std::memory_order_relaxed); }
  // True once after each SetPrice, when the price is reached; also at the first payment, since the
  // price is not known yet.
  bool Pay(uint64_t bytes) {
    const uint64_t paid = paid_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    uint64_t price = price_bytes_.load(std::memory_order_relaxed);
    return paid >= price &&
           price_bytes_.compare_exchange_strong(price, kReached, std::memory_order_relaxed);
  }
  // With this sum of payments a compaction may be due.
  void SetPrice(uint64_t bytes) { price_bytes_.store(bytes, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kReached = std::numeric_limits<uint64_t>::max();

  std::atomic<uint64_t> paid_bytes_{0};
  std::atomic<uint64_t> price_bytes_{0};
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_TOMBSTONE_RENT_H_
