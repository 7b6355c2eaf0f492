#include "bloom/literature/shifting_multiplicity.h"

#include <bit>
#include <cassert>
#include <cmath>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

bool IsMaxCount(uint64_t count) {
  return count >= 1 && count <= ShiftingMultiplicityFilter::kMaxCount;
}

absl::Status CheckErrorRate(double rate, uint64_t max_count) {
  const double least = static_cast<double>(max_count) * kMinTargetFpp;
  if (rate >= least && rate < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(Concat("error_rate must lie in [", least, ", 1), is ", rate));
}

}  // namespace

absl::StatusOr<ShiftingMultiplicityFilter> ShiftingMultiplicityFilter::Make(uint64_t key_count,
                                                                            uint32_t max_count,
                                                                            double error_rate,
                                                                            uint64_t seed) {
  if (!IsMaxCount(max_count)) {
    return absl::InvalidArgumentError(
        Concat("max_count must lie in [1, ", kMaxCount, "], is ", max_count));
  }
  TRELLIS_RETURN_IF_ERROR(CheckErrorRate(error_rate, max_count));
  // Solves error_rate = 1 - (1 - f)^c for f.
  const double passes = -std::expm1(std::log1p(-error_rate) / max_count);
  absl::StatusOr<Shape> shape = StandardShapeFor(key_count, passes);
  if (!shape.ok())
    return key_count == 0 ? shape.status() : TooLarge(key_count, error_rate, "error_rate");
  shape->detail = max_count;
  return MakeOfShape(*shape, error_rate, seed);
}

absl::StatusOr<ShiftingMultiplicityFilter> ShiftingMultiplicityFilter::MakeOfShape(
    const Shape& shape, double error_rate, uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(CheckErrorRate(error_rate, 1));
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored,
                           StoredBits::Zeros<ShiftingMultiplicityFilter>(
                               shape, ShiftedBytes(shape.size), seed, error_rate));
  return ShiftingMultiplicityFilter(std::move(stored));
}

absl::StatusOr<ShiftingMultiplicityFilter> ShiftingMultiplicityFilter::Load(
    std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(StoredBits stored, StoredBits::Load<ShiftingMultiplicityFilter>(bytes));
  return ShiftingMultiplicityFilter(std::move(stored));
}

std::string ShiftingMultiplicityFilter::Problem(const Shape& shape,
                                                std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (!IsMaxCount(shape.detail))
    return Concat("has counts up to ", shape.detail, ", not 1 to ", kMaxCount);
  return ShiftedProblem(shape.size, static_cast<uint32_t>(shape.detail) - 1, payload);
}

absl::Status ShiftingMultiplicityFilter::AddDigest(Digest digest, uint32_t count) {
  if (count < 1 || count > max_count()) {
    return absl::InvalidArgumentError(
        Concat("count must lie in [1, ", max_count(), "], is ", count));
  }
  Probes bases(Remix(digest, seed()), shape().size);
  for (uint32_t i = 0; i < shape().probes; ++i)
    SetBit(stored_.bits.data(), bases.Next() + count - 1);
  stored_.header.CountKeys();
  return absl::OkStatus();
}

uint32_t ShiftingMultiplicityFilter::CountDigest(Digest digest) const {
  uint64_t counts = (uint64_t{1} << max_count()) - 1;  // bit j - 1: the count may be j
  Probes bases(Remix(digest, seed()), shape().size);
  for (uint32_t i = 0; i < shape().probes && counts != 0; ++i)
    counts &= LoadShifted(stored_.bits.data(), bases.Next());
  return static_cast<uint32_t>(std::bit_width(counts));
}

uint64_t ShiftingMultiplicityFilter::size_bits() const {
  return ShiftedBits(shape().size, max_count() - 1);
}

double ShiftingMultiplicityFilter::PredictedCorrectRate(uint32_t count, uint64_t key_count) const {
  assert(count <= max_count());
  const double passes = StandardFpp(shape().size, shape().probes, key_count);
  return std::pow(1 - passes, max_count() - count);
}

double ShiftingMultiplicityFilter::CurrentCorrectRate(uint32_t count) const {
  assert(count <= max_count());
  const std::vector<double> fill = FillByOffset(stored_.bits.span(), shape().size, max_count() - 1);
  double correct = 1;
  for (uint32_t higher = count + 1; higher <= max_count(); ++higher)
    correct *= 1 - std::pow(fill[higher - 1], shape().probes);
  return correct;
}

// A key sets as many bits as in the standard filter, at whatever offset.
double ShiftingMultiplicityFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(shape().size, shape().probes, stored_.OnesPer(shape().size));
}

}  // namespace bloom
