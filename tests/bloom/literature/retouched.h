// Shared by the tests of retouched filters: filters with false positives, and their state
// afterwards.
#ifndef TRELLIS_TESTS_BLOOM_LITERATURE_RETOUCHED_H_
#define TRELLIS_TESTS_BLOOM_LITERATURE_RETOUCHED_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/literature/retouched.h"
#include "tests/bloom/kinds.h"

namespace testing_support {

inline constexpr bloom::ClearingScheme kClearingSchemes[] = {
    bloom::ClearingScheme::kRandom, bloom::ClearingScheme::kMinimumFn,
    bloom::ClearingScheme::kMaximumFp, bloom::ClearingScheme::kRatio};

// A filter with the keys 0 to `keys` - 1.
inline bloom::RetouchedFilter MakeRetouched(uint64_t keys, double fpp = 0.03, uint64_t seed = 1) {
  bloom::RetouchedFilter filter = bloom::RetouchedFilter::Make(keys, fpp, seed).value();
  for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(DigestOfKey(i));
  return filter;
}

// False positives: keys from `from` on that pass the filter.
inline std::vector<uint64_t> FalsePositivesFrom(const bloom::RetouchedFilter& filter, uint64_t from,
                                                size_t count) {
  std::vector<uint64_t> found;
  for (uint64_t i = from; found.size() < count; ++i) {
    if (filter.MayContainDigest(DigestOfKey(i))) found.push_back(i);
  }
  return found;
}

inline double ShareDenied(const bloom::RetouchedFilter& filter, uint64_t keys) {
  uint64_t denied = 0;
  for (uint64_t i = 0; i < keys; ++i) denied += !filter.MayContainDigest(DigestOfKey(i));
  return static_cast<double>(denied) / static_cast<double>(keys);
}

inline double ShareRemoved(const bloom::RetouchedFilter& filter,
                           const std::vector<uint64_t>& false_positives) {
  uint64_t removed = 0;
  for (const uint64_t i : false_positives) removed += !filter.MayContainDigest(DigestOfKey(i));
  return static_cast<double>(removed) / static_cast<double>(false_positives.size());
}

// The distinct bits of a digest.
inline std::vector<uint64_t> RetouchedBits(const bloom::RetouchedFilter& filter,
                                           bloom::Digest digest) {
  const bloom::DistinctProbes probes(bloom::Remix(digest, filter.seed()), filter.shape().size,
                                     filter.shape().probes);
  return {probes.begin(), probes.end()};
}

inline bool RetouchedBit(const bloom::RetouchedFilter& filter, uint64_t position) {
  const std::string bytes = filter.SerializeBits();
  return bloom::TestBit(reinterpret_cast<const uint8_t*>(bytes.data()) + 64, position);
}

// The bits that are set in `before` but not in `after`.
inline std::vector<uint64_t> ClearedBits(const std::string& before,
                                         const bloom::RetouchedFilter& filter) {
  const std::string after = filter.SerializeBits();
  std::vector<uint64_t> cleared;
  const auto bits = [](const std::string& bytes) {
    return reinterpret_cast<const uint8_t*>(bytes.data()) + 64;
  };
  for (uint64_t p = 0; p < filter.shape().size; ++p) {
    const bool was = bloom::TestBit(bits(before), p), is = bloom::TestBit(bits(after), p);
    if (was && !is) cleared.push_back(p);
    EXPECT_TRUE(was || !is);
  }
  return cleared;
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_LITERATURE_RETOUCHED_H_
