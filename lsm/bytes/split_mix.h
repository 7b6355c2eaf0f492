// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014;
// constants: Stafford's variant 13): its finalizer, which checksums mix with, and its stream, which
// tests and benchmarks draw from.
#ifndef TRELLIS_LSM_BYTES_SPLIT_MIX_H_
#define TRELLIS_LSM_BYTES_SPLIT_MIX_H_

#include <cstdint>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// A bijection.  Changing one bit of the input changes about half of the bits of the output.
constexpr uint64_t Mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd

// The same numbers for the same seed, on every machine.
class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return Mix(state_ += kSplitMixStep); }
  // In [0, bound); `bound` > 0.  The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * bound) >> 64);
  }
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_SPLIT_MIX_H_
