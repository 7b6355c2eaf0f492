#include "bloom/literature/shifting_double.h"

#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/variants/shifted_bits.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/standard.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// The second array is a standard filter of one probe.
Shape SecondOf(const Shape& shape) { return {shape.size, 1}; }

// UINT64_MAX instead of overflowing.
uint64_t BytesOf(const Shape& shape) {
  return Shifting::PayloadBytes(shape) + Standard::PayloadBytes(SecondOf(shape));
}

double RateOf(uint64_t bases, uint32_t probes, uint64_t key_count) {
  return ShiftingFpp(bases, probes, key_count, kMaxOffset) * StandardFpp(bases, 1, key_count);
}

// The bit of a key in the second array.
uint64_t SecondPosition(const Shape& shape, uint64_t hash) {
  Probes probes(hash, shape.size);
  for (uint32_t i = 0; i < shape.probes; i += 2) probes.Next();
  return probes.Next();
}

}  // namespace

absl::StatusOr<ShiftingDoubleFilter> ShiftingDoubleFilter::Make(uint64_t key_count,
                                                                double target_fpp, uint64_t seed) {
  const absl::StatusOr<Shape> shape = FewestBasesFor(
      key_count, target_fpp,
      [key_count](uint64_t bases, uint32_t probes) { return RateOf(bases, probes, key_count); });
  TRELLIS_RETURN_IF_ERROR(shape.status());
  return MakeOfShape(*shape, target_fpp, seed);
}

absl::StatusOr<ShiftingDoubleFilter> ShiftingDoubleFilter::MakeOfShape(const Shape& shape,
                                                                       double target_fpp,
                                                                       uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored, StoredBits::Zeros<ShiftingDoubleFilter>(
                                                  shape, BytesOf(shape), seed, target_fpp));
  return ShiftingDoubleFilter(std::move(stored));
}

absl::StatusOr<ShiftingDoubleFilter> ShiftingDoubleFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored, StoredBits::Load<ShiftingDoubleFilter>(bytes));
  return ShiftingDoubleFilter(std::move(stored));
}

std::string ShiftingDoubleFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  // An array has an eighth as many bytes as bits, so the sum overflows for no size.
  const uint64_t first = Shifting::PayloadBytes(shape);
  if (payload.size() < first) return Shifting::Problem(shape, payload);
  if (std::string problem = Shifting::Problem(shape, payload.first(first)); !problem.empty())
    return problem;
  return Standard::Problem(SecondOf(shape), payload.subspan(first));
}

void ShiftingDoubleFilter::AddDigest(Digest digest) {
  const uint64_t hash = Remix(digest, seed());
  Shifting::Add(stored_.bits.data(), shape(), hash);
  SetBit(stored_.bits.data() + Shifting::PayloadBytes(shape()), SecondPosition(shape(), hash));
  stored_.header.CountKeys();
}

bool ShiftingDoubleFilter::MayContainDigest(Digest digest) const {
  const uint64_t hash = Remix(digest, seed());
  const uint64_t offset = Shifting::Offset(hash);
  const uint8_t* const first = stored_.bits.data();
  Probes probes(hash, shape().size);
  for (uint32_t i = 0; i < shape().probes; i += 2) {
    const uint64_t bits = LoadShifted(first, probes.Next());
    if ((bits & bits >> offset & 1) == 0) return false;
  }
  return TestBit(first + Shifting::PayloadBytes(shape()), probes.Next());
}

uint64_t ShiftingDoubleFilter::size_bits() const {
  return Shifting::SizeBits(shape()) + Standard::SizeBits(SecondOf(shape()));
}

double ShiftingDoubleFilter::PredictedFpp(uint64_t key_count) const {
  return RateOf(shape().size, shape().probes, key_count);
}

double ShiftingDoubleFilter::CurrentFpp() const {
  const uint8_t* const first = stored_.bits.data();
  const FilterView second{first + Shifting::PayloadBytes(shape()), SecondOf(shape()), seed()};
  return Shifting::CurrentFpp({first, shape(), seed()}) * Standard::CurrentFpp(second);
}

double ShiftingDoubleFilter::EstimatedKeyCount() const {
  const uint64_t first = Shifting::PayloadBytes(shape());
  const auto ones = static_cast<double>(
      bloom::CountOnes(stored_.bits.data() + first, stored_.bits.size() - first));
  return StandardKeyCountFromFill(shape().size, 1, ones / static_cast<double>(shape().size));
}

}  // namespace bloom
