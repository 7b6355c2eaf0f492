#include "bloom/filters/shifting_counting.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "bloom/core/probe.h"
#include "bloom/core/shifting.h"
#include "bloom/core/sizing.h"

namespace bloom {
namespace {

bool IsCounterBits(uint64_t bits) {
  return bits >= 1 && bits <= ShiftingCountingFilter::kMaxCounterBits;
}

// Of a sound shape, up to where the bases themselves overflow.
uint64_t CellsOf(const Shape& shape) {
  const auto counter_bits = static_cast<uint32_t>(shape.detail);
  return ShiftedBits(shape.size, ShiftingCountingFilter::OffsetsFor(counter_bits));
}

// What is wrong with a shape, whatever its payload.
std::string ShapeProblem(const Shape& shape) {
  if (std::string problem = PairsProblem(shape); !problem.empty()) return problem;
  if (!IsCounterBits(shape.detail)) {
    return absl::StrCat("has counters of ", shape.detail, " bits, not 1 to ",
                        ShiftingCountingFilter::kMaxCounterBits);
  }
  return shape.size == 0 ? "has no bases" : "";
}

}  // namespace

absl::StatusOr<ShiftingCountingFilter> ShiftingCountingFilter::MakeWithCounters(
    uint64_t key_count, double target_fpp, uint32_t counter_bits, uint64_t seed) {
  if (!IsCounterBits(counter_bits)) {
    return absl::InvalidArgumentError(
        absl::StrCat("counter_bits must lie in [1, ", kMaxCounterBits, "], is ", counter_bits));
  }
  absl::StatusOr<Shape> shape = ShiftingShapeFor(key_count, target_fpp, OffsetsFor(counter_bits));
  if (!shape.ok()) return shape.status();
  shape->detail = counter_bits;
  return MakeOfShape(*shape, target_fpp, seed);
}

absl::StatusOr<ShiftingCountingFilter> ShiftingCountingFilter::MakeOfShape(const Shape& shape,
                                                                           double target_fpp,
                                                                           uint64_t seed) {
  if (absl::Status status = CheckTargetFpp(target_fpp); !status.ok()) return status;
  if (const std::string problem = ShapeProblem(shape); !problem.empty())
    return absl::InvalidArgumentError("shape: " + problem);
  absl::StatusOr<PackedArray> counters =
      PackedArray::Zeros(CellsOf(shape), static_cast<uint32_t>(shape.detail));
  if (!counters.ok()) return counters.status();
  return ShiftingCountingFilter(HeaderFor<ShiftingCountingFilter>(shape, seed, target_fpp),
                                *std::move(counters));
}

absl::StatusOr<ShiftingCountingFilter> ShiftingCountingFilter::Load(std::string_view bytes) {
  const absl::StatusOr<ParsedFilter> parsed = ParseAs<ShiftingCountingFilter>(bytes);
  if (!parsed.ok()) return parsed.status();
  const Shape& shape = parsed->header.shape;
  absl::StatusOr<PackedArray> counters =
      PackedArray::From(CellsOf(shape), static_cast<uint32_t>(shape.detail), parsed->payload);
  if (!counters.ok()) return counters.status();
  return ShiftingCountingFilter(parsed->header, *std::move(counters));
}

std::string ShiftingCountingFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ShapeProblem(shape); !problem.empty()) return problem;
  return PackedProblem(CellsOf(shape), static_cast<uint32_t>(shape.detail), payload);
}

void ShiftingCountingFilter::AddDigest(Digest digest) {
  for (const uint64_t cell : DistinctPairs(Remix(digest, header_.seed), header_.shape, Offsets())) {
    counters_.AddSaturating(cell, 1);
  }
  header_.key_count += header_.key_count < UINT64_MAX;
}

bool ShiftingCountingFilter::RemoveDigest(Digest digest) {
  if (!MayContainDigest(digest)) return false;
  for (const uint64_t cell : DistinctPairs(Remix(digest, header_.seed), header_.shape, Offsets())) {
    const uint64_t count = counters_.Get(cell);
    if (count < counters_.max()) counters_.Set(cell, count - 1);
  }
  if (header_.key_count > 0) --header_.key_count;
  return true;
}

bool ShiftingCountingFilter::MayContainDigest(Digest digest) const {
  const uint64_t hash = Remix(digest, header_.seed);
  const uint64_t shift = (1 + OffsetsOf(hash, Offsets()).Next()) * counters_.width();
  const uint8_t* const counters = counters_.bytes().data();
  Probes bases(hash, header_.shape.size);
  for (uint32_t i = 0; i < header_.shape.probes; i += 2) {
    const uint64_t pair = LoadShifted(counters, bases.Next() * counters_.width());
    if ((pair & counters_.max()) == 0 || (pair >> shift & counters_.max()) == 0) return false;
  }
  return true;
}

absl::Status ShiftingCountingFilter::Merge(const ShiftingCountingFilter& other) {
  if (absl::Status status = CheckMergeable(header_, other.header_, "counter_bits"); !status.ok())
    return status;
  for (uint64_t i = 0; i < counters_.size(); ++i)
    counters_.AddSaturating(i, other.counters_.Get(i));
  header_.key_count = AddUpTo(UINT64_MAX, header_.key_count, other.header_.key_count);
  return absl::OkStatus();
}

absl::Status ShiftingCountingFilter::Intersect(const ShiftingCountingFilter& other) {
  if (absl::Status status = CheckMergeable(header_, other.header_, "counter_bits"); !status.ok())
    return status;
  for (uint64_t i = 0; i < counters_.size(); ++i)
    counters_.Set(i, std::min(counters_.Get(i), other.counters_.Get(i)));
  header_.key_count = std::min(header_.key_count, other.header_.key_count);
  return absl::OkStatus();
}

void ShiftingCountingFilter::Clear() {
  counters_.Clear();
  header_.key_count = 0;
}

double ShiftingCountingFilter::PredictedFpp(uint64_t key_count) const {
  return ShiftingFpp(header_.shape.size, header_.shape.probes, key_count, Offsets());
}

double ShiftingCountingFilter::CurrentFpp() const {
  return PairedFpp(header_.shape.size, header_.shape.probes, Offsets(), [this](uint64_t i) {
    uint64_t word = 0;
    const uint64_t end = std::min(64 * i + 64, counters_.size());
    for (uint64_t cell = 64 * i; cell < end; ++cell)
      word |= uint64_t{counters_.Get(cell) != 0} << (cell % 64);
    return word;
  });
}

double ShiftingCountingFilter::EstimatedKeyCount() const {
  const double fill =
      static_cast<double>(counters_.CountNonZero()) / static_cast<double>(counters_.size());
  return ShiftingKeyCountFromFill(header_.shape.size, header_.shape.probes, Offsets(), fill);
}

uint64_t ShiftingCountingFilter::CountSaturated() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < counters_.size(); ++i) count += counters_.Get(i) == counters_.max();
  return count;
}

}  // namespace bloom
