#include "bloom/literature/spatial.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "bloom/core/concat.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

uint32_t LabelBitsFor(uint64_t areas) { return static_cast<uint32_t>(std::bit_width(areas)); }

}  // namespace

absl::StatusOr<SpatialFilter> SpatialFilter::Make(uint64_t key_count, double target_fpp,
                                                  const SpatialOptions& options) {
  TRELLIS_ASSIGN_OR_RETURN(Shape shape, StandardShapeFor(key_count, target_fpp));
  shape.detail = options.areas;
  return MakeOfShape(shape, target_fpp, options.seed);
}

absl::StatusOr<SpatialFilter> SpatialFilter::MakeOfShape(const Shape& shape, double target_fpp,
                                                         uint64_t seed) {
  TRELLIS_RETURN_IF_ERROR(CheckTargetFpp(target_fpp));
  if (shape.detail < 1 || shape.detail > kMaxAreas) {
    return absl::InvalidArgumentError(
        Concat("areas must lie in [1, ", kMaxAreas, "], is ", shape.detail));
  }
  if (shape.size > kMaxSizeBits / LabelBitsFor(shape.detail))
    return absl::InvalidArgumentError("shape: more than the 2^56 bits that a filter may have");
  TRELLIS_ASSIGN_OR_RETURN(PackedArray labels,
                           PackedArray::Zeros(shape.size, LabelBitsFor(shape.detail)));
  if (const std::string problem = Problem(shape, labels.bytes()); !problem.empty())
    return absl::InvalidArgumentError("shape: " + problem);
  return SpatialFilter(HeaderFor<SpatialFilter>(shape, seed, target_fpp), std::move(labels));
}

absl::StatusOr<SpatialFilter> SpatialFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<SpatialFilter>(bytes));
  const Shape& shape = parsed.header.shape;
  TRELLIS_ASSIGN_OR_RETURN(
      PackedArray labels,
      PackedArray::From(shape.size, LabelBitsFor(shape.detail), parsed.payload));
  for (uint64_t i = 0; i < labels.size(); ++i) {
    if (labels.Get(i) > shape.detail) {
      return absl::DataLossError(
          Concat("filter: has a label ", labels.Get(i), " with ", shape.detail, " areas"));
    }
  }
  return SpatialFilter(parsed.header, std::move(labels));
}

std::string SpatialFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.detail < 1 || shape.detail > kMaxAreas)
    return Concat("has ", shape.detail, " areas, not 1 to ", kMaxAreas);
  return PackedProblem(shape.size, LabelBitsFor(shape.detail), payload);
}

absl::Status SpatialFilter::AddDigest(Digest digest, uint32_t area) {
  if (area < 1 || area > areas()) {
    return absl::InvalidArgumentError(Concat("area must lie in [1, ", areas(), "], is ", area));
  }
  Probes cells(Remix(digest, header_.seed), header_.shape.size);
  for (uint32_t i = 0; i < header_.shape.probes; ++i) {
    const uint64_t cell = cells.Next();
    if (labels_.Get(cell) < area) labels_.Set(cell, area);
  }
  header_.CountKeys();
  return absl::OkStatus();
}

uint32_t SpatialFilter::AreaOfDigest(Digest digest) const {
  Probes cells(Remix(digest, header_.seed), header_.shape.size);
  uint64_t lowest = UINT64_MAX;
  for (uint32_t i = 0; i < header_.shape.probes && lowest > 0; ++i)
    lowest = std::min(lowest, labels_.Get(cells.Next()));
  return static_cast<uint32_t>(lowest);
}

absl::Status SpatialFilter::Merge(const SpatialFilter& other) {
  TRELLIS_RETURN_IF_ERROR(CheckMergeable(header_, other.header_, "areas"));
  for (uint64_t i = 0; i < labels_.size(); ++i)
    labels_.Set(i, std::max(labels_.Get(i), other.labels_.Get(i)));
  header_.CountKeys(other.header_.key_count);
  return absl::OkStatus();
}

void SpatialFilter::Clear() {
  labels_.Clear();
  header_.key_count = 0;
}

double SpatialFilter::PredictedFpp(uint64_t key_count) const {
  return StandardFpp(header_.shape.size, header_.shape.probes, key_count);
}

absl::StatusOr<std::vector<AreaRates>> SpatialFilter::PredictedAreas(
    std::span<const uint64_t> keys_per_area) const {
  if (keys_per_area.size() != areas()) {
    return absl::InvalidArgumentError(
        Concat("keys_per_area must have ", areas(), " counts, has ", keys_per_area.size()));
  }
  const auto cells = static_cast<double>(header_.shape.size);
  // x = ln q^(kn), so that e^x is the share of cells that n keys do not touch.  Without keys that
  // is every cell, even if there is only one.
  const auto log_left_by = [&](uint64_t keys) {
    const double throws = static_cast<double>(keys) * header_.shape.probes;
    return keys == 0 ? 0 : throws * std::log1p(-1 / cells);
  };
  std::vector<AreaRates> rates(areas());
  uint64_t keys_above = 0;
  double rate_above = 0;
  for (uint64_t i = areas(); i-- > 0;) {
    const double taken = -std::expm1(log_left_by(keys_per_area[i]));
    const double own_cells = cells * taken * std::exp(log_left_by(keys_above));
    keys_above = AddUpTo(UINT64_MAX, keys_above, keys_per_area[i]);
    const double rate = PredictedFpp(keys_above);
    rates[i] = {own_cells, rate - rate_above, rate_above};
    rate_above = rate;
  }
  return rates;
}

double SpatialFilter::Emptiness() const {
  return 1 - static_cast<double>(labels_.CountNonZero()) / static_cast<double>(labels_.size());
}

double SpatialFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(header_.shape.size, header_.shape.probes, 1 - Emptiness());
}

double SpatialFilter::CurrentFpp() const { return std::pow(1 - Emptiness(), header_.shape.probes); }

std::vector<AreaRates> SpatialFilter::CurrentAreas() const {
  std::vector<uint64_t> cells(areas() + 1, 0);
  for (uint64_t i = 0; i < labels_.size(); ++i) ++cells[labels_.Get(i)];
  std::vector<AreaRates> rates(areas());
  uint64_t cells_above = 0;
  double rate_above = 0;
  for (uint64_t area = areas(); area > 0; --area) {
    cells_above += cells[area];
    const double share = static_cast<double>(cells_above) / static_cast<double>(labels_.size());
    const double rate = std::pow(share, header_.shape.probes);
    rates[area - 1] = {static_cast<double>(cells[area]), rate - rate_above, rate_above};
    rate_above = rate;
  }
  return rates;
}

}  // namespace bloom
