// Vectors that look like the SIFT descriptors of which collections for nearest-neighbour search are
// made, without any file: for measuring filters whose keys are vectors.
//
// A component is a skewed non-negative whole number from 0 to 255, many of them small and a few
// large.  Components come in groups of 16 that have a strength in common, so that neighbours are
// correlated.  The norm is a little below 512 (times sqrt(dimension / 128)).  As float32 they are
// whole numbers, whose low mantissa bits are all zeros: a hash that looks at low bits alone fails.
//
// Vector number i of a collection follows from the seed and i: nothing is kept, and any part can be
// made again.  Queries are new vectors, but one in ten differs from a base vector by one in one
// component, and one in a hundred is a base vector, so that whoever measures must leave out what is
// present.
#ifndef TRELLIS_BENCH_SIFT_LIKE_H_
#define TRELLIS_BENCH_SIFT_LIKE_H_

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

class SiftLike {
 public:
  static constexpr uint32_t kUsualDimension = 128;
  static constexpr uint32_t kGroup = 16;
  static constexpr double kNorm = 512;

  enum class Origin : uint8_t { kNew, kNearDuplicate, kDuplicate };

  // REQUIRES: base_count >= 1, dimension >= 8.
  SiftLike(uint64_t base_count, uint64_t seed, uint32_t dimension = kUsualDimension)
      : base_count_(base_count), seed_(seed), dimension_(dimension) {
    assert(base_count >= 1 && dimension >= 8);
  }

  uint64_t base_count() const { return base_count_; }
  uint32_t dimension() const { return dimension_; }

  // Base vector i < base_count(), and query i, of any number.  `vector` has dimension() components.
  void Base(uint64_t i, std::span<uint8_t> vector) const;
  Origin Query(uint64_t i, std::span<uint8_t> vector) const;

 private:
  void Make(uint64_t number, std::span<uint8_t> vector) const;

  uint64_t base_count_;
  uint64_t seed_;
  uint32_t dimension_;
};

// The same numbers as another type.
template <class T>
std::vector<T> ComponentsAs(std::span<const uint8_t> vector) {
  return {vector.begin(), vector.end()};
}

}  // namespace bench

#endif  // TRELLIS_BENCH_SIFT_LIKE_H_
