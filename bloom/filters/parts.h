// A payload that consists of the bytes of other filters, each with its own header and checksum.
//
//     +-------------+- - - - -+-------------+- - - - -+
//     | length: u64 | part 0  | length: u64 | part 1  | ...  up to the end of the payload
//     +-------------+- - - - -+-------------+- - - - -+
//
// Lengths are in bytes, little-endian.  A part may be empty.
#ifndef TRELLIS_BLOOM_FILTERS_PARTS_H_
#define TRELLIS_BLOOM_FILTERS_PARTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

TRELLIS_API void AppendPart(std::string_view part, std::string& payload);

// Splits any bytes into parts, which point into them.  DataLoss unless the last part ends at the
// end of the payload.
TRELLIS_API absl::StatusOr<std::vector<std::string_view>> ReadParts(
    std::span<const uint8_t> payload);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FILTERS_PARTS_H_
