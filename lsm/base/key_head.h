// The head of a key: the eight bytes after a prefix that all keys share, as a number.  Heads
// compare as the keys do, unless they are equal.  They lie in flat arrays, so a search need not
// read the keys.
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

// The eight bytes of `key` after the first `prefix_bytes`, padded with zeros, as a big-endian
// number.  REQUIRES: the key has at least `prefix_bytes`.  Inlined, since each search needs one,
// and compilers leave it a call.
[[gnu::always_inline]] inline uint64_t KeyHead(std::string_view key, size_t prefix_bytes) {
  assert(key.size() >= prefix_bytes);
  const size_t size_bytes = key.size() - prefix_bytes;
  // Loads of fixed size: copying a few bytes of unknown number costs more than everything else.
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

// Number of the ascending `heads` that are less than `head`.
inline size_t CountHeadsBelow(const uint64_t* heads, size_t count, uint64_t head) {
  if (count == 0) return 0;
  // Bisects without branches: they would be unpredictable and cost more than the load.  (A mask,
  // since compilers turn the conditional operator into a branch.)
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
