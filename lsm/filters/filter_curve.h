// What memory buys: the FPP of a kind of filter with a number of bits a key.
//
// The figures are those of bloom/, not the textbook's.  SizeOfFilter gives the size and the FPP
// that a kind's layout has with a number of keys; bloom_test verifies it to 5 % of what is
// measured.  The textbook is wrong for blocked filters, which take 35 % more memory than standard
// ones at 10^-6; for fuse filters, which have whole bits only; for ribbon filters, which gain
// little between powers of 1/2; and for small filters, which are padded. filter_curve_test builds
// filters at points of the curves and measures them.
#ifndef TRELLIS_LSM_FILTERS_FILTER_CURVE_H_
#define TRELLIS_LSM_FILTERS_FILTER_CURVE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/fs/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// Bytes that the textbook's Bloom filter takes for each of its keys: -ln(fpp) / ln(2)^2 bits.  An
// estimate, good enough to tell about how large a filter of any kind will be.
double TextbookFilterBytesPerKey(double fpp);

// Immutable.
class FilterCurve {
 public:
  // The FPPs between which filters are of use.  A filter above the greatest one spares less than a
  // read in ten, which is about what asking it costs.  Below the least FPP the gain is too small to
  // notice (Options::target_fpp ends there too).
  static constexpr double kLeastFpp = 0.000001;
  static constexpr double kGreatestFpp = 0.9;

  struct Point {
    double target_fpp = 1;  // to ask for
    double fpp = 1;         // to get; at most the target
    double bits = 0;        // a key; without the header
  };

  // Of filters of a kind (bloom::PolicyFromName) with about so many keys each.  The kind must be
  // one that there is, and keys more than 0.
  FilterCurve(std::string_view kind, uint64_t keys);

  // From few bits and a high FPP to many and a low one, both strictly; at least one point.
  const std::vector<Point>& points() const { return points_; }

  // The lowest FPP that `bits` buy, at the curve's points.  Between two points, where the kind can
  // have any size, log FPP is interpolated.  FPP and target are 1 where even the first point needs
  // more bits.
  Point At(double bits) const;

  // Fewest bits with that FPP or less, in the same way; the last point where none has it.
  Point Reaching(double fpp) const;

 private:
  std::vector<Point> points_;
  bool has_steps_ = false;  // of a kind, or a number of keys, that has few sizes
};

// The curves that were needed so far.  Filters whose number of keys has the same next power of two
// share one, as their sizes a key differ by next to nothing.  Thread-safe.
class FilterCurves {
 public:
  // The curve lives as long as this.  Takes some milliseconds the first time, and throws
  // std::bad_alloc where there is no memory for it.
  const FilterCurve& Of(std::string_view kind, uint64_t keys) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::map<std::pair<std::string, int>, std::unique_ptr<const FilterCurve>> curves_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_FILTER_CURVE_H_
