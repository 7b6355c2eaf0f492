// Shift-add-xor hashing, and filters based on it, from an older study of filters for vectors.  They
// are baselines, faults included, for benchmarks only; bloom/ has none of it.
//
//     h = initial value;  for each element c:  h = h ^ ((h << 5) + (h >> 2) + c)   (32 bits)
//
// An element is a byte of the vector, or a component of 32 bits, which takes a quarter of the
// steps.
#ifndef TRELLIS_BENCH_SAX_HASH_H_
#define TRELLIS_BENCH_SAX_HASH_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace bench {

template <class Element>
uint32_t SaxHash(std::span<const Element> elements, uint32_t initial = 0) {
  uint32_t hash = initial;
  for (const Element element : elements)
    hash ^= (hash << 5) + (hash >> 2) + static_cast<uint32_t>(element);
  return hash;
}

// Known to be wrong: `while (--length)` stops before the last element, and the sign bit is lost.
// All vectors of one element have the same hash.  The study's loop would never end for an empty
// vector; this one does.
template <class Element>
uint32_t SaxHashWithoutLast(std::span<const Element> elements) {
  if (elements.empty()) return 0;
  return SaxHash(elements.first(elements.size() - 1)) & 0x7fffffff;
}

// How the positions of one vector are chosen.
enum class SaxProbes {
  kSeeded,     // from different initial values
  kSameAgain,  // known to be wrong: the same hash each time, so only one bit is set
};

// n keys with a target rate e get m = n ln(1/e) / ln(2)^2 bits and k = m ln(2) / n probes.  With
// kSameAgain that is a filter of one probe with a rate of 1 - e^(-n/m): 9.91 % for 1 %, 6.72 % for
// 0.1 %.
template <class Element>
class SaxFilter {
 public:
  SaxFilter(uint64_t key_count, double target_fpp, SaxProbes probes)
      : bits_(static_cast<size_t>(
            std::ceil(static_cast<double>(key_count) * std::log(1 / target_fpp) / (kLn2 * kLn2)))),
        probes_(static_cast<uint32_t>(std::lround(std::log(1 / target_fpp) / kLn2))),
        kind_(probes) {}

  void Add(std::span<const Element> vector) {
    for (uint32_t i = 0; i < probes_; ++i) bits_[Position(vector, i)] = true;
  }
  bool MayContain(std::span<const Element> vector) const {
    for (uint32_t i = 0; i < probes_; ++i) {
      if (!bits_[Position(vector, i)]) return false;
    }
    return true;
  }

  size_t size_bits() const { return bits_.size(); }
  uint32_t probes() const { return probes_; }

 private:
  static constexpr double kLn2 = 0.693147180559945309;

  size_t Position(std::span<const Element> vector, uint32_t i) const {
    if (kind_ == SaxProbes::kSameAgain) return SaxHash(vector) % bits_.size();
    return SaxHash(vector, (i + 1) * 0x9e3779b9) % bits_.size();
  }

  std::vector<bool> bits_;
  uint32_t probes_;
  SaxProbes kind_;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_SAX_HASH_H_
