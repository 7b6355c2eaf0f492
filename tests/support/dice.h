// Small numbers out of a seed.
//
// What the reliability jobs do follows from these numbers, and the seeded bugs are found with the
// seeds that they name: another way to draw would need other seeds.
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
