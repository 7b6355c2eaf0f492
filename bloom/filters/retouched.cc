#include "bloom/filters/retouched.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bloom/core/bits.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/variants/standard.h"

namespace bloom {
namespace {

constexpr uint64_t kDigestBytes = 8;
// Of a node of a std::set: colour, three links, the value.
constexpr uint64_t kNodeBytes = 4 * sizeof(void*) + sizeof(Digest);
// Keeps the choice of a bit apart from what the positions are made of.
constexpr uint64_t kChoiceSalt = 0x7265746f75636865;

DistinctProbes BitsOf(const FilterHeader& header, Digest digest) {
  return {Remix(digest, header.seed), header.shape.size, header.shape.probes};
}

absl::Status CheckScheme(ClearingScheme scheme) {
  if (scheme <= ClearingScheme::kRatio) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("scheme ", static_cast<int>(scheme), " is unknown"));
}

absl::Status NoBookkeeping() {
  return absl::FailedPreconditionError(
      "this needs the numbers of keys and false positives by bit, which the filter is without");
}

// What a choice goes by.
struct Candidate {
  uint64_t position;
  uint64_t additions;
  uint64_t false_positives;
};

bool HasFewerAdditions(const Candidate& a, const Candidate& b) {
  if (a.additions != b.additions) return a.additions < b.additions;
  return a.false_positives > b.false_positives;
}

bool HasMoreFalsePositives(const Candidate& a, const Candidate& b) {
  if (a.false_positives != b.false_positives) return a.false_positives > b.false_positives;
  return a.additions < b.additions;
}

// By additions / false positives, which is infinite without the latter: in products, so that
// nothing is divided by zero.
bool HasLowerRatio(const Candidate& a, const Candidate& b) {
  const uint64_t left = a.additions * b.false_positives;
  const uint64_t right = b.additions * a.false_positives;
  return left != right ? left < right : HasFewerAdditions(a, b);
}

// Where the parts of a payload begin that has bookkeeping.
struct Layout {
  explicit Layout(uint64_t bits)
      : additions((bits + 7) / 8),
        false_positives(additions + bits),
        count(false_positives + bits),
        digests(count + 8) {}

  uint64_t additions;
  uint64_t false_positives;
  uint64_t count;
  uint64_t digests;
};

static_assert(RetouchedFilter::kWeightBits == 8, "Layout counts bytes");

std::string BookkeepingProblem(uint64_t bits, std::span<const uint8_t> payload) {
  const Layout layout(bits);
  if (payload.size() < layout.digests)
    return absl::StrCat("has ", payload.size(), " bytes for ", bits, " bits and their weights");
  const uint64_t digest_bytes = payload.size() - layout.digests;
  const uint64_t count = Load64(payload.data() + layout.count);
  if (digest_bytes % kDigestBytes != 0 || digest_bytes / kDigestBytes != count)
    return absl::StrCat("has ", digest_bytes, " bytes for ", count, " digests");
  const uint8_t* const digests = payload.data() + layout.digests;
  for (uint64_t i = 1; i < count; ++i) {
    if (Load64(digests + kDigestBytes * (i - 1)) >= Load64(digests + kDigestBytes * i))
      return "has digests that do not ascend";
  }
  return "";
}

}  // namespace

RetouchedFilter::RetouchedFilter(StoredBits stored)
    : stored_(std::move(stored)), functions_(Standard::Functions(view())) {}

absl::StatusOr<RetouchedFilter> RetouchedFilter::Make(uint64_t key_count, double target_fpp,
                                                      uint64_t seed) {
  absl::StatusOr<Shape> shape = StandardShapeFor(key_count, target_fpp);
  if (!shape.ok()) return shape.status();
  shape->detail = 1;
  absl::StatusOr<AlignedBytes> bits = ZerosFor(Standard::PayloadBytes(*shape));
  if (!bits.ok()) return bits.status();
  absl::StatusOr<PackedArray> additions = PackedArray::Zeros(shape->size, kWeightBits);
  if (!additions.ok()) return additions.status();
  absl::StatusOr<PackedArray> false_positives = PackedArray::Zeros(shape->size, kWeightBits);
  if (!false_positives.ok()) return false_positives.status();
  RetouchedFilter filter(
      StoredBits{HeaderFor<RetouchedFilter>(*shape, seed, target_fpp), *std::move(bits)});
  filter.additions_ = *std::move(additions);
  filter.false_positives_ = *std::move(false_positives);
  return filter;
}

absl::StatusOr<RetouchedFilter> RetouchedFilter::Load(std::string_view bytes) {
  const absl::StatusOr<ParsedFilter> parsed = ParseAs<RetouchedFilter>(bytes);
  if (!parsed.ok()) return parsed.status();
  const Shape& shape = parsed->header.shape;
  const std::span<const uint8_t> payload = parsed->payload;
  absl::StatusOr<StoredBits> stored =
      StoredBits::Copy(parsed->header, payload.first(Standard::PayloadBytes(shape)));
  if (!stored.ok()) return stored.status();
  RetouchedFilter filter(*std::move(stored));
  if (!filter.has_bookkeeping()) return filter;
  const Layout layout(shape.size);
  absl::StatusOr<PackedArray> additions =
      PackedArray::From(shape.size, kWeightBits, payload.subspan(layout.additions, shape.size));
  if (!additions.ok()) return additions.status();
  absl::StatusOr<PackedArray> false_positives = PackedArray::From(
      shape.size, kWeightBits, payload.subspan(layout.false_positives, shape.size));
  if (!false_positives.ok()) return false_positives.status();
  filter.additions_ = *std::move(additions);
  filter.false_positives_ = *std::move(false_positives);
  for (uint64_t at = layout.digests; at < payload.size(); at += kDigestBytes)
    filter.known_.insert(filter.known_.end(), Load64(payload.data() + at));
  return filter;
}

std::string RetouchedFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (shape.detail > 1) return absl::StrCat("has a detail of ", shape.detail, ", not 0 or 1");
  if (shape.size == 0 || shape.size > kMaxSizeBits)
    return absl::StrCat("has ", shape.size, " bits");
  if (shape.detail == 1) {
    if (std::string problem = BookkeepingProblem(shape.size, payload); !problem.empty())
      return problem;
    payload = payload.first(Layout(shape.size).additions);
  }
  return Standard::Problem(shape, payload);
}

void RetouchedFilter::AddDigest(Digest digest) {
  Standard::Add(stored_.bits.data(), shape(), Remix(digest, seed()));
  stored_.header.CountKeys();
  if (!has_bookkeeping()) return;
  for (const uint64_t position : BitsOf(stored_.header, digest))
    additions_.AddSaturating(position, 1);
  ForgetFalsePositive(digest);
}

absl::StatusOr<bool> RetouchedFilter::AddFalsePositiveDigest(Digest digest) {
  if (!has_bookkeeping()) return NoBookkeeping();
  if (!MayContainDigest(digest) || !known_.insert(digest).second) return false;
  for (const uint64_t position : BitsOf(stored_.header, digest))
    false_positives_.AddSaturating(position, 1);
  return true;
}

void RetouchedFilter::ForgetFalsePositive(Digest digest) {
  if (known_.erase(digest) == 0) return;
  for (const uint64_t position : BitsOf(stored_.header, digest)) {
    const uint64_t count = false_positives_.Get(position);
    if (count > 0 && count < false_positives_.max()) false_positives_.Set(position, count - 1);
  }
}

uint64_t RetouchedFilter::ChooseBit(Digest digest, ClearingScheme scheme) const {
  const DistinctProbes bits = BitsOf(stored_.header, digest);
  const auto count = static_cast<uint64_t>(bits.end() - bits.begin());
  if (scheme == ClearingScheme::kRandom)
    return bits.begin()[ReduceRange(Remix(Remix(digest, seed()), kChoiceSalt), count)];
  Candidate candidates[kMaxProbes];
  std::transform(bits.begin(), bits.end(), candidates, [this](uint64_t position) {
    return Candidate{position, additions_.Get(position), false_positives_.Get(position)};
  });
  const auto better = scheme == ClearingScheme::kMinimumFn   ? HasFewerAdditions
                      : scheme == ClearingScheme::kMaximumFp ? HasMoreFalsePositives
                                                             : HasLowerRatio;
  return std::min_element(candidates, candidates + count, better)->position;
}

void RetouchedFilter::ClearOne(uint64_t position) {
  ClearBit(stored_.bits.data(), position);
  if (!has_bookkeeping()) return;
  additions_.Set(position, 0);
  false_positives_.Set(position, 0);
}

absl::StatusOr<bool> RetouchedFilter::SelectiveClearingDigest(Digest digest,
                                                              ClearingScheme scheme) {
  if (absl::Status status = CheckScheme(scheme); !status.ok()) return status;
  if (scheme != ClearingScheme::kRandom && !has_bookkeeping()) return NoBookkeeping();
  const bool passes = MayContainDigest(digest);
  if (passes) ClearOne(ChooseBit(digest, scheme));
  ForgetFalsePositive(digest);
  return passes;
}

absl::StatusOr<uint64_t> RetouchedFilter::ClearKnownFalsePositives(ClearingScheme scheme) {
  if (absl::Status status = CheckScheme(scheme); !status.ok()) return status;
  if (!has_bookkeeping()) return NoBookkeeping();
  uint64_t cleared = 0;
  while (!known_.empty()) {
    const absl::StatusOr<bool> one = SelectiveClearingDigest(*known_.begin(), scheme);
    if (!one.ok()) return one.status();
    cleared += *one;
  }
  return cleared;
}

absl::StatusOr<uint64_t> RetouchedFilter::RandomClearing(double share, uint64_t random_seed) {
  if (!(share >= 0 && share <= 1))
    return absl::InvalidArgumentError(absl::StrCat("share must lie in [0, 1], is ", share));
  uint64_t ones_left = CountOnes(stored_.bits.data(), stored_.bits.size());
  const auto cleared = static_cast<uint64_t>(std::llround(share * static_cast<double>(ones_left)));
  // One after the other, each with the chance that all sets of so many ones are equally likely.
  for (uint64_t position = 0, left = cleared; left > 0; ++position) {
    if (!TestBit(stored_.bits.data(), position)) continue;
    if (ReduceRange(Remix(position, random_seed), ones_left--) >= left) continue;
    ClearOne(position);
    --left;
  }
  return cleared;
}

absl::Status RetouchedFilter::Merge(const RetouchedFilter& other) {
  if (absl::Status status = stored_.Merge(other.stored_, "bookkeeping"); !status.ok())
    return status;
  for (uint64_t i = 0; i < additions_.size(); ++i)
    additions_.AddSaturating(i, other.additions_.Get(i));
  known_.clear();
  if (has_bookkeeping()) false_positives_.Clear();
  return absl::OkStatus();
}

void RetouchedFilter::Clear() {
  stored_.Clear();
  known_.clear();
  if (!has_bookkeeping()) return;
  additions_.Clear();
  false_positives_.Clear();
}

void RetouchedFilter::DropBookkeeping() {
  stored_.header.shape.detail = 0;
  additions_ = PackedArray();
  false_positives_ = PackedArray();
  known_.clear();
}

std::string RetouchedFilter::Serialize() const {
  if (!has_bookkeeping()) return SerializeBits();
  std::string payload;
  const auto append = [&payload](std::span<const uint8_t> bytes) {
    payload.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  append(stored_.bits.span());
  append(additions_.bytes());
  append(false_positives_.bytes());
  const auto append_number = [&append](uint64_t number) {
    uint8_t bytes[kDigestBytes];
    Store64(bytes, number);
    append(bytes);
  };
  append_number(known_.size());
  for (const Digest digest : known_) append_number(digest);
  return EncodeFilter(stored_.header,
                      {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()});
}

std::string RetouchedFilter::SerializeBits() const {
  FilterHeader header = stored_.header;
  header.shape.detail = 0;
  return EncodeFilter(header, stored_.bits.span());
}

uint64_t RetouchedFilter::bookkeeping_bytes() const {
  return (additions_.size_bits() + false_positives_.size_bits()) / 8 + known_.size() * kNodeBytes;
}

double RetouchedFilter::PredictedFpp(uint64_t key_count) const {
  return StandardFpp(shape().size, shape().probes, key_count);
}

double RetouchedFilter::CurrentFpp() const { return Standard::CurrentFpp(view()); }

double RetouchedFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(shape().size, shape().probes, stored_.OnesPer(shape().size));
}

}  // namespace bloom
