#include "bloom/literature/shifting_counting.h"

#include <algorithm>

#include "bloom/core/concat.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/variants/shifted_bits.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// Describes what is wrong with a shape, for any payload; empty if nothing is.
std::string CountingShapeProblem(const Shape& shape) {
  if (std::string problem = PairsProblem(shape); !problem.empty()) return problem;
  if (shape.detail < 1 || shape.detail > ShiftingCountingFilter::kMaxCounterBits) {
    return Concat("has counters of ", shape.detail, " bits, not 1 to ",
                  ShiftingCountingFilter::kMaxCounterBits);
  }
  if (shape.size == 0) return "has no bases";
  if (shape.size > kMaxSizeBits / shape.detail)
    return Concat("has ", shape.size, " bases, which is more than 2^56 bits of counters");
  return "";
}

}  // namespace

absl::StatusOr<ShiftingCountingFilter> ShiftingCountingFilter::MakeWithCounters(
    uint64_t key_count, double target_fpp, uint32_t counter_bits, uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(StoredCounters::CheckCounterBits(counter_bits, kMaxCounterBits));
  TRELLIS_ASSIGN_OR_RETURN(Shape shape,
                           ShiftingShapeFor(key_count, target_fpp, OffsetsFor(counter_bits)));
  shape.detail = counter_bits;
  if (PackedBytes(CellsOf(shape), counter_bits) == UINT64_MAX)
    return TooLarge(key_count, target_fpp);
  return MakeOfShape(shape, target_fpp, seed);
}

absl::StatusOr<ShiftingCountingFilter> ShiftingCountingFilter::MakeOfShape(const Shape& shape,
                                                                           double target_fpp,
                                                                           uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  if (const std::string problem = CountingShapeProblem(shape); !problem.empty())
    return absl::InvalidArgumentError("shape: " + problem);
  TRELLIS_ASSIGN_OR_RETURN(StoredCounters stored,
                           StoredCounters::Zeros<ShiftingCountingFilter>(shape, seed, target_fpp));
  return ShiftingCountingFilter(std::move(stored));
}

absl::StatusOr<ShiftingCountingFilter> ShiftingCountingFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(StoredCounters stored,
                           StoredCounters::Load<ShiftingCountingFilter>(bytes));
  return ShiftingCountingFilter(std::move(stored));
}

std::string ShiftingCountingFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = CountingShapeProblem(shape); !problem.empty()) return problem;
  return PackedProblem(CellsOf(shape), static_cast<uint32_t>(shape.detail), payload);
}

DistinctPairs ShiftingCountingFilter::CellsOf(Digest digest) const {
  return {Remix(digest, seed()), shape(), Offsets()};
}

void ShiftingCountingFilter::AddDigest(Digest digest) { stored_.Raise(CellsOf(digest)); }

bool ShiftingCountingFilter::RemoveDigest(Digest digest) {
  if (!MayContainDigest(digest)) return false;
  stored_.Lower(CellsOf(digest));
  return true;
}

bool ShiftingCountingFilter::MayContainDigest(Digest digest) const {
  const uint64_t hash = Remix(digest, seed());
  const uint64_t shift = (1 + OffsetsOf(hash, Offsets()).Next()) * stored_.counters.width();
  const uint8_t* const counters = stored_.counters.bytes().data();
  Probes bases(hash, shape().size);
  for (uint32_t i = 0; i < shape().probes; i += 2) {
    const uint64_t pair = LoadShifted(counters, bases.Next() * stored_.counters.width());
    if ((pair & stored_.counters.max()) == 0 || (pair >> shift & stored_.counters.max()) == 0)
      return false;
  }
  return true;
}

double ShiftingCountingFilter::PredictedFpp(uint64_t key_count) const {
  return ShiftingFpp(shape().size, shape().probes, key_count, Offsets());
}

double ShiftingCountingFilter::CurrentFpp() const {
  return PairedFpp(shape().size, shape().probes, Offsets(), [this](uint64_t i) {
    uint64_t word = 0;
    const uint64_t end = std::min(64 * i + 64, stored_.counters.size());
    for (uint64_t cell = 64 * i; cell < end; ++cell)
      word |= uint64_t{stored_.counters.Get(cell) != 0} << (cell % 64);
    return word;
  });
}

double ShiftingCountingFilter::EstimatedKeyCount() const {
  return ShiftingKeyCountFromFill(shape().size, shape().probes, Offsets(), stored_.Fill());
}

}  // namespace bloom
