// How many of the lookups of absent keys go to a part of the store, compared with its share of the
// keys: estimated from its wasted reads.  Pure.
//
// A filter rarely lets an absent key pass, so counting these keys costs lookups nothing.  The count
// says how often the filter was asked.  Take a table whose filter has FPP p, and which holds the
// share m of its run's keys.  N lookups of keys that are spread over the store as its own are would
// cost it p m N wasted reads.  The reads that were seen, divided by the reads that were expected,
// are the table's *hotness*: 1 on the average, 9 where 90 % of the lookups go to a tenth of the
// keys.
//
// Few counts say little.  So the estimate is drawn towards the average, as if kPseudoReads more
// reads had been both seen and expected.  (This is the mean of the posterior, for Poisson counts
// and a Gamma prior with this mean and shape.)
//
// hotness = (seen + kPseudoReads) / (scale expected + kPseudoReads)
//
// The scale makes the mean by keys 1, for any share of lookups that find their key and ask no
// further.  Let w be shares of lookups and p FPPs.  The sum of w p is least where p is proportional
// to the keys and to 1 / w.  So a part of a run gets an FPP by 1 / hotness.  That wastes e^-D as
// many reads as one FPP for all, where D is the divergence of the keys' distribution over the parts
// from the lookups': 5.8 times fewer for the 90 % in a tenth.  In a store that is asked evenly,
// chance alone costs at most about 1 / (8 kPseudoReads) more wasted reads, 3 %.  It costs that much
// while kPseudoReads are expected of a table, and less before and after.
#ifndef TRELLIS_LSM_FILTERS_HOTNESS_H_
#define TRELLIS_LSM_FILTERS_HOTNESS_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Wasted reads of a table, or of a range of keys in some tables.
struct WastedReads {
  double seen = 0;
  double expected = 0;  // if all keys were asked for alike

  void Add(const WastedReads& other, double share = 1) {
    seen += share * other.seen;
    expected += share * other.expected;
  }
};

// Counts the wasted reads of an open table.  Thread-safe.
class WastedReadCounter {
 public:
  // `lookups`: of the store until now.
  WastedReadCounter(const WastedReads& inherited, uint64_t lookups)
      : inherited_(inherited), lookups_before_(lookups) {}

  // Relaxed: a figure orders nothing.  Wasted reads are rare, so threads do not wait for its line.
  // A table without a filter is read each time, which costs more than the line.
  void Add() { count_.fetch_add(1, std::memory_order_relaxed); }

  // `lookups`: of the store until now.  `expected`: of one of them.
  WastedReads Get(uint64_t lookups, double expected) const {
    const uint64_t since = lookups > lookups_before_ ? lookups - lookups_before_ : 0;
    WastedReads reads = inherited_;
    reads.seen += static_cast<double>(count_.load(std::memory_order_relaxed));
    reads.expected += expected * static_cast<double>(since);
    return reads;
  }

 private:
  const WastedReads inherited_;  // of the tables that it was made of
  const uint64_t lookups_before_;
  std::atomic<uint64_t> count_{0};
};

class HotnessScale {
 public:
  static constexpr double kPseudoReads = 4;
  // Limits of a table's hotness.  So a table that becomes hot unnoticed is not without any filter.
  static constexpr double kMost = 64;
  static constexpr double kLeast = 1.0 / 16;
  // The share of its counts that a table passes on to the tables made of it: the older the past,
  // the less it says about the future.
  static constexpr double kKept = 0.5;

  struct Part {
    double keys = 0;
    WastedReads reads;
  };
  // Without parts, or wasted reads, all are of hotness 1.
  static HotnessScale Of(std::span<const Part> parts);

  // Between kLeast and kMost.
  double HotnessOf(const WastedReads& reads) const;

 private:
  double scale_ = 1;
};

// Steps of a factor of 2^(1/2), of which tables may be taken to be: -1 for 0.71, 0 for 1, 1 for
// 1.41; rounding to them costs less than 1 % in wasted reads.
int HotnessStepOf(double hotness);
double HotnessOfStep(int step);

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_HOTNESS_H_
