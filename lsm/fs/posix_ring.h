// Submits many reads to the kernel in one system call (io_uring); the device works on all of them
// at once.
//
// Built with liburing if it is installed (TRELLIS_HAS_URING).  Without it, and if the kernel lacks
// io_uring or forbids it, as many containers do, OpenRing returns null.
#ifndef TRELLIS_LSM_FS_POSIX_RING_H_
#define TRELLIS_LSM_FS_POSIX_RING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

struct RingRead {
  int descriptor = -1;
  uint64_t offset = 0;
  std::span<char> buffer;
  // Out: bytes read, which may be fewer than requested for any reason, or a negative errno.
  int64_t result = 0;
};

// For one thread at a time, in the process that opened it.
class ReadRing {
 public:
  static constexpr size_t kReadsMax = 64;

  virtual ~ReadRing();

  // Executes the reads, at most kReadsMax.  Calls `done` with the index of each read when its
  // result is available and the kernel no longer uses its buffer.  When Read returns, that is so
  // for all reads.  False: the ring is broken and must be destroyed.
  virtual bool Read(std::span<RingRead> reads, const std::function<void(size_t)>& done) = 0;
};

// Null if no ring is available.  `*may_come` is then true if a later attempt may succeed, because
// memory or descriptors were lacking.
std::unique_ptr<ReadRing> OpenRing(bool* may_come);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_RING_H_
