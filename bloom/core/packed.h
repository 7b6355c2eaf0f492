// An array of small numbers of one width, one behind the other without gaps.
//
//     width w:  | number 0: w bits | number 1 | ...  bit p is bit (p & 7) of byte (p >> 3)
//
// so that number i lies in bits [i * w, (i + 1) * w), its least significant bit first; the bits
// behind the last number are zero.
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

// The widest number: 7 bits before it in its first byte, and it is still loaded at once.
inline constexpr uint32_t kMaxPackedBits = 57;

// Bytes of `count` numbers of `width` bits; UINT64_MAX for more than a filter may have.
uint64_t PackedBytes(uint64_t count, uint32_t width);

// What is wrong with bytes from a file that should be `count` numbers of `width` bits; empty if
// nothing.
std::string PackedProblem(uint64_t count, uint32_t width, std::span<const uint8_t> bytes);

// Number i of an array in memory, of which 7 bytes behind the end can be read.
inline uint64_t LoadPacked(const uint8_t* bytes, uint32_t width, uint64_t i) {
  const uint64_t bit = i * width;
  return Load64(bytes + (bit >> 3)) >> (bit & 7) & ((uint64_t{1} << width) - 1);
}

// Thread-safe while no thread changes it.
class PackedArray {
 public:
  PackedArray() = default;

  // InvalidArgument if there are more bits than a filter may have, ResourceExhausted if there is no
  // memory.  REQUIRES: width in [1, kMaxPackedBits].
  static absl::StatusOr<PackedArray> Zeros(uint64_t count, uint32_t width);
  // The same with what bytes() gave, which PackedProblem finds nothing wrong with.
  static absl::StatusOr<PackedArray> From(uint64_t count, uint32_t width,
                                          std::span<const uint8_t> bytes);

  uint64_t Get(uint64_t i) const {
    assert(i < count_);
    return LoadPacked(bits_.data(), width_, i);
  }
  // Starts to load it.  (Inlined: GCC 12 drops calls to what only prefetches.)
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
  AlignedBytes bits_;  // and 7 bytes of zeros
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_PACKED_H_
