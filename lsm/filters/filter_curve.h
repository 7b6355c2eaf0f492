// The FPP of a kind of filter as a function of bits/key.
//
// The figures come from bloom/, not from the textbook: SizeOfFilter gives size and FPP of a kind's
// actual layout for a number of keys, and bloom_test verifies it to 5 % of measurements.  The
// textbook formula is wrong for
//
//   blocked filters   35 % more memory than standard ones at 10^-6
//   fuse filters      whole bits only
//   ribbon filters    little gain between powers of 1/2
//   small filters     padding
//
// filter_curve_test builds filters at points of the curves and measures them.
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
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// Bytes/key of the textbook's Bloom filter: -ln(fpp) / ln(2)^2 bits.  A rough estimate for a filter
// of any kind.
double TextbookFilterBytesPerKey(double fpp);

// Whether Options::target_fpp may have this value.
bool IsTargetFpp(double fpp);

// Immutable.
class FilterCurve {
 public:
  // The useful range of FPPs.  Above the greatest, a filter saves less than one read in ten, about
  // as much as it costs to query.  Below the least, the gain is not noticeable (IsTargetFpp).
  static constexpr double kLeastFpp = 0.000001;
  static constexpr double kGreatestFpp = 0.9;

  struct Point {
    double target_fpp = 1;  // target to build with
    double fpp = 1;         // expected FPP; at most the target
    double bits = 0;        // bits/key, without the header
  };

  // The curve of a kind (bloom::PolicyFromName) for filters with about `keys` keys.  REQUIRES: the
  // kind exists; keys > 0.
  FilterCurve(std::string_view kind, uint64_t keys);

  // From few bits and a high FPP to many bits and a low FPP, both strictly monotonic.  At least one
  // point.
  const std::vector<Point>& points() const { return points_; }

  // The lowest FPP for that many bits/key.  Between two points, log FPP is interpolated if the kind
  // can have any size.  FPP and target are 1 if even the first point needs more bits.
  Point At(double bits) const;

  // The fewest bits/key with that FPP or less, likewise; the last point if none has it.
  Point Reaching(double fpp) const;

 private:
  std::vector<Point> points_;
  bool has_steps_ = false;  // the kind, or this number of keys, allows few sizes
};

// A cache of curves.  Numbers of keys with the same next power of two share a curve, since their
// sizes in bits/key differ very little.  Thread-safe.
class FilterCurves {
 public:
  // The curve lives as long as this object.  Takes some milliseconds the first time.  May throw
  // std::bad_alloc.
  const FilterCurve& Of(std::string_view kind, uint64_t keys) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::map<std::pair<std::string, int>, std::unique_ptr<const FilterCurve>> curves_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_FILTER_CURVE_H_
