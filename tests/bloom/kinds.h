// Shared by the tests of filters: the catalog as a list of test types, digests, and functions that
// build filters.
#ifndef TRELLIS_TESTS_BLOOM_KINDS_H_
#define TRELLIS_TESTS_BLOOM_KINDS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/core/bits.h"
#include "bloom/filter_policy.h"

namespace testing_support {

template <class List>
struct TypesOf;
template <class... Kinds>
struct TypesOf<bloom::KindList<Kinds...>> {
  using type = testing::Types<Kinds...>;
};
using KeyedKindTypes = TypesOf<bloom::KeyedKinds>::type;
using BitKindTypes = TypesOf<bloom::BitKinds>::type;
using SolvedKindTypes = TypesOf<bloom::SolvedKinds>::type;

struct KindNames {
  template <class K>
  static std::string GetName(int) {
    return std::string(K::kName);
  }
};

// A number of probes that this kind supports, for tests that choose the shape of a filter: the only
// number, or an even one.
template <class K>
inline constexpr uint32_t kSomeProbes = 4;
template <class K>
requires requires { K::kProbes; }
inline constexpr uint32_t kSomeProbes<K> = K::kProbes;

// For kinds that support any number, an odd one, so that pairs and groups of three leave a
// remainder.
template <>
inline constexpr uint32_t kSomeProbes<bloom::Standard> = 5;
template <>
inline constexpr uint32_t kSomeProbes<bloom::Blocked> = 5;

// A small number of keys, and a target, at which every policy makes a filter of its own kind.  For
// fewer keys, and at targets between two powers of 1/2, a solved kind may be no smaller than a
// standard filter.  Then the policy makes a standard filter instead.
inline constexpr uint64_t kFewKeys = 1000;
inline constexpr double kFewKeysFpp = 1.0 / 1024;

// The digest of key i in a space of keys.  Digests of different keys differ, because Remix is a
// bijection.  So a filter of the digests [0, n) does not contain the digests from n on.
inline bloom::Digest DigestOfKey(uint64_t i, uint64_t space = 0) {
  // Also mixes the space, because spaces with small numbers would otherwise have nearly the same
  // keys.
  return bloom::Remix(i, space == 0 ? 1 : bloom::Remix(space, 1));
}

inline std::vector<bloom::Digest> DigestsOfKeys(uint64_t from, uint64_t to, uint64_t space = 0) {
  std::vector<bloom::Digest> digests;
  digests.reserve(to - from);
  for (uint64_t i = from; i < to; ++i) digests.push_back(DigestOfKey(i, space));
  return digests;
}

// The bytes of a filter as a table stores them.
inline std::string BuildFilter(std::string_view kind, const bloom::FilterContext& context,
                               std::span<const bloom::Digest> digests) {
  const std::unique_ptr<bloom::FilterBuilder> builder =
      bloom::PolicyFromName(kind).value()->NewBuilder(context);
  for (const bloom::Digest digest : digests) builder->Add(digest);
  return builder->Finish().value();
}

// Corrects the checksum after a change, as a malicious writer or another version would do.
inline void RepairChecksum(std::string& bytes) {
  const std::string_view view(bytes);
  bloom::Store64(&bytes[56], bloom::ChecksumOf(view.substr(0, 56), view.substr(64)));
}

// The number of digests [from, from + count) of a space that pass the filter, in batches.
inline uint64_t CountPassing(const bloom::FilterReader& reader, uint64_t from, uint64_t count,
                             uint64_t space = 0) {
  constexpr uint64_t kBatch = 1024;
  bool answers[kBatch];
  uint64_t passing = 0;
  for (uint64_t i = from; i < from + count; i += kBatch) {
    const auto digests = DigestsOfKeys(i, std::min(i + kBatch, from + count), space);
    reader.MayContainBatch(digests, answers);
    for (size_t j = 0; j < digests.size(); ++j) passing += answers[j];
  }
  return passing;
}

// The offset of a filter within a filter that wraps it (bloom/core/wrapped.h).
inline constexpr size_t kInnerAt = bloom::kFilterHeaderBytes;

// Corrects the checksum of the inner filter, whose size the outer header has, and the outer
// checksum.
inline void RepairBothChecksums(std::string& bytes) {
  const uint64_t inner_bytes = bloom::Load64(&bytes[32]);
  if (inner_bytes >= 64 && inner_bytes <= bytes.size() - kInnerAt) {
    std::string inner = bytes.substr(kInnerAt, inner_bytes);
    RepairChecksum(inner);
    bytes.replace(kInnerAt, inner_bytes, inner);
  }
  RepairChecksum(bytes);
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_KINDS_H_
