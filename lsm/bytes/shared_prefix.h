// Length of the common prefix of two keys.
#ifndef TRELLIS_LSM_BYTES_SHARED_PREFIX_H_
#define TRELLIS_LSM_BYTES_SHARED_PREFIX_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Number of bytes in the common prefix.
inline size_t SharedPrefixBytes(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  size_t i = 0;
  // Compares eight bytes at a time; the first different bit gives the byte.
  for (; i + sizeof(uint64_t) <= limit; i += sizeof(uint64_t)) {
    uint64_t word_a;
    uint64_t word_b;
    std::memcpy(&word_a, a.data() + i, sizeof(word_a));
    std::memcpy(&word_b, b.data() + i, sizeof(word_b));
    const uint64_t difference = word_a ^ word_b;
    if (difference == 0) continue;
    const int bits = std::endian::native == std::endian::little ? std::countr_zero(difference)
                                                                : std::countl_zero(difference);
    return i + static_cast<size_t>(bits) / 8;
  }
  while (i < limit && a[i] == b[i]) ++i;
  return i;
}

// Whether `size_bytes` bytes are equal.  For prefixes of keys, which are short, this costs less
// than a call of memcmp.
[[gnu::always_inline]] inline bool AreEqual(const char* a, const char* b, size_t size_bytes) {
  const auto differ = [a, b](size_t at, auto word_a) {
    auto word_b = word_a;
    std::memcpy(&word_a, a + at, sizeof(word_a));
    std::memcpy(&word_b, b + at, sizeof(word_b));
    return word_a != word_b;
  };
  // The last word may overlap the one before it.
  if (size_bytes >= sizeof(uint64_t)) {
    for (size_t at = 0; at + sizeof(uint64_t) < size_bytes; at += sizeof(uint64_t)) {
      if (differ(at, uint64_t{0})) return false;
    }
    return !differ(size_bytes - sizeof(uint64_t), uint64_t{0});
  }
  if (size_bytes >= sizeof(uint32_t))
    return !differ(0, uint32_t{0}) && !differ(size_bytes - sizeof(uint32_t), uint32_t{0});
  for (size_t at = 0; at < size_bytes; ++at) {
    if (a[at] != b[at]) return false;
  }
  return true;
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_SHARED_PREFIX_H_
