// Small numbers from a seed.
//
// The reliability jobs depend on these numbers, and the seeded bugs name the seeds that find them.
// Another way to draw numbers would need other seeds.
#ifndef TRELLIS_TESTS_SUPPORT_DICE_H_
#define TRELLIS_TESTS_SUPPORT_DICE_H_

#include <cstddef>
#include <cstdint>

#include "lsm/bytes/split_mix.h"

namespace testing_support {

class Dice {
 public:
  explicit Dice(uint64_t seed) : source_(seed) {}
  // In [0, sides).
  size_t Roll(size_t sides) { return static_cast<size_t>(source_.Next() % sides); }
  bool OneIn(size_t sides) { return Roll(sides) == 0; }
  uint64_t Next() { return source_.Next(); }

 private:
  lsm::SplitMix source_;
};

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_DICE_H_
