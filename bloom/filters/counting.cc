#include "bloom/filters/counting.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bloom/core/bits.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/variants/standard.h"

namespace bloom {
namespace {

DistinctProbes CellsOf(const FilterHeader& header, Digest digest) {
  return {Remix(digest, header.seed), header.shape.size, header.shape.probes};
}

std::string ShapeProblem(const Shape& shape) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.detail < 1 || shape.detail > CountingFilter::kMaxCounterBits) {
    return absl::StrCat("has counters of ", shape.detail, " bits, not 1 to ",
                        CountingFilter::kMaxCounterBits);
  }
  if (shape.size < 1 || shape.size > kMaxSizeBits / shape.detail)
    return absl::StrCat("has ", shape.size, " counters, not 1 to 2^56 bits of them");
  return "";
}

}  // namespace

absl::StatusOr<CountingFilter> CountingFilter::MakeWithCounters(uint64_t key_count,
                                                                double target_fpp,
                                                                uint32_t counter_bits,
                                                                uint64_t seed) {
  if (counter_bits < 1 || counter_bits > kMaxCounterBits) {
    return absl::InvalidArgumentError(
        absl::StrCat("counter_bits must lie in [1, ", kMaxCounterBits, "], is ", counter_bits));
  }
  absl::StatusOr<Shape> shape = StandardShapeFor(key_count, target_fpp);
  if (!shape.ok()) return shape.status();
  shape->detail = counter_bits;
  return MakeOfShape(*shape, target_fpp, seed);
}

absl::StatusOr<CountingFilter> CountingFilter::MakeOfShape(const Shape& shape, double target_fpp,
                                                           uint64_t seed) {
  if (absl::Status status = CheckTargetFpp(target_fpp); !status.ok()) return status;
  if (const std::string problem = ShapeProblem(shape); !problem.empty())
    return absl::InvalidArgumentError("shape: " + problem);
  absl::StatusOr<PackedArray> counters =
      PackedArray::Zeros(shape.size, static_cast<uint32_t>(shape.detail));
  if (!counters.ok()) return counters.status();
  return CountingFilter(HeaderFor<CountingFilter>(shape, seed, target_fpp), *std::move(counters));
}

absl::StatusOr<CountingFilter> CountingFilter::Load(std::string_view bytes) {
  const absl::StatusOr<ParsedFilter> parsed = ParseAs<CountingFilter>(bytes);
  if (!parsed.ok()) return parsed.status();
  const Shape& shape = parsed->header.shape;
  absl::StatusOr<PackedArray> counters =
      PackedArray::From(shape.size, static_cast<uint32_t>(shape.detail), parsed->payload);
  if (!counters.ok()) return counters.status();
  return CountingFilter(parsed->header, *std::move(counters));
}

std::string CountingFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ShapeProblem(shape); !problem.empty()) return problem;
  return PackedProblem(shape.size, static_cast<uint32_t>(shape.detail), payload);
}

void CountingFilter::AddDigest(Digest digest) {
  for (const uint64_t cell : CellsOf(header_, digest)) counters_.AddSaturating(cell, 1);
  header_.key_count += header_.key_count < UINT64_MAX;
}

bool CountingFilter::RemoveDigest(Digest digest) {
  if (!MayContainDigest(digest)) return false;
  for (const uint64_t cell : CellsOf(header_, digest)) {
    const uint64_t count = counters_.Get(cell);
    if (count < counters_.max()) counters_.Set(cell, count - 1);
  }
  if (header_.key_count > 0) --header_.key_count;
  return true;
}

bool CountingFilter::MayContainDigest(Digest digest) const {
  Probes probes(Remix(digest, header_.seed), header_.shape.size);
  for (uint32_t i = 0; i < header_.shape.probes; ++i) {
    if (counters_.Get(probes.Next()) == 0) return false;
  }
  return true;
}

absl::Status CountingFilter::Merge(const CountingFilter& other) {
  if (absl::Status status = CheckMergeable(header_, other.header_, "counter_bits"); !status.ok())
    return status;
  for (uint64_t i = 0; i < counters_.size(); ++i)
    counters_.AddSaturating(i, other.counters_.Get(i));
  header_.key_count = AddUpTo(UINT64_MAX, header_.key_count, other.header_.key_count);
  return absl::OkStatus();
}

absl::Status CountingFilter::Intersect(const CountingFilter& other) {
  if (absl::Status status = CheckMergeable(header_, other.header_, "counter_bits"); !status.ok())
    return status;
  for (uint64_t i = 0; i < counters_.size(); ++i)
    counters_.Set(i, std::min(counters_.Get(i), other.counters_.Get(i)));
  header_.key_count = std::min(header_.key_count, other.header_.key_count);
  return absl::OkStatus();
}

void CountingFilter::Clear() {
  counters_.Clear();
  header_.key_count = 0;
}

absl::StatusOr<std::string> CountingFilter::SerializeAsStandard() const {
  FilterHeader header = HeaderFor<Standard>({header_.shape.size, header_.shape.probes},
                                            header_.seed, header_.target_fpp);
  header.key_count = header_.key_count;
  absl::StatusOr<AlignedBytes> bits = ZerosFor(Standard::PayloadBytes(header.shape));
  if (!bits.ok()) return bits.status();
  for (uint64_t i = 0; i < counters_.size(); ++i) {
    if (counters_.Get(i) != 0) SetBit(bits->data(), i);
  }
  return EncodeFilter(header, bits->span());
}

double CountingFilter::PredictedFpp(uint64_t key_count) const {
  return StandardFpp(header_.shape.size, header_.shape.probes, key_count);
}

double CountingFilter::Fill() const {
  return static_cast<double>(counters_.CountNonZero()) / static_cast<double>(counters_.size());
}

double CountingFilter::CurrentFpp() const { return std::pow(Fill(), header_.shape.probes); }

double CountingFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(header_.shape.size, header_.shape.probes, Fill());
}

uint64_t CountingFilter::CountSaturated() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < counters_.size(); ++i) count += counters_.Get(i) == counters_.max();
  return count;
}

}  // namespace bloom
