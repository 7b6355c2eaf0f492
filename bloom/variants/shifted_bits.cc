#include "bloom/variants/shifted_bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "bloom/core/concat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/occupancy.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// Most words of 64 cells that PairedFpp reads.
constexpr uint64_t kWordsMost = uint64_t{1} << 18;

// Up to this many keys, each number of keys with the query's offset is considered.
constexpr uint64_t kKeysByOffset = 4096;

// The probability that a cell is set after some number of throws of pairs.  A pair can set a cell
// as its base (in D ways, one for each offset) or as its second cell, from D other bases at one
// offset each.  So each cell has 2D ways, except near the ends.
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

  // The probabilities that the cell of a base and the one at an offset are both set, and both
  // empty, if the two were independent; means over bases and offsets.
  struct Both {
    double set = 0;
    double empty = 0;
  };
  Both OfPairs() const {
    const uint64_t left = std::min<uint64_t>(bases_, offsets_);
    const uint64_t right = std::max(bases_ - left, left);
    Both sum;
    Add(2 * offsets_, 2 * offsets_, static_cast<double>(right - left), sum);
    for (uint64_t base = 0; base < left; ++base) AddPairsOf(base, sum);
    for (uint64_t base = right; base < bases_; ++base) AddPairsOf(base, sum);
    return {sum.set / static_cast<double>(bases_), sum.empty / static_cast<double>(bases_)};
  }

 private:
  uint32_t PlacesOf(uint64_t cell) const {
    const uint64_t behind = cell > bases_ ? cell - bases_ : 0;  // offsets that are too short
    const uint64_t from_others = std::min<uint64_t>(cell, offsets_) - behind;
    return static_cast<uint32_t>(from_others + (cell < bases_ ? offsets_ : 0));
  }
  void Add(uint32_t one, uint32_t other, double times, Both& sum) const {
    sum.set += times * set_[one] * set_[other];
    sum.empty += times * (1 - set_[one]) * (1 - set_[other]);
  }
  void AddPairsOf(uint64_t base, Both& sum) const {
    for (uint64_t cell = base + 1; cell <= base + offsets_; ++cell)
      Add(PlacesOf(base), PlacesOf(cell), 1.0 / offsets_, sum);
  }

  uint64_t bases_;
  uint32_t offsets_;
  std::array<double, 2 * kMaxOffset + 1> set_;  // by number of ways
};

// For a throw of a pair at m bases: -ln(probability that it misses a cell) / 2, slightly more than
// 1/m.  Any finite number if there are too few bases.
double MissOf(uint64_t bases) {
  return bases > 4 ? -std::log1p(-2 / static_cast<double>(bases)) / 2 : 1;
}

// The effect of the stored keys on S, the number of bases that pass at the offset of a query.  It
// depends on how many stored keys have that offset.  The bases of their pairs always pass.  Other
// bases pass by chance: two pairs each set one of the two cells.
class PassingBases {
 public:
  PassingBases(uint64_t bases, uint32_t probes, uint64_t key_count, uint32_t offsets)
      : bases_(static_cast<double>(bases)),
        pairs_(probes / 2),
        keys_(static_cast<double>(key_count)),
        offsets_(offsets),
        both_(PairLoad(bases, offsets, pairs_ * keys_ * MissOf(bases)).OfPairs()) {
    if (bases > 4) {
      const double miss_twice = 2 * std::log1p(-2 / bases_);
      log_together_ = std::log1p(-3 / bases_) - miss_twice;
      log_apart_ = std::log1p(-4 / bases_) - miss_twice;
    }
  }

  // E[(S/m)^(k/2)] if `keys_of_offset` keys have the query's offset.
  double FppWith(double keys_of_offset) const {
    return Fpp(keys_of_offset, pairs_ * keys_of_offset * log_together_ +
                                   pairs_ * (keys_ - keys_of_offset) * log_apart_);
  }

  // The same for many keys.  The number of keys with an offset then varies so little that only
  // their mean effect matters.
  double FppOfMany() const {
    const double of_key = std::log1p(std::expm1(pairs_ * (log_together_ - log_apart_)) / offsets_);
    return Fpp(keys_ / offsets_, keys_ * (pairs_ * log_apart_ + of_key));
  }

 private:
  // log_surplus: ln(P(both cells of a pair are empty) / P(one is)^2).  One pair of a key misses
  // both cells with probability 1 - 3/m if it has their offset, otherwise with 1 - 4/m.  For
  // independent cells it would be (1 - 2/m)^2.
  double Fpp(double keys_of_offset, double log_surplus) const {
    // Capped to keep the surplus finite: every cell is set by then.
    const double surplus = std::expm1(std::min(log_surplus, 600.0));
    const Occupancy direct = OccupancyAfter(bases_, pairs_ * keys_of_offset);
    const double mean =
        std::max(bases_ * std::min(both_.set + both_.empty * surplus, 1.0), direct.mean);
    const double variance = direct.variance + VarianceByChance(keys_of_offset, mean - direct.mean);
    return MomentOfCount(bases_, mean, std::max(variance, 0.0), pairs_);
  }

  // The variance of S that comes from bases that pass by chance, to first order in 1/m.  Their mean
  // number is `by_chance`.  The result may be negative.  Per base there are x throws with the
  // query's offset, and z others.  Each term of `share` is a variance divided by m.
  double VarianceByChance(double keys_of_offset, double by_chance) const {
    const double x = pairs_ * keys_of_offset / bases_;
    const double z = pairs_ * (keys_ - keys_of_offset) / bases_;
    const double empty = std::exp(-2 * (x + z));
    const double set = -std::expm1(-2 * (x + z));
    // P(both cells of a pair are empty) / empty^2 - 1; capped as above.
    const double excess = std::expm1(std::min(x, 600.0));
    const double completes = set - empty * excess;  // the other cell is set, where one is empty
    const double passes = set * set + empty * empty * excess;
    const double three_set = set * set * set + empty * empty * excess * (2 * set - empty * excess);
    const double share =
        // Each base passes or not.
        passes * (1 - passes) +
        // Two bases that are the offset apart share a cell.
        2 * (three_set - passes * passes) +
        // One throw completes two bases that share no cell.
        2 * Square(empty * completes) * (excess + 4 * z) -
        // The numbers of throws are fixed.
        Square(empty) * (x * Square(1 + 3 * completes) + 16 * z * Square(completes));
    // The same for the bases of throws with the query's offset, which `direct` already includes.
    const double untouched = std::exp(-x);
    const double direct_share = untouched * -std::expm1(-x) - x * Square(untouched);
    const double chance_share = passes + std::expm1(-x);
    const double per_base = chance_share > 0 ? (share - direct_share) / chance_share : 1;
    // Two throws complete two bases at once if they have the same other offset, and their bases are
    // the query's offset apart.
    const double twins =
        2 * z * PartnersOfOthers(keys_of_offset) * Square(Square(empty) * (1 + excess));
    return by_chance * std::clamp(per_base, -1.0, 4.0) + twins;
  }

  // Given a throw whose offset is not the query's: the number of other throws with the same offset.
  // These are throws of its own key and of some other keys.
  double PartnersOfOthers(double keys_of_offset) const {
    const double other_keys = std::max(keys_ - keys_of_offset - 1, 0.0);
    return offsets_ == 1 ? 0 : (pairs_ - 1) + other_keys * pairs_ / (offsets_ - 1);
  }

  static double Square(double value) { return value * value; }

  double bases_;
  uint32_t pairs_;
  double keys_;
  uint32_t offsets_;
  PairLoad::Both both_;
  double log_together_ = 0;
  double log_apart_ = 0;
};

// PassingBases as a term of MeanOverBinomial.
struct WithKeysOfOffset {
  void Up() { ++keys_of_offset; }
  void Down() { --keys_of_offset; }
  double Fpp() const { return bases->FppWith(keys_of_offset); }

  const PassingBases* bases;
  double keys_of_offset;
};

// The smallest passing number of bases, from a guess that is near.
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
    return Concat("has ", payload.size(), " bytes for ", bases, " bases");
  if (CountOnesBetween(payload.data(), bases + longest, 8 * payload.size()) != 0)
    return "has ones after its last bit";
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
  return Concat("has ", shape.probes, " probes, which do not make pairs");
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
  const PassingBases passing(bases, probes, key_count, offsets);
  if (offsets == 1) return passing.FppWith(static_cast<double>(key_count));
  if (key_count > kKeysByOffset) return passing.FppOfMany();
  return MeanOverBinomial(key_count, 1.0 / offsets, [&](double keys) {
    return WithKeysOfOffset{&passing, keys};
  });
}

absl::StatusOr<Shape> FewestBasesFor(uint64_t key_count, double target_fpp,
                                     const RateOfShape& rate) {
  TRELLIS_ASSIGN_OR_RETURN(const Shape standard, StandardShapeFor(key_count, target_fpp));
  const auto fewest = [&](uint32_t probes, uint64_t guess) {
    return FewestBases(guess, [&](uint64_t bases) { return rate(bases, probes) <= target_fpp; });
  };
  Shape best;
  best.probes = std::clamp(standard.probes / 2 * 2, 2u, kMaxProbes);
  best.size = fewest(best.probes, standard.size);
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
  // Bisects the number of throws per base: the lower bound sets too few cells.
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
