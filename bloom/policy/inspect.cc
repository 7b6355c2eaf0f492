#include "bloom/inspect.h"

#include <algorithm>

#include "bloom/core/bits.h"

namespace bloom::inline TRELLIS_ABI {

std::vector<double> FillByPart(const FilterReader& reader, size_t parts) {
  const uint64_t bits = reader.has_fill() ? reader.size_bits() : 0;
  const auto* payload = reinterpret_cast<const uint8_t*>(reader.payload().data());
  const uint64_t count = std::min<uint64_t>(parts, bits);
  std::vector<double> fills;
  fills.reserve(count);
  uint64_t from = 0;
  for (uint64_t i = 1; i <= count; ++i) {
    // i * bits / count, in two steps that cannot overflow.
    const uint64_t to = bits / count * i + bits % count * i / count;
    const auto ones = static_cast<double>(CountOnesBetween(payload, from, to));
    fills.push_back(ones / static_cast<double>(to - from));
    from = to;
  }
  return fills;
}

}  // namespace bloom
