// The filter of no keys: no payload, every answer is "no".  It is a kind of its own, so that a file
// that lost its bits is never mistaken for one without keys.
#ifndef TRELLIS_BLOOM_VARIANTS_EMPTY_H_
#define TRELLIS_BLOOM_VARIANTS_EMPTY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {

struct Empty {
  static constexpr std::string_view kName = "empty";
  static constexpr uint8_t kTag = 1;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;

  static absl::StatusOr<Shape> ShapeFor(uint64_t key_count, double target_fpp) {
    if (key_count != 0) return absl::InvalidArgumentError("the empty filter holds no keys");
    TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
    return Shape{};
  }
  static double PredictedFpp(const Shape&, uint64_t) { return 0; }
  static uint64_t SizeBits(const Shape&) { return 0; }
  static uint64_t PayloadBytes(const Shape&) { return 0; }
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload) {
    return shape == Shape{} && payload.empty() ? "" : "an empty filter has a size";
  }

  static FilterFunctions Functions(const FilterView&) {
    return {[](const FilterView&, Digest) { return false; },  //
            [](const FilterView&, Digest) {},
            [](const FilterView&, const Digest*, size_t count, bool* results) {
              std::fill_n(results, count, false);
            }};
  }
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_VARIANTS_EMPTY_H_
