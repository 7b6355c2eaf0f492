// Small numbers from a seed: the generator of all tests.
//
// The reliability jobs depend on these numbers, and the seeded bugs name the seeds that find them.
// Another way to draw numbers would need other seeds.  For this reason reliability::Draws
// (tests/reliability/workload/actions.h), whose Roll takes the high bits, stays a class of its own.
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

  // For std::shuffle and the distributions of <random>.
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return UINT64_MAX; }
  uint64_t operator()() { return Next(); }

 private:
  lsm::SplitMix source_;
};

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_DICE_H_
