#include "bloom/policy/kind_builder.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace bloom::inline TRELLIS_ABI {

absl::Status CheckHasAll(std::string_view filter, std::span<const Digest> digests) {
  const FilterReader reader = FilterReader::Open(filter);
  if (reader.state() != FilterState::kUsable) {
    return absl::InternalError(
        absl::StrCat("a filter that was just built ", reader.Describe().problem));
  }
  bool results[256];
  while (!digests.empty()) {
    const std::span<const Digest> group =
        digests.first(std::min(digests.size(), std::size(results)));
    reader.MayContainBatch(group, results);
    const bool* missed = std::find(results, results + group.size(), false);
    if (missed != results + group.size()) {
      return absl::InternalError(absl::StrCat("a filter that was just built misses the digest ",
                                              absl::Hex(group[missed - results]), " of a key"));
    }
    digests = digests.subspan(group.size());
  }
  return absl::OkStatus();
}

absl::Status NoMemoryBeyond(uint64_t digests) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for more than ", digests, " digests of keys"));
}

}  // namespace bloom
