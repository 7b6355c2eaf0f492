#include "bloom/literature/shifting_association.h"

#include <cmath>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/variants/shifted_bits.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// Half of the offsets that fit.  A key chooses each of its two offsets from that many.
constexpr uint32_t kHalf = kMaxOffset / 2;

// For each region, in the order of the bits: the distance of the key's bits from their bases.
struct Regions {
  explicit Regions(uint64_t hash) {
    Probes offsets = OffsetsOf(hash, kHalf);
    shift[1] = 1 + offsets.Next();
    shift[2] = shift[1] + 1 + offsets.Next();
  }

  uint64_t shift[3] = {0, 0, 0};
};

absl::Status CheckUnclearRate(double rate) {
  constexpr double kLeast = 2 * kMinTargetFpp;
  if (rate >= kLeast && rate < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("unclear_rate must lie in [", kLeast, ", 1), is ", rate));
}

// The rates if each region that is not the key's passes with that probability.
ShiftingAssociationFilter::Rates RatesOf(double passes) {
  const double fails = 1 - passes;
  return {.clear = fails * fails,
          .partial = passes * fails,
          .unclear = passes * passes,
          .foreign = -std::expm1(3 * std::log1p(-passes))};
}

}  // namespace

absl::StatusOr<ShiftingAssociationFilter> ShiftingAssociationFilter::Make(uint64_t key_count,
                                                                          double unclear_rate,
                                                                          uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(CheckUnclearRate(unclear_rate));
  // Solves unclear_rate = 1 - (1 - f)^2 for f.
  const double passes = unclear_rate / (1 + std::sqrt(1 - unclear_rate));
  const absl::StatusOr<Shape> shape = StandardShapeFor(key_count, passes);
  if (!shape.ok())
    return key_count == 0 ? shape.status() : TooLarge(key_count, unclear_rate, "unclear_rate");
  return MakeOfShape(*shape, unclear_rate, seed);
}

absl::StatusOr<ShiftingAssociationFilter> ShiftingAssociationFilter::MakeOfShape(
    const Shape& shape, double unclear_rate, uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(CheckUnclearRate(unclear_rate));
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored,
                           StoredBits::Zeros<ShiftingAssociationFilter>(
                               shape, ShiftedBytes(shape.size), seed, unclear_rate));
  return ShiftingAssociationFilter(std::move(stored));
}

absl::StatusOr<ShiftingAssociationFilter> ShiftingAssociationFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored, StoredBits::Load<ShiftingAssociationFilter>(bytes));
  return ShiftingAssociationFilter(std::move(stored));
}

std::string ShiftingAssociationFilter::Problem(const Shape& shape,
                                               std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  return ShiftedProblem(shape.size, kMaxOffset, payload);
}

void ShiftingAssociationFilter::AddDigest(Digest digest, bool in_first, bool in_second) {
  if (!in_first && !in_second) return;
  const uint64_t hash = Remix(digest, seed());
  const uint64_t shift = Regions(hash).shift[!in_first ? 2 : in_second ? 1 : 0];
  Probes bases(hash, shape().size);
  for (uint32_t i = 0; i < shape().probes; ++i) SetBit(stored_.bits.data(), bases.Next() + shift);
  stored_.header.CountKeys();
}

uint32_t ShiftingAssociationFilter::QueryDigest(Digest digest) const {
  const uint64_t hash = Remix(digest, seed());
  const Regions regions(hash);
  uint64_t all = 1 | uint64_t{1} << regions.shift[1] | uint64_t{1} << regions.shift[2];
  Probes bases(hash, shape().size);
  for (uint32_t i = 0; i < shape().probes && all != 0; ++i)
    all &= LoadShifted(stored_.bits.data(), bases.Next());
  uint32_t answer = 0;
  for (uint32_t i = 0; i < 3; ++i)
    answer |= static_cast<uint32_t>(all >> regions.shift[i] & 1) << i;
  return answer;
}

uint64_t ShiftingAssociationFilter::size_bits() const {
  return ShiftedBits(shape().size, kMaxOffset);
}

ShiftingAssociationFilter::Rates ShiftingAssociationFilter::PredictedRates(
    uint64_t key_count) const {
  return RatesOf(StandardFpp(shape().size, shape().probes, key_count));
}

ShiftingAssociationFilter::Rates ShiftingAssociationFilter::CurrentRates() const {
  const std::vector<double> fill = FillByOffset(stored_.bits.span(), shape().size, kMaxOffset);
  const auto passes_at = [&](uint32_t shift) { return std::pow(fill[shift], shape().probes); };
  double passes = passes_at(0);
  for (uint32_t first = 1; first <= kHalf; ++first) {
    passes += passes_at(first) / kHalf;
    for (uint32_t second = 1; second <= kHalf; ++second)
      passes += passes_at(first + second) / (kHalf * kHalf);
  }
  return RatesOf(passes / 3);
}

// A key sets as many bits as in the standard filter, at whatever offset.
double ShiftingAssociationFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(shape().size, shape().probes, stored_.OnesPer(shape().size));
}

}  // namespace bloom
