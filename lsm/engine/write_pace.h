// How fast writes may come while the background makes room for more of them: so fast that the room
// that is left lasts until there is more.  So a store that is given more than it can take slows its
// writers down a little all the time, instead of stopping them for as long as a job takes.
//
// Room is made by a job, of which it is guessed how long it takes: as long a byte as those before
// it.  With R bytes of room left and T nanoseconds to go until there is more, a byte costs T / R:
// each write moves the moment at which the next one may begin by what its bytes cost.  What a write
// takes of itself counts, so a writer slower than the background work never waits.  R and T
// are looked at again for each write, which corrects a wrong guess.
//
// Not thread-safe.
#ifndef TRELLIS_LSM_ENGINE_WRITE_PACE_H_
#define TRELLIS_LSM_ENGINE_WRITE_PACE_H_

#include <algorithm>
#include <cstdint>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Jobs of one kind, of which at most one at a time is looked at.
class RoomMaker {
 public:
  bool runs() const { return runs_; }

  // A job begins that has so many bytes to do.
  void Begin(uint64_t now, uint64_t bytes) {
    runs_ = true;
    began_ = now;
    bytes_ = bytes;
  }
  // It ended.  Only one that made room tells how long others take.
  void End(uint64_t now, bool made_room) {
    if (runs_ && made_room && bytes_ > 0 && now > began_) {
      const auto bytes = static_cast<double>(bytes_);
      seen_nanos_ =
          seen_nanos_ / 2 + std::min(static_cast<double>(now - began_), kNanosPerByteMax * bytes);
      seen_bytes_ = seen_bytes_ / 2 + bytes;
    }
    runs_ = false;
  }

  // Until it ends, about: where it takes longer than was guessed, a quarter of what it took so far,
  // so that writes become slower and slower but do not stop.  0 if none runs.
  double NanosToGo(uint64_t now) const {
    if (!runs_ || now < began_) return 0;
    const auto took = static_cast<double>(now - began_);
    return std::max(NanosFor(bytes_) - took, took / 4);
  }
  // What a job of so many bytes takes, about.
  double NanosFor(uint64_t bytes) const {
    return seen_nanos_ / seen_bytes_ * static_cast<double>(bytes);
  }

 private:
  static constexpr double kNanosPerByteMax = 1000;  // whatever the clock says

  // Of the jobs before, each half as much as the next one.  A job counts by its bytes: one of a few
  // entries takes as long as its syncs, and says nothing of others.  Begins with what is believed
  // as long as nothing is known.
  double seen_bytes_ = 1 << 20;
  double seen_nanos_ = 10 * seen_bytes_;
  bool runs_ = false;
  uint64_t began_ = 0, bytes_ = 0;
};

class WritePace {
 public:
  // Shorter waits are put off: sleeping would cost more than it brings.  And no write waits longer.
  static constexpr uint64_t kWaitNanosMin = 100'000;
  static constexpr uint64_t kWaitNanosMax = 2'000'000;

  // A write begins, of which a byte costs T / R; 0 if there is room enough.  Returns how long it
  // has to wait.
  uint64_t Begin(uint64_t now, double nanos_per_byte) {
    now_ = now;
    nanos_per_byte_ = nanos_per_byte;
    if (nanos_per_byte == 0) next_ = 0;
    if (next_ < now + kWaitNanosMin) return 0;
    // Whatever the clock says, and however large a write was.
    next_ = std::min(next_, now + kDebtNanosMax);
    return std::min(next_ - now, kWaitNanosMax);
  }

  // It had so many bytes.
  void Spend(uint64_t bytes) {
    if (nanos_per_byte_ == 0) return;
    const double cost = nanos_per_byte_ * static_cast<double>(bytes);
    next_ = std::max(next_, now_) +
            static_cast<uint64_t>(std::min(cost, static_cast<double>(kDebtNanosMax)));
  }

 private:
  static constexpr uint64_t kDebtNanosMax = 100'000'000;

  uint64_t next_ = 0;  // when the next write may begin
  uint64_t now_ = 0;   // of the last one
  double nanos_per_byte_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_WRITE_PACE_H_
