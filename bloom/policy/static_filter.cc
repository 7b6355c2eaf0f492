#include "bloom/static_filter.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/status.h"
#include "bloom/filter.h"
#include "bloom/variants/standard.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// Up to this many are sorted in any case.
constexpr size_t kFewDigests = 10'000;

// Whether more than about 2 % of the digests are duplicates.  Estimates the number of different
// ones by linear counting, in a filter of one probe and one bit per digest, within 0.85 / sqrt(n)
// (Whang, Vander-Zanden, Taylor 1990).  Takes a twentieth of the time of sorting.
absl::StatusOr<bool> MayRepeat(std::span<const Digest> digests) {
  if (digests.size() <= kFewDigests) return true;
  TRELLIS_ASSIGN_OR_RETURN(Filter<Standard> seen,
                           Filter<Standard>::MakeOfShape({digests.size(), 1}, 0.5));
  seen.AddDigests(digests);
  return seen.EstimatedKeyCount() < 0.98 * static_cast<double>(digests.size());
}

absl::StatusOr<std::string> BuildFrom(const FilterPolicy& policy, const FilterContext& context,
                                      std::span<const Digest> digests) {
  const std::unique_ptr<FilterBuilder> builder = policy.NewBuilder(context);
  for (const Digest digest : digests) builder->Add(digest);
  return builder->Finish();
}

// A sorted copy: the builder counts equal digests once only if they are consecutive.
std::vector<Digest> Sorted(std::span<const Digest> digests) {
  std::vector<Digest> sorted(digests.begin(), digests.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

absl::StatusOr<StaticFilter> StaticFilter::OfKeys(std::string_view kind,
                                                  std::span<const std::string_view> keys,
                                                  double target_fpp, uint64_t seed) {
  std::vector<Digest> digests;
  try {
    digests.reserve(keys.size());
  } catch (const std::bad_alloc&) {
    return NoMemoryForDigests(keys.size());
  }
  for (const std::string_view key : keys) digests.push_back(bloom::DigestOf(key, seed));
  return OfDigests(kind, digests, target_fpp, seed);
}

absl::StatusOr<StaticFilter> StaticFilter::OfDigests(std::string_view kind,
                                                     std::span<const Digest> digests,
                                                     double target_fpp, uint64_t seed) {
  TRELLIS_ASSIGN_OR_RETURN(const std::shared_ptr<const FilterPolicy> policy, PolicyFromName(kind));
  TRELLIS_ASSIGN_OR_RETURN(const bool may_repeat, MayRepeat(digests));
  const FilterContext context{.target_fpp = target_fpp, .seed = seed};
  absl::StatusOr<std::string> bytes;
  try {
    bytes = may_repeat ? BuildFrom(*policy, context, Sorted(digests))
                       : BuildFrom(*policy, context, digests);
  } catch (const std::bad_alloc&) {
    return NoMemoryForDigests(digests.size());
  }
  TRELLIS_RETURN_IF_ERROR(bytes.status());
  return Load(*bytes);
}

absl::StatusOr<StaticFilter> StaticFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes copy, ZerosFor(bytes.size()));
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  StaticFilter filter(std::move(copy));
  switch (filter.reader_.state()) {
    case FilterState::kUsable:
      return filter;
    case FilterState::kUnknown:
      return absl::UnimplementedError(Concat("filter: ", filter.Describe().problem));
    case FilterState::kDamaged:
      break;
  }
  return absl::DataLossError(Concat("filter: ", filter.Describe().problem));
}

}  // namespace bloom
