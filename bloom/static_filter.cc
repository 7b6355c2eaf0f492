#include "bloom/static_filter.h"

#include <cstring>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace bloom {

absl::StatusOr<StaticFilter> StaticFilter::OfKeys(std::string_view kind,
                                                  std::span<const std::string_view> keys,
                                                  double target_fpp, uint64_t seed) {
  std::vector<Digest> digests;
  digests.reserve(keys.size());
  for (const std::string_view key : keys) digests.push_back(bloom::DigestOf(key, seed));
  return OfDigests(kind, digests, target_fpp, seed);
}

absl::StatusOr<StaticFilter> StaticFilter::OfDigests(std::string_view kind,
                                                     std::span<const Digest> digests,
                                                     double target_fpp, uint64_t seed) {
  const absl::StatusOr<std::shared_ptr<const FilterPolicy>> policy = PolicyFromName(kind);
  if (!policy.ok()) return policy.status();
  const std::unique_ptr<FilterBuilder> builder =
      (*policy)->NewBuilder({.target_fpp = target_fpp, .seed = seed});
  for (const Digest digest : digests) builder->Add(digest);
  const absl::StatusOr<std::string> bytes = builder->Finish();
  if (!bytes.ok()) return bytes.status();
  return Load(*bytes);
}

absl::StatusOr<StaticFilter> StaticFilter::Load(std::string_view bytes) {
  absl::StatusOr<AlignedBytes> copy = ZerosFor(bytes.size());
  if (!copy.ok()) return copy.status();
  if (!bytes.empty()) std::memcpy(copy->data(), bytes.data(), bytes.size());
  StaticFilter filter(*std::move(copy));
  switch (filter.reader_.state()) {
    case FilterState::kUsable:
      return filter;
    case FilterState::kUnknown:
      return absl::UnimplementedError(absl::StrCat("filter: ", filter.Describe().problem));
    case FilterState::kDamaged:
      break;
  }
  return absl::DataLossError(absl::StrCat("filter: ", filter.Describe().problem));
}

}  // namespace bloom
