#include "bloom/core/shifting.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/sizing.h"

namespace bloom {
namespace {

// Of the words of 64 cells that PairedFpp looks at.
constexpr uint64_t kWordsMost = uint64_t{1} << 18;

// How likely each cell is to be set after so many throws of pairs.  A cell is met from one base as
// itself and from D others at one offset each: from j of 2D places, where the first counts D times.
// All cells have 2D but those near the ends.
class PairLoad {
 public:
  PairLoad(uint64_t bases, uint32_t offsets, double throws_per_base)
      : bases_(bases), offsets_(offsets) {
    for (uint32_t j = 0; j <= 2 * offsets; ++j)
      set_[j] = -std::expm1(-throws_per_base * j / offsets);
  }

  // Mean over all cells.
  double SetShare() const {
    const uint64_t left = std::min<uint64_t>(bases_, offsets_);
    double sum = static_cast<double>(bases_ - left) * set_[2 * offsets_];
    for (uint64_t cell = 0; cell < left; ++cell) sum += set_[PlacesOf(cell)];
    for (uint64_t cell = bases_; cell < bases_ + offsets_; ++cell) sum += set_[PlacesOf(cell)];
    return sum / (static_cast<double>(bases_) + offsets_);
  }

  // Chance that the cell of a base and that at an offset are both set, mean over bases and offsets.
  // `surplus`: of the chance that both are empty over that of independent cells, relative.
  double BothSet(double surplus) const {
    const uint64_t left = std::min<uint64_t>(bases_, offsets_);
    const uint64_t right = std::max(bases_ - left, left);
    double sum = static_cast<double>(right - left) * BothSet(2 * offsets_, 2 * offsets_, surplus);
    for (uint64_t base = 0; base < left; ++base) sum += BothSetAt(base, surplus);
    for (uint64_t base = right; base < bases_; ++base) sum += BothSetAt(base, surplus);
    return sum / static_cast<double>(bases_);
  }

 private:
  uint32_t PlacesOf(uint64_t cell) const {
    const uint64_t behind = cell > bases_ ? cell - bases_ : 0;  // offsets that are too short
    const uint64_t from_others = std::min<uint64_t>(cell, offsets_) - behind;
    return static_cast<uint32_t>(from_others + (cell < bases_ ? offsets_ : 0));
  }
  double BothSet(uint32_t one, uint32_t other, double surplus) const {
    return set_[one] * set_[other] + (1 - set_[one]) * (1 - set_[other]) * surplus;
  }
  double BothSetAt(uint64_t base, double surplus) const {
    double sum = 0;
    for (uint64_t cell = base + 1; cell <= base + offsets_; ++cell)
      sum += BothSet(PlacesOf(base), PlacesOf(cell), surplus);
    return sum / offsets_;
  }

  uint64_t bases_;
  uint32_t offsets_;
  std::array<double, 2 * kMaxOffset + 1> set_;  // by number of places
};

// Of a throw of a pair at m bases: -ln(chance that it misses a cell) / 2, which is 1/m and a
// little.  Just something finite where there are too few bases for that.
double MissOf(uint64_t bases) {
  return bases > 4 ? -std::log1p(-2 / static_cast<double>(bases)) / 2 : 1;
}

// ln(P(both cells of a pair are empty) / P(one is)^2) after one key.  One of its pairs misses both
// with 1 - 3/m if it has their offset, and else with 1 - 4/m, where (1 - 2/m)^2 would be the chance
// of independent ones.
double LogSurplusOf(uint64_t bases, double pairs, uint32_t offsets) {
  if (bases <= 4) return 0;
  const double m = static_cast<double>(bases);
  const double apart = pairs * std::log1p(-4 / ((m - 2) * (m - 2)));
  const double together = std::log1p(std::expm1(pairs * std::log1p(1 / (m - 4))) / offsets);
  return std::max(apart + together, 0.0);
}

// Smallest number of bases with rate(bases) <= target, from a guess that is near.
uint64_t FewestBases(uint64_t guess, const std::function<bool(uint64_t)>& passes) {
  uint64_t high = std::max(guess, kMinShiftingBases);
  uint64_t low = kMinShiftingBases - 1;  // fails, or is too few
  while (!passes(high)) {
    low = high;
    high += high / 32 + 1;
  }
  while (low < kMinShiftingBases && high > kMinShiftingBases) {
    const uint64_t next = std::max(high - high / 32 - 1, kMinShiftingBases);
    (passes(next) ? high : low) = next;
  }
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (passes(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

std::string ShiftedProblem(uint64_t bases, uint32_t longest, std::span<const uint8_t> payload) {
  if (bases == 0) return "has no bases";
  if (ShiftedBytes(bases) != payload.size())
    return absl::StrCat("has ", payload.size(), " bytes for ", bases, " bases");
  if (CountOnesBetween(payload.data(), bases + longest, 8 * payload.size()) != 0)
    return "has ones behind its last bit";
  return "";
}

std::vector<double> FillByOffset(std::span<const uint8_t> bits, uint64_t bases, uint32_t longest) {
  std::vector<double> fills;
  uint64_t ones = CountOnesBetween(bits.data(), 0, bases);
  for (uint64_t offset = 0;; ++offset) {
    fills.push_back(static_cast<double>(ones) / static_cast<double>(bases));
    if (offset == longest) return fills;
    ones = ones + TestBit(bits.data(), bases + offset) - TestBit(bits.data(), offset);
  }
}

std::string PairsProblem(const Shape& shape) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.probes % 2 == 0) return "";
  return absl::StrCat("has ", shape.probes, " probes, which do not make pairs");
}

DistinctPairs::DistinctPairs(uint64_t hash, const Shape& shape, uint32_t offsets) {
  const uint64_t offset = 1 + OffsetsOf(hash, offsets).Next();
  Probes bases(hash, shape.size);
  for (uint32_t i = 0; i < shape.probes; i += 2) {
    const uint64_t base = bases.Next();
    for (const uint64_t position : {base, base + offset}) {
      if (std::find(begin(), end(), position) == end()) positions_[count_++] = position;
    }
  }
}

double ShiftingFpp(uint64_t bases, uint32_t probes, uint64_t key_count, uint32_t offsets) {
  if (bases == 0) return 1;
  if (key_count == 0) return 0;
  const double pairs = probes / 2;
  const auto keys = static_cast<double>(key_count);
  // No more than keeps the surplus finite: every cell is set by then.
  const double log_surplus = std::min(keys * LogSurplusOf(bases, pairs, offsets), 600.0);
  const PairLoad load(bases, offsets, pairs * keys * MissOf(bases));
  return std::pow(load.BothSet(std::expm1(log_surplus)), pairs);
}

absl::StatusOr<Shape> FewestBasesFor(uint64_t key_count, double target_fpp,
                                     const RateOfShape& rate) {
  const absl::StatusOr<Shape> standard = StandardShapeFor(key_count, target_fpp);
  if (!standard.ok()) return standard.status();
  const auto fewest = [&](uint32_t probes, uint64_t guess) {
    return FewestBases(guess, [&](uint64_t bases) { return rate(bases, probes) <= target_fpp; });
  };
  Shape best;
  best.probes = std::clamp(standard->probes / 2 * 2, 2u, kMaxProbes);
  best.size = fewest(best.probes, standard->size);
  for (uint32_t probes = 2; probes <= kMaxProbes && best.size > kMinShiftingBases; probes += 2) {
    if (rate(best.size - 1, probes) <= target_fpp) best = {fewest(probes, best.size - 1), probes};
  }
  while (best.probes > 2 && rate(best.size, best.probes - 2) <= target_fpp) best.probes -= 2;
  return best;
}

absl::StatusOr<Shape> ShiftingShapeFor(uint64_t key_count, double target_fpp, uint32_t offsets) {
  absl::StatusOr<Shape> shape =
      FewestBasesFor(key_count, target_fpp, [=](uint64_t bases, uint32_t probes) {
        return ShiftingFpp(bases, probes, key_count, offsets);
      });
  if (shape.ok() && ShiftedBits(shape->size, offsets) > kMaxSizeBits)
    return TooLarge(key_count, target_fpp);
  return shape;
}

double ShiftingKeyCountFromFill(uint64_t bases, uint32_t probes, uint32_t offsets, double fill) {
  if (bases == 0 || probes < 2 || fill <= 0) return 0;
  if (fill >= 1) return HUGE_VAL;
  // Throws per base, between two of which the lower sets too few cells: halved until they meet.
  double low = 0;
  double high = 1;
  while (PairLoad(bases, offsets, high).SetShare() < fill) high *= 2;
  for (double middle = high / 2; low < middle && middle < high; middle = low + (high - low) / 2) {
    (PairLoad(bases, offsets, middle).SetShare() < fill ? low : high) = middle;
  }
  return high / (probes / 2 * MissOf(bases));
}

double PairedFpp(uint64_t bases, uint32_t probes, uint32_t offsets,
                 const std::function<uint64_t(uint64_t i)>& word) {
  std::array<uint64_t, kMaxOffset + 1> both{};
  const uint64_t words = bases / 64 + (bases % 64 != 0);
  const uint64_t step = words / kWordsMost + (words % kWordsMost != 0);
  uint64_t seen = 0;
  for (uint64_t i = 0; i < words; i += step) {
    const uint64_t count = std::min<uint64_t>(bases - 64 * i, 64);
    const uint64_t here = word(i);
    const uint64_t next = word(i + 1);
    const uint64_t of_bases = here & (~uint64_t{0} >> (64 - count));
    seen += count;
    for (uint32_t offset = 1; offset <= offsets; ++offset) {
      both[offset] +=
          static_cast<uint64_t>(std::popcount(of_bases & (here >> offset | next << (64 - offset))));
    }
  }
  double sum = 0;
  for (uint32_t offset = 1; offset <= offsets; ++offset)
    sum += std::pow(static_cast<double>(both[offset]) / static_cast<double>(seen), probes / 2);
  return sum / offsets;
}

double PairedFppOfBits(const uint8_t* bits, uint64_t bases, uint32_t probes, uint32_t offsets) {
  const uint64_t bytes = ShiftedBytes(bases);
  return PairedFpp(bases, probes, offsets, [bits, bytes](uint64_t i) {
    if (i <= (bytes - 8) / 8) return Load64(bits + 8 * i);
    uint8_t word[8] = {};
    if (8 * i < bytes) std::copy(bits + 8 * i, bits + bytes, word);
    return Load64(word);
  });
}

}  // namespace bloom
