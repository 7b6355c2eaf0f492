// The pace of writes while background jobs make room for more of them.  Writes are slowed just
// enough that the remaining room lasts until there is more.  So a store that gets more writes than
// it can take slows its writers down a little all the time, instead of stopping them while a job
// runs.
//
// A job makes room; its duration is estimated from the nanoseconds per byte of earlier jobs.  With
// R bytes of room left and T nanoseconds until there is more, a byte costs T / R: each write moves
// the start of the next one by the cost of its bytes.  The time that a write takes itself counts,
// so a writer slower than the background work never waits.  R and T are taken again for each write,
// which corrects a wrong estimate.
//
// Not thread-safe.
#ifndef TRELLIS_LSM_RUNTIME_WRITE_PACE_H_
#define TRELLIS_LSM_RUNTIME_WRITE_PACE_H_

#include <algorithm>
#include <cstdint>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Jobs of one kind, at most one at a time.
class RoomMaker {
 public:
  bool runs() const { return runs_; }

  // A job of this many bytes begins.
  void Begin(uint64_t now, uint64_t bytes) {
    runs_ = true;
    began_ = now;
    bytes_ = bytes;
  }
  // The running job, if any, has more bytes.
  void Add(uint64_t bytes) { bytes_ += runs_ ? bytes : 0; }
  // The job ended.  Only a job that made room counts for the estimate.
  void End(uint64_t now, bool made_room) {
    if (runs_ && made_room && bytes_ > 0 && now > began_) {
      const auto bytes = static_cast<double>(bytes_);
      seen_nanos_ =
          seen_nanos_ / 2 + std::min(static_cast<double>(now - began_), kNanosPerByteMax * bytes);
      seen_bytes_ = seen_bytes_ / 2 + bytes;
    }
    runs_ = false;
  }

  // An estimate of the time until the job ends; 0 if none runs.  A job that takes longer than
  // estimated counts for a quarter of its time so far, so that writes become ever slower but do not
  // stop.
  double NanosToGo(uint64_t now) const {
    if (!runs_ || now < began_) return 0;
    const auto took = static_cast<double>(now - began_);
    return std::max(NanosFor(bytes_) - took, took / 4);
  }
  // An estimate for a job of this many bytes.
  double NanosFor(uint64_t bytes) const {
    return seen_nanos_ / seen_bytes_ * static_cast<double>(bytes);
  }

 private:
  static constexpr double kNanosPerByteMax = 1000;  // in case the clock jumps

  // Sums over earlier jobs, each with half the weight of the next one.  A job counts by its bytes:
  // a job of a few entries takes as long as its syncs, and says nothing about others.  The first
  // values are a guess.
  double seen_bytes_ = 1 << 20;
  double seen_nanos_ = 10 * seen_bytes_;
  bool runs_ = false;
  uint64_t began_ = 0, bytes_ = 0;
};

class WritePace {
 public:
  // Waits shorter than the minimum are put off, since sleeping would cost more than it gains.  No
  // write waits longer than the maximum.
  static constexpr uint64_t kWaitNanosMin = 100'000;
  static constexpr uint64_t kWaitNanosMax = 2'000'000;

  // A write begins; a byte of it costs T / R, or 0 if there is enough room.  Returns how long it
  // has to wait.
  uint64_t Begin(uint64_t now, double nanos_per_byte) {
    now_ = now;
    nanos_per_byte_ = nanos_per_byte;
    if (nanos_per_byte == 0) next_ = 0;
    if (next_ < now + kWaitNanosMin) return 0;
    // In case the clock jumps or the write was large.
    next_ = std::min(next_, now + kDebtNanosMax);
    return std::min(next_ - now, kWaitNanosMax);
  }

  // The write had this many bytes.
  void Spend(uint64_t bytes) {
    if (nanos_per_byte_ == 0) return;
    const double cost = nanos_per_byte_ * static_cast<double>(bytes);
    next_ = std::max(next_, now_) +
            static_cast<uint64_t>(std::min(cost, static_cast<double>(kDebtNanosMax)));
  }

 private:
  static constexpr uint64_t kDebtNanosMax = 100'000'000;

  uint64_t next_ = 0;  // when the next write may begin
  uint64_t now_ = 0;   // when the last one began
  double nanos_per_byte_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_WRITE_PACE_H_
