// Keys by their first eight bytes behind a prefix that all of them share: numbers that compare as
// the keys do, as far as they go, in flat arrays that a search runs through without touching the
// keys.
#ifndef TRELLIS_LSM_BASE_KEY_HEAD_H_
#define TRELLIS_LSM_BASE_KEY_HEAD_H_

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr size_t kKeyHeadBytes = sizeof(uint64_t);

inline uint64_t LoadBigEndian(const char* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

// The eight bytes of `key` behind the first `prefix_bytes`, padded with zeros, as a big-endian
// number. REQUIRES: the key has at least `prefix_bytes`.
inline uint64_t KeyHead(std::string_view key, size_t prefix_bytes) {
  assert(key.size() >= prefix_bytes);
  const size_t size_bytes = key.size() - prefix_bytes;
  // Loads of a fixed size: a copy of a few bytes whose number is not known costs more than all the
  // rest.
  if (size_bytes >= kKeyHeadBytes) return LoadBigEndian(key.data() + prefix_bytes);
  if (size_bytes == 0) return 0;
  const int padding_bits = 8 * static_cast<int>(kKeyHeadBytes - size_bytes);
  if (key.size() >= kKeyHeadBytes) {
    return LoadBigEndian(key.data() + key.size() - kKeyHeadBytes) << padding_bits;
  }
  uint64_t head = 0;
  for (const char byte : key.substr(prefix_bytes)) head = head << 8 | static_cast<uint8_t>(byte);
  return head << padding_bits;
}

// How many of the ascending `heads` are below `head`.
inline size_t CountHeadsBelow(const uint64_t* heads, size_t count, uint64_t head) {
  if (count == 0) return 0;
  // Halves without branches: which half it is cannot be predicted, so a branch would cost more than
  // the load.  (Written as a mask, for compilers make a branch of the conditional operator.)
  const uint64_t* base = heads;
  while (count > 1) {
    const size_t half = count / 2;
    base += half & (size_t{0} - static_cast<size_t>(base[half - 1] < head));
    count -= half;
  }
  return static_cast<size_t>(base - heads) + (*base < head ? 1 : 0);
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEY_HEAD_H_
