#include "bloom/core/packed.h"

#include "bloom/core/concat.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kSlackBytes = 7;

}  // namespace

uint64_t PackedBytes(uint64_t count, uint32_t width) {
  if (width == 0 || count > kMaxSizeBits / width) return UINT64_MAX;
  return (count * width + 7) / 8;
}

std::string PackedProblem(uint64_t count, uint32_t width, std::span<const uint8_t> bytes) {
  if (count == 0) return "has no cells";
  if (PackedBytes(count, width) != bytes.size()) {
    return Concat("has ", bytes.size(), " bytes for ", count, " numbers of ", width, " bits");
  }
  const uint64_t used = count * width % 8;  // bits of the last byte
  if (used != 0 && bytes.back() >> used != 0) return "has ones after its last number";
  return "";
}

absl::StatusOr<PackedArray> PackedArray::Zeros(uint64_t count, uint32_t width) {
  assert(width >= 1 && width <= kMaxPackedBits);
  const uint64_t size = PackedBytes(count, width);
  if (size == UINT64_MAX) {
    return absl::InvalidArgumentError(Concat(
        count, " numbers of ", width, " bits need more than the 2^56 bits that a filter may have"));
  }
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes bits, ZerosFor(size + kSlackBytes));
  return PackedArray(count, width, std::move(bits));
}

absl::StatusOr<PackedArray> PackedArray::From(uint64_t count, uint32_t width,
                                              std::span<const uint8_t> bytes) {
  absl::StatusOr<PackedArray> array = Zeros(count, width);
  if (array.ok()) std::memcpy(array->bits_.data(), bytes.data(), bytes.size());
  return array;
}

uint64_t PackedArray::CountNonZero() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < count_; ++i) count += Get(i) != 0;
  return count;
}

}  // namespace bloom
