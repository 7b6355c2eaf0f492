#include "bloom/literature/spectral.h"

#include <algorithm>
#include <cmath>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/occupancy.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kMovedSalt = 1;
constexpr uint64_t kMarksSalt = 2;

constexpr uint32_t kMethodShift = 8;
constexpr uint64_t kBitsMask = (1 << kMethodShift) - 1;

uint32_t CounterBitsOf(const Shape& shape) {
  return static_cast<uint32_t>(shape.detail & kBitsMask);
}

SpectralMethod MethodOf(const Shape& shape) {
  return static_cast<SpectralMethod>(shape.detail >> kMethodShift);
}

uint64_t MovedSizeOf(uint64_t size) { return size / 2 + size % 2; }

struct Minimum {
  uint64_t value = UINT64_MAX;
  bool is_single = false;  // only one cell has the minimum
};

Minimum MinimumOf(const PackedArray& counters, const DistinctProbes& cells) {
  Minimum least;
  for (const uint64_t cell : cells) {
    const uint64_t count = counters.Get(cell);
    if (count <= least.value) least = {count, count < least.value};
  }
  return least;
}

// The least of the numbers at the positions of a hash.
uint64_t LeastOf(const PackedArray& numbers, Digest hash, uint32_t probes) {
  Probes positions(hash, numbers.size());
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < probes && least > 0; ++i)
    least = std::min(least, numbers.Get(positions.Next()));
  return least;
}

void Raise(PackedArray& counters, const DistinctProbes& cells, uint64_t by) {
  for (const uint64_t cell : cells) counters.AddSaturating(cell, by);
}

// REQUIRES: each cell is at least `by`, or at the maximum.
void Lower(PackedArray& counters, const DistinctProbes& cells, uint64_t by) {
  for (const uint64_t cell : cells) {
    const uint64_t count = counters.Get(cell);
    if (count < counters.max()) counters.Set(cell, count - by);
  }
}

// Cuts a payload into its parts.  REQUIRES: it is empty, or as long as the parts together.
struct Sections {
  std::span<const uint8_t> counters, moved, marks;
};
Sections Cut(const Shape& shape, std::span<const uint8_t> payload) {
  if (payload.empty() || MethodOf(shape) != SpectralMethod::kRecurringMinimum)
    return {payload, {}, {}};
  const uint64_t counters = PackedBytes(shape.size, CounterBitsOf(shape));
  const uint64_t moved = PackedBytes(MovedSizeOf(shape.size), CounterBitsOf(shape));
  return {payload.first(counters), payload.subspan(counters, moved),
          payload.subspan(counters + moved)};
}

absl::StatusOr<PackedArray> ArrayOf(uint64_t count, uint32_t width,
                                    std::span<const uint8_t> bytes) {
  return bytes.empty() ? PackedArray::Zeros(count, width) : PackedArray::From(count, width, bytes);
}

}  // namespace

std::string_view NameOf(SpectralMethod method) {
  switch (method) {
    case SpectralMethod::kMinimumSelection:
      return "minimum selection";
    case SpectralMethod::kMinimalIncrease:
      return "minimal increase";
    case SpectralMethod::kRecurringMinimum:
      return "recurring minimum";
  }
  return "unknown";
}

absl::StatusOr<SpectralFilter> SpectralFilter::Make(uint64_t key_count, double target_fpp,
                                                    const SpectralOptions& options) {
  if (options.method > SpectralMethod::kRecurringMinimum) {
    return absl::InvalidArgumentError(
        Concat("method ", static_cast<int>(options.method), " is unknown"));
  }
  if (options.counter_bits < kMinCounterBits || options.counter_bits > kMaxCounterBits) {
    return absl::InvalidArgumentError(Concat("counter_bits must lie in [", kMinCounterBits, ", ",
                                             kMaxCounterBits, "], is ", options.counter_bits));
  }
  TRELLIS_ASSIGN_OR_RETURN(Shape shape, StandardShapeFor(key_count, target_fpp));
  if (PackedBytes(shape.size, options.counter_bits) == UINT64_MAX)
    return TooLarge(key_count, target_fpp);
  shape.detail = options.counter_bits | static_cast<uint64_t>(options.method) << kMethodShift;
  return Of(HeaderFor<SpectralFilter>(shape, options.seed, target_fpp), {});
}

absl::StatusOr<SpectralFilter> SpectralFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<SpectralFilter>(bytes));
  return Of(parsed.header, parsed.payload);
}

absl::StatusOr<SpectralFilter> SpectralFilter::Of(const FilterHeader& header,
                                                  std::span<const uint8_t> payload) {
  const Shape& shape = header.shape;
  const Sections parts = Cut(shape, payload);
  TRELLIS_ASSIGN_OR_RETURN(PackedArray counters,
                           ArrayOf(shape.size, CounterBitsOf(shape), parts.counters));
  SpectralFilter filter(header, std::move(counters));
  if (MethodOf(shape) == SpectralMethod::kRecurringMinimum) {
    TRELLIS_ASSIGN_OR_RETURN(PackedArray moved,
                             ArrayOf(MovedSizeOf(shape.size), CounterBitsOf(shape), parts.moved));
    TRELLIS_ASSIGN_OR_RETURN(PackedArray marks, ArrayOf(shape.size, 1, parts.marks));
    filter.moved_ = Moved{std::move(moved), std::move(marks)};
  }
  return filter;
}

std::string SpectralFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.size == 0) return "has no cells";
  const uint32_t bits = CounterBitsOf(shape);
  if (bits < kMinCounterBits || bits > kMaxCounterBits) {
    return Concat("has counters of ", bits, " bits, not ", kMinCounterBits, " to ",
                  kMaxCounterBits);
  }
  const uint64_t method = shape.detail >> kMethodShift;
  if (method > static_cast<uint64_t>(SpectralMethod::kRecurringMinimum))
    return Concat("has method ", method, ", which is unknown");
  if (MethodOf(shape) != SpectralMethod::kRecurringMinimum)
    return PackedProblem(shape.size, bits, payload);

  const uint64_t counters = PackedBytes(shape.size, bits);
  // The first part is the largest, so the sum after this check cannot overflow.
  if (counters > payload.size() ||
      counters + PackedBytes(MovedSizeOf(shape.size), bits) + PackedBytes(shape.size, 1) !=
          payload.size()) {
    return Concat("has ", payload.size(), " bytes for two filters of ", shape.size, " counters of ",
                  bits, " bits and half as many");
  }
  const Sections parts = Cut(shape, payload);
  std::string problem = PackedProblem(shape.size, bits, parts.counters);
  if (problem.empty()) problem = PackedProblem(MovedSizeOf(shape.size), bits, parts.moved);
  if (problem.empty()) problem = PackedProblem(shape.size, 1, parts.marks);
  return problem;
}

void SpectralFilter::AddDigest(Digest digest, uint64_t times) {
  if (times == 0) return;
  const Digest hash = Remix(digest, header_.seed);
  const DistinctProbes cells = CellsOf(hash);
  if (method() == SpectralMethod::kMinimalIncrease) {
    const uint64_t least = MinimumOf(counters_, cells).value;
    const uint64_t raised = AddUpTo(counters_.max(), least, times);
    for (const uint64_t cell : cells) counters_.Set(cell, std::max(counters_.Get(cell), raised));
  } else {
    Raise(counters_, cells, times);
    if (moved_.has_value()) AddToMoved(hash, cells, times);
  }
  header_.CountKeys(times);
}

// When a key is moved, its whole count in the first filter is counted here too.  That count is no
// less than the truth.  It stays so if all later additions are counted here as well, whether the
// key's minimum is single then or not.  The marks remember which keys were moved.
//
// If a key is marked but has a cell of zero, nothing of it is counted here: the marks are there by
// chance, or all additions were removed.  The key is then moved again.
void SpectralFilter::AddToMoved(Digest hash, const DistinctProbes& cells, uint64_t times) {
  const bool is_marked = IsMarked(hash);
  if (is_marked && MovedCount(hash) > 0) {
    Raise(moved_->counters, MovedCellsOf(hash), times);
    return;
  }
  const Minimum least = MinimumOf(counters_, cells);
  if (!least.is_single && !is_marked) return;
  for (const uint64_t mark :
       DistinctProbes(Remix(hash, kMarksSalt), header_.shape.size, header_.shape.probes)) {
    moved_->marks.Set(mark, 1);
  }
  Raise(moved_->counters, MovedCellsOf(hash), least.value);
}

bool SpectralFilter::IsMarked(Digest hash) const {
  return LeastOf(moved_->marks, Remix(hash, kMarksSalt), header_.shape.probes) == 1;
}

uint64_t SpectralFilter::MovedCount(Digest hash) const {
  return LeastOf(moved_->counters, Remix(hash, kMovedSalt), header_.shape.probes);
}

DistinctProbes SpectralFilter::MovedCellsOf(Digest hash) const {
  return {Remix(hash, kMovedSalt), moved_->counters.size(), header_.shape.probes};
}

absl::StatusOr<bool> SpectralFilter::RemoveDigest(Digest digest, uint64_t times) {
  if (method() == SpectralMethod::kMinimalIncrease) {
    return absl::FailedPreconditionError(
        "nothing can be removed under the method minimal increase");
  }
  const Digest hash = Remix(digest, header_.seed);
  const uint64_t count = CountOf(hash);
  if (count < times && count < counters_.max()) return false;
  const bool is_moved = IsMoved(hash);
  Lower(counters_, CellsOf(hash), times);
  if (is_moved) Lower(moved_->counters, MovedCellsOf(hash), times);
  header_.key_count -= std::min(header_.key_count, times);
  return true;
}

uint64_t SpectralFilter::CountOf(Digest hash) const {
  const uint64_t count = LeastOf(counters_, hash, header_.shape.probes);
  if (count == 0 || !IsMoved(hash)) return count;
  return std::min(count, MovedCount(hash));
}

absl::Status SpectralFilter::Merge(const SpectralFilter& other) {
  if (method() != other.method()) {
    return CannotMerge("methods", std::string(NameOf(method())),
                       std::string(NameOf(other.method())));
  }
  if (counter_bits() != other.counter_bits()) {
    return CannotMerge("counter_bits", std::to_string(counter_bits()),
                       std::to_string(other.counter_bits()));
  }
  TRELLIS_RETURN_IF_ERROR(CheckMergeable(header_, other.header_));
  for (uint64_t i = 0; i < counters_.size(); ++i)
    counters_.AddSaturating(i, other.counters_.Get(i));
  if (moved_.has_value()) moved_->Clear();
  header_.CountKeys(other.header_.key_count);
  return absl::OkStatus();
}

void SpectralFilter::Clear() {
  counters_.Clear();
  if (moved_.has_value()) moved_->Clear();
  header_.key_count = 0;
}

std::string SpectralFilter::Serialize() const {
  if (!moved_.has_value()) return EncodeFilter(header_, counters_.bytes());
  std::string payload;
  for (const PackedArray* part : {&counters_, &moved_->counters, &moved_->marks}) {
    const std::span<const uint8_t> bytes = part->bytes();
    payload.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return EncodeFilter(header_, BytesOf(payload));
}

SpectralMethod SpectralFilter::method() const { return MethodOf(header_.shape); }

uint64_t SpectralFilter::size_bits() const {
  if (!moved_.has_value()) return counters_.size_bits();
  return counters_.size_bits() + moved_->counters.size_bits() + moved_->marks.size_bits();
}

double SpectralFilter::PredictedFpp(uint64_t key_count) const {
  return StandardFpp(header_.shape.size, header_.shape.probes, key_count);
}

double SpectralFilter::PredictedErrorRate(uint64_t key_count) const {
  if (key_count == 0) return 0;
  const double throws = static_cast<double>(key_count - 1) * header_.shape.probes;
  return OccupiedMoment(header_.shape.size, header_.shape.probes, throws);
}

double SpectralFilter::Fill() const {
  return static_cast<double>(counters_.CountNonZero()) / static_cast<double>(counters_.size());
}

double SpectralFilter::CurrentFpp() const { return std::pow(Fill(), header_.shape.probes); }

double SpectralFilter::EstimatedKeyCount() const {
  return StandardKeyCountFromFill(header_.shape.size, header_.shape.probes, Fill());
}

uint64_t SpectralFilter::CountSaturated() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < counters_.size(); ++i) count += counters_.Get(i) == counters_.max();
  return count;
}

double SpectralFilter::CurrentUndercountBound() const {
  if (!moved_.has_value()) return 0;
  const double marks =
      static_cast<double>(moved_->marks.CountNonZero()) / static_cast<double>(moved_->marks.size());
  const double cells = static_cast<double>(moved_->counters.CountNonZero()) /
                       static_cast<double>(moved_->counters.size());
  return std::pow(marks * cells, header_.shape.probes);
}

}  // namespace bloom
