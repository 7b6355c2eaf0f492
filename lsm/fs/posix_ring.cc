#include "lsm/fs/posix_ring.h"

#include <cerrno>
#include <new>

#if TRELLIS_HAS_URING
#include <liburing.h>
#include <sched.h>
#endif

namespace lsm {

ReadRing::~ReadRing() = default;

#if TRELLIS_HAS_URING

namespace {

class KernelRing final : public ReadRing {
 public:
  ~KernelRing() override {
    if (is_open_) ::io_uring_queue_exit(&ring_);
  }

  // 0 or an errno.
  int Open() {
    // Whoever waits for the reads takes their results; nobody need be interrupted for them.
    int result = ::io_uring_queue_init(kReadsMax, &ring_, IORING_SETUP_COOP_TASKRUN);
    // Linux before 5.19 does not know the flag.
    if (result == -EINVAL) result = ::io_uring_queue_init(kReadsMax, &ring_, 0);
    if (result != 0) return -result;
    is_open_ = true;
    // Of Linux 5.6, as is the read that is submitted below.
    return (ring_.features & IORING_FEAT_RW_CUR_POS) != 0 ? 0 : ENOSYS;
  }

  bool Read(std::span<RingRead> reads) override {
    for (size_t i = 0; i < reads.size(); ++i) {
      RingRead& read = reads[i];
      read.result = -EIO;
      // There is room: the ring has kReadsMax places, and is empty between two calls.
      io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
      ::io_uring_prep_read(entry, read.descriptor, read.buffer.data(),
                           static_cast<unsigned>(read.buffer.size()), read.offset);
      ::io_uring_sqe_set_data64(entry, i);
    }
    size_t done = 0;
    while (done < reads.size()) {
      const int result =
          ::io_uring_submit_and_wait(&ring_, static_cast<unsigned>(reads.size() - done));
      done += TakeResults(reads);
      if (result < 0 && result != -EINTR) return Abandon(reads, done);
    }
    return true;
  }

 private:
  size_t TakeResults(std::span<RingRead> reads) {
    unsigned head = 0, taken = 0;
    io_uring_cqe* completed = nullptr;
    io_uring_for_each_cqe(&ring_, head, completed) {
      reads[::io_uring_cqe_get_data64(completed)].result = completed->res;
      ++taken;
    }
    ::io_uring_cq_advance(&ring_, taken);
    return taken;
  }

  // The kernel takes no more, or will not wait.  What it took it writes into the buffers whenever
  // it comes, so there is no way around waiting for that.
  bool Abandon(std::span<RingRead> reads, size_t done) {
    const size_t submitted = reads.size() - ::io_uring_sq_ready(&ring_);
    while (done < submitted) {
      const size_t taken = TakeResults(reads);
      if (taken == 0) ::sched_yield();  // results are handed over on the way into the kernel
      done += taken;
    }
    return false;
  }

  io_uring ring_{};
  bool is_open_ = false;
};

}  // namespace

std::unique_ptr<ReadRing> OpenRing(bool* may_come) {
  *may_come = true;
  // A read goes on without it, so that memory which is short is nobody's error here.
  std::unique_ptr<KernelRing> ring(new (std::nothrow) KernelRing);
  if (ring == nullptr) return nullptr;
  const int error = ring->Open();
  if (error == 0) return ring;
  *may_come = error == ENOMEM || error == EMFILE || error == ENFILE || error == EAGAIN;
  return nullptr;
}

#else

std::unique_ptr<ReadRing> OpenRing(bool* may_come) {
  *may_come = false;
  return nullptr;
}

#endif

}  // namespace lsm
