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

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_SHARED_PREFIX_H_
