// Bits in memory.  Bit p is bit (p & 7) of byte (p >> 3), in memory as on disk.
#ifndef TRELLIS_BLOOM_CORE_BITS_H_
#define TRELLIS_BLOOM_CORE_BITS_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

// The number in eight bytes, the least significant first.
inline uint64_t Load64(const void* from) {
  uint64_t value;
  std::memcpy(&value, from, 8);
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
  return value;
}
inline void Store64(void* to, uint64_t value) {
  if constexpr (std::endian::native == std::endian::big) value = __builtin_bswap64(value);
  std::memcpy(to, &value, 8);
}

inline bool TestBit(const uint8_t* bits, uint64_t position) {
  return ((bits[position >> 3] >> (position & 7)) & 1) != 0;
}

inline void SetBit(uint8_t* bits, uint64_t position) {
  bits[position >> 3] = static_cast<uint8_t>(bits[position >> 3] | (1u << (position & 7)));
}

inline void ClearBit(uint8_t* bits, uint64_t position) {
  bits[position >> 3] = static_cast<uint8_t>(bits[position >> 3] & ~(1u << (position & 7)));
}

inline std::span<const uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Number of ones in `size` bytes.
inline uint64_t CountOnes(const uint8_t* bytes, uint64_t size) {
  uint64_t ones = 0;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    ones += static_cast<uint64_t>(std::popcount(word));
  }
  for (; size > 0; ++bytes, --size) ones += static_cast<uint64_t>(std::popcount(*bytes));
  return ones;
}

// Number of ones among the bits [from, to).
inline uint64_t CountOnesBetween(const uint8_t* bits, uint64_t from, uint64_t to) {
  uint64_t ones = 0;
  for (; from < to && from % 8 != 0; ++from) ones += TestBit(bits, from);
  const uint64_t whole_bytes = (to - from) / 8;
  ones += CountOnes(bits + from / 8, whole_bytes);
  for (from += 8 * whole_bytes; from < to; ++from) ones += TestBit(bits, from);
  return ones;
}

// Ors neighbouring lines, 2i and 2i + 1, into line i of `half`, which must be zeros.
inline void FoldLinesInHalf(std::span<const uint8_t> lines, size_t line_bytes, uint8_t* half) {
  for (size_t i = 0; i < lines.size(); ++i) {
    uint8_t& both = half[i / (2 * line_bytes) * line_bytes + i % line_bytes];
    both = static_cast<uint8_t>(both | lines[i]);
  }
}

// Zeroed bytes at an address that is a multiple of 64, so that a line of 512 bits is one cache
// line.
class TRELLIS_API AlignedBytes {
 public:
  static constexpr size_t kAlignment = 64;

  AlignedBytes() = default;
  // Leaves the other one empty.
  AlignedBytes(AlignedBytes&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBytes& operator=(AlignedBytes&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    data_ = std::move(other.data_);
    return *this;
  }

  // Empty (data() is null) if size is 0 or memory has run out.
  static AlignedBytes Zeros(size_t size);

  uint8_t* data() { return data_.get(); }
  const uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<const uint8_t> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(uint8_t* bytes) const { std::free(bytes); }
  };

  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

// ResourceExhausted.
inline absl::Status NoMemoryFor(uint64_t size) {
  return absl::ResourceExhaustedError("no memory for a filter of " + std::to_string(size) +
                                      " bytes");
}

// ResourceExhausted.
inline absl::Status NoMemoryForDigests(uint64_t count) {
  return absl::ResourceExhaustedError("no memory for " + std::to_string(count) + " digests");
}

// As AlignedBytes::Zeros, but ResourceExhausted if memory has run out.
inline absl::StatusOr<AlignedBytes> ZerosFor(uint64_t size) {
  AlignedBytes bytes = AlignedBytes::Zeros(size);
  if (bytes.size() == size) return bytes;
  return NoMemoryFor(size);
}

// a + b, or `most` if that is less.  REQUIRES: a <= most.
inline uint64_t AddUpTo(uint64_t most, uint64_t a, uint64_t b) {
  return b < most - a ? a + b : most;
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_BITS_H_
