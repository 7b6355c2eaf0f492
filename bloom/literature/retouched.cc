#include "bloom/literature/retouched.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/variants/standard.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

using Kind = DigestsByBit::Kind;

constexpr uint64_t kNumberBytes = 8;  // of a digest, and of a count
// Makes the choice of a bit independent of the positions.
constexpr uint64_t kChoiceSalt = 0x7265746f75636865;

DistinctProbes BitsOf(const FilterHeader& header, Digest digest) {
  return {Remix(digest, header.seed), header.shape.size, header.shape.probes};
}

absl::Status CheckScheme(ClearingScheme scheme) {
  if (scheme <= ClearingScheme::kRatio) return absl::OkStatus();
  return absl::InvalidArgumentError(Concat("scheme ", static_cast<int>(scheme), " is unknown"));
}

absl::Status NoBookkeeping() {
  return absl::FailedPreconditionError(
      "this needs the keys and false positives by bit, which the filter does not have");
}

// The data for a choice between bits.
struct Candidate {
  uint64_t position;
  uint64_t keys;
  uint64_t false_positives;
};

bool HasFewerKeys(const Candidate& a, const Candidate& b) {
  if (a.keys != b.keys) return a.keys < b.keys;
  return a.false_positives > b.false_positives;
}

bool HasMoreFalsePositives(const Candidate& a, const Candidate& b) {
  if (a.false_positives != b.false_positives) return a.false_positives > b.false_positives;
  return a.keys < b.keys;
}

// Compares keys / false positives, infinite without false positives.  Uses products, to avoid a
// division by zero.
bool HasLowerRatio(const Candidate& a, const Candidate& b) {
  const uint64_t left = a.keys * b.false_positives;
  const uint64_t right = b.keys * a.false_positives;
  return left != right ? left < right : HasFewerKeys(a, b);
}

// Digests in a file.
class StoredDigests {
 public:
  StoredDigests() = default;
  // Takes their count and the digests from the front of `bytes`.  Describes what is wrong with the
  // count; empty if nothing is.
  std::string TakeFrom(std::span<const uint8_t>* bytes) {
    if (bytes->size() < kNumberBytes)
      return Concat("has ", bytes->size(), " bytes for a number of digests");
    const uint64_t count = Load64(bytes->data());
    *bytes = bytes->subspan(kNumberBytes);
    if (count > bytes->size() / kNumberBytes)
      return Concat("has ", bytes->size(), " bytes for ", count, " digests");
    bytes_ = bytes->first(kNumberBytes * count);
    *bytes = bytes->subspan(bytes_.size());
    return "";
  }

  bool Ascend() const {
    for (uint64_t i = 1; i < size(); ++i) {
      if (at(i - 1) >= at(i)) return false;
    }
    return true;
  }

  uint64_t size() const { return bytes_.size() / kNumberBytes; }
  Digest at(uint64_t i) const { return Load64(bytes_.data() + kNumberBytes * i); }

 private:
  std::span<const uint8_t> bytes_;
};

bool HaveCommon(const StoredDigests& a, const StoredDigests& b) {
  for (uint64_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a.at(i) == b.at(j)) return true;
    ++(a.at(i) < b.at(j) ? i : j);
  }
  return false;
}

// The parts of a payload.
struct Parts {
  std::span<const uint8_t> bits;
  StoredDigests keys;
  StoredDigests false_positives;

  // Describes what is wrong with the sizes of the parts, except the bits; empty if nothing is.
  std::string TakeFrom(const Shape& shape, std::span<const uint8_t> payload) {
    bits = payload;
    if (shape.detail == 0) return "";
    const uint64_t bit_bytes = (shape.size + 7) / 8;
    if (payload.size() < bit_bytes)
      return Concat("has ", payload.size(), " bytes for ", shape.size, " bits");
    bits = payload.first(bit_bytes);
    payload = payload.subspan(bit_bytes);
    if (std::string problem = keys.TakeFrom(&payload); !problem.empty()) return problem;
    if (std::string problem = false_positives.TakeFrom(&payload); !problem.empty()) return problem;
    if (!payload.empty()) return Concat("has ", payload.size(), " bytes after its digests");
    return "";
  }
  // Describes what is wrong with the digests; empty if nothing is.
  std::string Problem() const {
    if (!keys.Ascend() || !false_positives.Ascend()) return "has digests that do not ascend";
    if (HaveCommon(keys, false_positives)) return "has a key that is a false positive";
    return "";
  }
};

void AppendNumbers(const std::vector<uint64_t>& numbers, std::string* bytes) {
  for (const uint64_t number : numbers) {
    char stored[kNumberBytes];
    Store64(stored, number);
    bytes->append(stored, kNumberBytes);
  }
}

}  // namespace

RetouchedFilter::RetouchedFilter(StoredBits stored)
    : stored_(std::move(stored)), functions_(Standard::Functions(view())) {}

absl::StatusOr<RetouchedFilter> RetouchedFilter::Make(uint64_t key_count, double target_fpp,
                                                      uint64_t seed) {
  TRELLIS_ASSIGN_OR_RETURN(Shape shape, StandardShapeFor(key_count, target_fpp));
  shape.detail = 1;
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes bits, ZerosFor(Standard::PayloadBytes(shape)));
  TRELLIS_ASSIGN_OR_RETURN(DigestsByBit digests,
                           DigestsByBit::Make(shape.size, shape.probes, seed));
  RetouchedFilter filter(
      StoredBits{HeaderFor<RetouchedFilter>(shape, seed, target_fpp), std::move(bits)});
  filter.digests_ = std::move(digests);
  return filter;
}

absl::StatusOr<RetouchedFilter> RetouchedFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<RetouchedFilter>(bytes));
  const FilterHeader& header = parsed.header;
  Parts parts;
  parts.TakeFrom(header.shape, parsed.payload);
  if (parts.keys.size() > header.key_count) {
    return absl::DataLossError(Concat("filter: has ", parts.keys.size(), " keys of ",
                                      header.key_count, " that were added"));
  }
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored, StoredBits::Copy(header, parts.bits));
  RetouchedFilter filter(std::move(stored));
  if (!filter.has_bookkeeping()) return filter;
  TRELLIS_ASSIGN_OR_RETURN(DigestsByBit digests,
                           DigestsByBit::Make(header.shape.size, header.shape.probes, header.seed));
  TRELLIS_RETURN_IF_ERROR(digests.Reserve(parts.keys.size() + parts.false_positives.size()));
  for (uint64_t i = 0; i < parts.keys.size(); ++i) digests.PutNew(parts.keys.at(i), Kind::kKey);
  for (uint64_t i = 0; i < parts.false_positives.size(); ++i)
    digests.PutNew(parts.false_positives.at(i), Kind::kFalsePositive);
  filter.digests_ = std::move(digests);
  return filter;
}

std::string RetouchedFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (shape.detail > 1) return Concat("has a detail of ", shape.detail, ", not 0 or 1");
  if (shape.size == 0 || shape.size > kMaxSizeBits) return Concat("has ", shape.size, " bits");
  Parts parts;
  if (std::string problem = parts.TakeFrom(shape, payload); !problem.empty()) return problem;
  if (std::string problem = parts.Problem(); !problem.empty()) return problem;
  return Standard::Problem(shape, parts.bits);
}

void RetouchedFilter::AddDigest(Digest digest) {
  Standard::Add(stored_.bits.data(), shape(), Remix(digest, seed()));
  stored_.header.CountKeys();
  if (has_bookkeeping()) digests_.Put(digest, Kind::kKey);
}

absl::StatusOr<bool> RetouchedFilter::AddFalsePositiveDigest(Digest digest) {
  if (!has_bookkeeping()) return NoBookkeeping();
  if (!MayContainDigest(digest) || digests_.Find(digest).has_value()) return false;
  if (digests_.PutNew(digest, Kind::kFalsePositive)) return true;
  return absl::ResourceExhaustedError(
      Concat("no room for another false positive beside ", digests_.Count(Kind::kKey), " keys and ",
             digests_.Count(Kind::kFalsePositive), " known false positives"));
}

void RetouchedFilter::ForgetFalsePositive(Digest digest) {
  if (digests_.Find(digest) == Kind::kFalsePositive) digests_.Remove(digest);
}

uint64_t RetouchedFilter::ChooseBit(Digest digest, ClearingScheme scheme) const {
  const DistinctProbes bits = BitsOf(stored_.header, digest);
  const auto count = static_cast<uint64_t>(bits.end() - bits.begin());
  if (scheme == ClearingScheme::kRandom)
    return bits.begin()[ReduceRange(Remix(Remix(digest, seed()), kChoiceSalt), count)];
  Candidate candidates[kMaxProbes];
  std::transform(bits.begin(), bits.end(), candidates, [this](uint64_t position) {
    Candidate candidate{position, 0, 0};
    digests_.ForEachAt(position, [this, &candidate](Digest other, Kind kind) {
      if (!MayContainDigest(other)) return;  // does not pass now, so it loses nothing
      ++(kind == Kind::kKey ? candidate.keys : candidate.false_positives);
    });
    return candidate;
  });
  const auto better = scheme == ClearingScheme::kMinimumFn   ? HasFewerKeys
                      : scheme == ClearingScheme::kMaximumFp ? HasMoreFalsePositives
                                                             : HasLowerRatio;
  return std::min_element(candidates, candidates + count, better)->position;
}

absl::StatusOr<bool> RetouchedFilter::SelectiveClearingDigest(Digest digest,
                                                              ClearingScheme scheme) {
  TRELLIS_RETURN_IF_ERROR(CheckScheme(scheme));
  if (scheme != ClearingScheme::kRandom && !has_bookkeeping()) return NoBookkeeping();
  const bool passes = MayContainDigest(digest);
  if (passes) ClearBit(stored_.bits.data(), ChooseBit(digest, scheme));
  ForgetFalsePositive(digest);
  return passes;
}

absl::StatusOr<uint64_t> RetouchedFilter::ClearKnownFalsePositives(ClearingScheme scheme) {
  TRELLIS_RETURN_IF_ERROR(CheckScheme(scheme));
  if (!has_bookkeeping()) return NoBookkeeping();
  std::vector<Digest> known;
  try {
    known = digests_.Sorted(Kind::kFalsePositive);
  } catch (const std::bad_alloc&) {
    return NoMemoryForDigests(known_false_positive_count());
  }
  uint64_t cleared = 0;
  for (const Digest digest : known) {
    TRELLIS_ASSIGN_OR_RETURN(const bool one, SelectiveClearingDigest(digest, scheme));
    cleared += one;
  }
  return cleared;
}

absl::StatusOr<uint64_t> RetouchedFilter::RandomClearing(double share, uint64_t random_seed) {
  if (!(share >= 0 && share <= 1))
    return absl::InvalidArgumentError(Concat("share must lie in [0, 1], is ", share));
  uint64_t ones_left = CountOnes();
  const auto cleared = static_cast<uint64_t>(std::llround(share * static_cast<double>(ones_left)));
  // Visits the ones in order, and clears each with the probability that makes all sets of `cleared`
  // ones equally likely.
  for (uint64_t position = 0, left = cleared; left > 0; ++position) {
    if (!TestBit(stored_.bits.data(), position)) continue;
    if (ReduceRange(Remix(position, random_seed), ones_left--) >= left) continue;
    ClearBit(stored_.bits.data(), position);
    --left;
  }
  return cleared;
}

absl::Status RetouchedFilter::Merge(const RetouchedFilter& other) {
  TRELLIS_RETURN_IF_ERROR(CheckMergeable(stored_.header, other.stored_.header, "bookkeeping"));
  // Allocates all memory before it changes anything.
  TRELLIS_RETURN_IF_ERROR(
      digests_.Reserve(digests_.Count(Kind::kKey) + other.digests_.Count(Kind::kKey)));
  TRELLIS_RETURN_IF_ERROR(stored_.Merge(other.stored_, "bookkeeping"));
  digests_.RemoveAll(Kind::kFalsePositive);
  other.digests_.ForEach(Kind::kKey, [this](Digest digest) { digests_.Put(digest, Kind::kKey); });
  return absl::OkStatus();
}

void RetouchedFilter::Clear() {
  stored_.Clear();
  if (has_bookkeeping()) digests_.Clear();
}

void RetouchedFilter::DropBookkeeping() {
  stored_.header.shape.detail = 0;
  digests_ = DigestsByBit();
}

std::string RetouchedFilter::Serialize() const {
  if (!has_bookkeeping()) return SerializeBits();
  std::string payload(reinterpret_cast<const char*>(stored_.bits.data()), stored_.bits.size());
  for (const Kind kind : {Kind::kKey, Kind::kFalsePositive}) {
    AppendNumbers({digests_.Count(kind)}, &payload);
    AppendNumbers(digests_.Sorted(kind), &payload);
  }
  return EncodeFilter(stored_.header, BytesOf(payload));
}

std::string RetouchedFilter::SerializeBits() const {
  FilterHeader header = stored_.header;
  header.shape.detail = 0;
  return EncodeFilter(header, stored_.bits.span());
}

uint64_t RetouchedFilter::bookkeeping_bytes() const { return digests_.size_bytes(); }

double RetouchedFilter::PredictedFpp(uint64_t key_count) const {
  return StandardFpp(shape().size, shape().probes, key_count);
}

double RetouchedFilter::CurrentFpp() const { return Standard::CurrentFpp(view()); }

double RetouchedFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(shape().size, shape().probes, stored_.OnesPer(shape().size));
}

}  // namespace bloom
