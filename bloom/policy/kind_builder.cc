#include "bloom/policy/kind_builder.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>

#include "bloom/core/concat.h"

namespace bloom::inline TRELLIS_ABI {

namespace {

std::string HexOf(Digest digest) {
  char digits[16];
  char* const end = std::to_chars(std::begin(digits), std::end(digits), digest, 16).ptr;
  return std::string(digits, end);
}

}  // namespace

absl::Status CheckHasAll(std::string_view filter, std::span<const Digest> digests) {
  const FilterReader reader = FilterReader::Open(filter);
  if (reader.state() != FilterState::kUsable) {
    return absl::InternalError(Concat("a filter that was just built ", reader.Describe().problem));
  }
  bool results[256];
  while (!digests.empty()) {
    const std::span<const Digest> group =
        digests.first(std::min(digests.size(), std::size(results)));
    reader.MayContainBatch(group, results);
    const bool* missed = std::find(results, results + group.size(), false);
    if (missed != results + group.size()) {
      return absl::InternalError(Concat("a filter that was just built misses the digest ",
                                        HexOf(group[missed - results]), " of a key"));
    }
    digests = digests.subspan(group.size());
  }
  return absl::OkStatus();
}

absl::Status NoMemoryBeyond(uint64_t digests) {
  return absl::ResourceExhaustedError(
      Concat("no memory for more than ", digests, " digests of keys"));
}

}  // namespace bloom
