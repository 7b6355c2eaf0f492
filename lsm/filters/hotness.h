// Estimates how many lookups of absent keys go to a part of a tree, compared with its share of the
// keys, from its wasted reads.  Pure functions.
//
// Filters rarely let an absent key pass, so counting these keys costs lookups nothing.  The count
// tells how often a filter was asked.  Take a table whose filter has FPP p, and which holds the
// share m of its run's keys.  N lookups, distributed like the keys of the tree, would cause p m N
// wasted reads. The *hotness* of the table is its observed number of wasted reads divided by this
// expected number: 1 on average; 9 if 90 % of the lookups go to a tenth of the keys.
//
// Small counts are noisy.  So the estimate is drawn towards the average, as if kPseudoReads more
// reads had been both observed and expected.  (This is the mean of the posterior, for Poisson
// counts and a Gamma prior with this mean and shape.)
//
//   hotness = (observed + kPseudoReads) / (scale expected + kPseudoReads)
//
// The scale makes the mean over the keys 1, whatever share of the lookups finds its key and asks no
// further.
//
// Use.  Let w be shares of lookups and p FPPs.  The sum of w p is least if p is proportional to the
// keys and to 1 / w.  So a part of a run gets an FPP proportional to 1 / hotness.  That wastes e^-D
// times as many reads as a single FPP, where D is the divergence between the distributions of keys
// and lookups over the parts: 5.8 times fewer for 90 % in a tenth.  If lookups are uniform, noise
// costs at most about 1 / (8 kPseudoReads) more wasted reads, which is 3 %.  The cost is highest
// while the expected count of a table is kPseudoReads, and lower before and after.
#ifndef TRELLIS_LSM_FILTERS_HOTNESS_H_
#define TRELLIS_LSM_FILTERS_HOTNESS_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Wasted reads of a table, or of a key range in some tables.
struct WastedReads {
  double seen = 0;
  double expected = 0;  // if lookups were distributed like keys

  void Add(const WastedReads& other, double share = 1) {
    seen += share * other.seen;
    expected += share * other.expected;
  }
};

// Counts the wasted reads of an open table.  Thread-safe.
class WastedReadCounter {
 public:
  // `lookups`: of the table's tree so far.
  WastedReadCounter(const WastedReads& inherited, uint64_t lookups)
      : inherited_(inherited), lookups_before_(lookups) {}

  // Relaxed: a statistic orders nothing.  Wasted reads are rare, so threads do not contend for the
  // line.  (A table without a filter is read every time, which costs more than the line.)
  void Add() { count_.fetch_add(1, std::memory_order_relaxed); }

  // `lookups`: of the table's tree so far.  `expected`: expected wasted reads per lookup.
  WastedReads Get(uint64_t lookups, double expected) const {
    const uint64_t since = lookups > lookups_before_ ? lookups - lookups_before_ : 0;
    WastedReads reads = inherited_;
    reads.seen += static_cast<double>(count_.load(std::memory_order_relaxed));
    reads.expected += expected * static_cast<double>(since);
    return reads;
  }

 private:
  const WastedReads inherited_;  // from the tables that it was made from
  const uint64_t lookups_before_;
  std::atomic<uint64_t> count_{0};
};

class HotnessScale {
 public:
  static constexpr double kPseudoReads = 4;
  // Limits of a table's hotness, so that a table which becomes hot later still has some filter.
  static constexpr double kMost = 64;
  static constexpr double kLeast = 1.0 / 16;
  // The share of its counts that a table passes on to its successors: older counts say less about
  // the future.
  static constexpr double kKept = 0.5;

  struct Part {
    double keys = 0;
    WastedReads reads;
  };
  // Without parts, or without wasted reads, every hotness is 1.
  static HotnessScale Of(std::span<const Part> parts);

  // Between kLeast and kMost.
  double HotnessOf(const WastedReads& reads) const;

 private:
  double scale_ = 1;
};

// Hotness is rounded to steps of a factor of 2^(1/2): -1 is 0.71, 0 is 1, 1 is 1.41.  The rounding
// costs less than 1 % in wasted reads.
int HotnessStepOf(double hotness);
double HotnessOfStep(int step);

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_HOTNESS_H_
