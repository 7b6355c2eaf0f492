// An array of small numbers of equal width, without gaps.
//
//     width w:  | number 0: w bits | number 1 | ...  bit p is bit (p & 7) of byte (p >> 3)
//
// Number i is in bits [i * w, (i + 1) * w), least significant bit first.  The bits after the last
// number are zero.
#ifndef TRELLIS_BLOOM_CORE_PACKED_H_
#define TRELLIS_BLOOM_CORE_PACKED_H_

#include <cassert>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"

namespace bloom::inline TRELLIS_ABI {

// The largest width: with 7 bits before it in its first byte, one load still covers a number.
inline constexpr uint32_t kMaxPackedBits = 57;

// Bytes of `count` numbers of `width` bits; UINT64_MAX if a filter may not have that many.
TRELLIS_API uint64_t PackedBytes(uint64_t count, uint32_t width);

// Describes what is wrong with bytes from a file as `count` numbers of `width` bits; empty if
// nothing is.
std::string PackedProblem(uint64_t count, uint32_t width, std::span<const uint8_t> bytes);

// Number i of an array in memory.  REQUIRES: 7 bytes after the end are readable.
inline uint64_t LoadPacked(const uint8_t* bytes, uint32_t width, uint64_t i) {
  const uint64_t bit = i * width;
  return Load64(bytes + (bit >> 3)) >> (bit & 7) & ((uint64_t{1} << width) - 1);
}

// Thread-safe while no thread changes it.
class TRELLIS_API PackedArray {
 public:
  PackedArray() = default;

  // An array of zeros.  InvalidArgument if a filter may not have that many bits, ResourceExhausted
  // without memory.  REQUIRES: width in [1, kMaxPackedBits].
  static absl::StatusOr<PackedArray> Zeros(uint64_t count, uint32_t width);
  // An array from what bytes() returned.  REQUIRES: PackedProblem finds nothing wrong with it.
  static absl::StatusOr<PackedArray> From(uint64_t count, uint32_t width,
                                          std::span<const uint8_t> bytes);

  uint64_t Get(uint64_t i) const {
    assert(i < count_);
    return LoadPacked(bits_.data(), width_, i);
  }
  // Starts loading number i.  (Inlined: GCC 12 drops calls to functions that only prefetch.)
  [[gnu::always_inline]] void Prefetch(uint64_t i) const {
    __builtin_prefetch(bits_.data() + (i * width_ >> 3));
  }
  // REQUIRES: value <= max().
  void Set(uint64_t i, uint64_t value) {
    assert(i < count_ && value <= max());
    const uint64_t bit = i * width_;
    uint8_t* const at = bits_.data() + (bit >> 3);
    const uint64_t mask = max() << (bit & 7);
    Store64(at, (Load64(at) & ~mask) | value << (bit & 7));
  }
  // Adds, but stops at max().
  void AddSaturating(uint64_t i, uint64_t by) { Set(i, AddUpTo(max(), Get(i), by)); }
  void Clear() {
    if (bits_.size() > 0) std::memset(bits_.data(), 0, bits_.size());
  }

  uint64_t size() const { return count_; }
  uint32_t width() const { return width_; }
  uint64_t max() const { return (uint64_t{1} << width_) - 1; }
  uint64_t size_bits() const { return count_ * width_; }
  std::span<const uint8_t> bytes() const { return {bits_.data(), PackedBytes(count_, width_)}; }

  uint64_t CountNonZero() const;

 private:
  PackedArray(uint64_t count, uint32_t width, AlignedBytes bits)
      : count_(count), width_(width), bits_(std::move(bits)) {}

  uint64_t count_ = 0;
  uint32_t width_ = 1;
  AlignedBytes bits_;  // the numbers and 7 bytes of zeros
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_PACKED_H_
