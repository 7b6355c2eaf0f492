// Reads that are submitted to the kernel together (io_uring): one system call for all of them, and
// the device works on all of them at once.
//
// Built with liburing where it is installed (TRELLIS_HAS_URING).  Without it, and where the kernel
// has no such thing or forbids it, as many containers do, there is never a ring.
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
  // Out: bytes read, which may be fewer than asked for any reason, or a negated errno.
  int64_t result = 0;
};

// For one thread at a time, of the process that opened it.
class ReadRing {
 public:
  static constexpr size_t kReadsMax = 64;

  virtual ~ReadRing();

  // Does all of them, at most kReadsMax.  Calls `done` with the number of each as soon as it has
  // its result, and the kernel does not use its buffer any more.  When it returns, that holds for
  // all. False: the ring is broken and must be destroyed.
  virtual bool Read(std::span<RingRead> reads, const std::function<void(size_t)>& done) = 0;
};

// Null where none is available.  Then `*may_come` says whether another attempt may succeed:
// it is false where it was not for want of memory or of descriptors.
std::unique_ptr<ReadRing> OpenRing(bool* may_come);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_RING_H_
