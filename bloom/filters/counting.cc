#include "bloom/counting.h"

#include <cmath>
#include <new>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/variants/standard.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

std::string ShapeProblem(const Shape& shape) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.detail < 1 || shape.detail > CountingFilter::kMaxCounterBits) {
    return Concat("has counters of ", shape.detail, " bits, not 1 to ",
                  CountingFilter::kMaxCounterBits);
  }
  if (shape.size < 1 || shape.size > kMaxSizeBits / shape.detail)
    return Concat("has ", shape.size, " counters, not 1 to 2^56 bits of them");
  return "";
}

}  // namespace

absl::StatusOr<CountingFilter> CountingFilter::MakeWithCounters(uint64_t key_count,
                                                                double target_fpp,
                                                                uint32_t counter_bits,
                                                                uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(StoredCounters::CheckCounterBits(counter_bits, kMaxCounterBits));
  TRELLIS_ASSIGN_OR_RETURN(Shape shape, StandardShapeFor(key_count, target_fpp));
  shape.detail = counter_bits;
  if (PackedBytes(CellsOf(shape), counter_bits) == UINT64_MAX)
    return TooLarge(key_count, target_fpp);
  return MakeOfShape(shape, target_fpp, seed);
}

absl::StatusOr<CountingFilter> CountingFilter::MakeOfShape(const Shape& shape, double target_fpp,
                                                           uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  if (const std::string problem = ShapeProblem(shape); !problem.empty())
    return absl::InvalidArgumentError("shape: " + problem);
  TRELLIS_ASSIGN_OR_RETURN(StoredCounters stored,
                           StoredCounters::Zeros<CountingFilter>(shape, seed, target_fpp));
  return CountingFilter(std::move(stored));
}

absl::StatusOr<CountingFilter> CountingFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(StoredCounters stored, StoredCounters::Load<CountingFilter>(bytes));
  return CountingFilter(std::move(stored));
}

std::string CountingFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ShapeProblem(shape); !problem.empty()) return problem;
  return PackedProblem(CellsOf(shape), static_cast<uint32_t>(shape.detail), payload);
}

DistinctProbes CountingFilter::CellsOf(Digest digest) const {
  return {Remix(digest, seed()), shape().size, shape().probes};
}

void CountingFilter::AddDigest(Digest digest) { stored_.Raise(CellsOf(digest)); }

bool CountingFilter::RemoveDigest(Digest digest) {
  if (!MayContainDigest(digest)) return false;
  stored_.Lower(CellsOf(digest));
  return true;
}

bool CountingFilter::MayContainDigest(Digest digest) const {
  Probes probes(Remix(digest, seed()), shape().size);
  for (uint32_t i = 0; i < shape().probes; ++i) {
    if (stored_.counters.Get(probes.Next()) == 0) return false;
  }
  return true;
}

absl::StatusOr<std::string> CountingFilter::SerializeAsStandard() const {
  FilterHeader header = HeaderFor<Standard>({shape().size, shape().probes}, seed(), target_fpp());
  header.key_count = added_count();
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes bits, ZerosFor(Standard::PayloadBytes(header.shape)));
  for (uint64_t i = 0; i < stored_.counters.size(); ++i) {
    if (stored_.counters.Get(i) != 0) SetBit(bits.data(), i);
  }
  try {
    return EncodeFilter(header, bits.span());
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(kFilterHeaderBytes + bits.size());
  }
}

double CountingFilter::PredictedFpp(uint64_t key_count) const {
  return StandardFpp(shape().size, shape().probes, key_count);
}

double CountingFilter::CurrentFpp() const { return std::pow(stored_.Fill(), shape().probes); }

double CountingFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(shape().size, shape().probes, stored_.Fill());
}

}  // namespace bloom
