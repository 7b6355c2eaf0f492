// Synthetic vectors that resemble SIFT descriptors, the usual data of nearest-neighbour search, to
// measure filters whose keys are vectors.
//
// A component is a whole number from 0 to 255 with a skewed distribution: many small ones, few
// large ones.  Components in a group of 16 share a strength, so neighbours are correlated.  The
// norm is a little below 512 (times sqrt(dimension / 128)).  As float32 they are whole numbers
// whose low mantissa bits are zeros: a hash of low bits alone fails.
//
// Vector number i of a collection follows from the seed and i: nothing is stored, and any part can
// be made again.  Queries are new vectors, except that one in ten differs from a base vector by one
// in one component, and one in a hundred is a base vector.  So a measurement must leave out present
// vectors.
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

  // Base vector i < base_count(), and query i for any i.  `vector` has dimension() components.
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
