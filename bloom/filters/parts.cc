#include "bloom/filters/parts.h"

#include <cstddef>

#include "absl/status/status.h"
#include "bloom/core/bits.h"
#include "bloom/core/concat.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr size_t kLengthBytes = 8;

}  // namespace

void AppendPart(std::string_view part, std::string& payload) {
  char length[kLengthBytes];
  Store64(length, part.size());
  payload.append(length, kLengthBytes);
  payload.append(part);
}

absl::StatusOr<std::vector<std::string_view>> ReadParts(std::span<const uint8_t> payload) {
  std::string_view rest(reinterpret_cast<const char*>(payload.data()), payload.size());
  std::vector<std::string_view> parts;
  while (!rest.empty()) {
    if (rest.size() < kLengthBytes) {
      return absl::DataLossError(
          Concat("has ", rest.size(), " bytes after its part ", parts.size()));
    }
    const uint64_t length = Load64(rest.data());
    rest.remove_prefix(kLengthBytes);
    if (length > rest.size()) {
      return absl::DataLossError(
          Concat("has ", rest.size(), " bytes for its part ", parts.size(), " of ", length));
    }
    parts.push_back(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return parts;
}

}  // namespace bloom
