#include "lsm/filters/filter_curve.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "bloom/core/filter_format.h"
#include "bloom/filter_policy.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Target FPPs, falling: dense near 1, where a bit has the most effect, then four for each factor of
// 1/2.
std::vector<double> Targets() {
  constexpr int kPerHalving = 4;
  std::vector<double> targets = {FilterCurve::kGreatestFpp, 0.8, 0.7, 0.6};
  for (int i = kPerHalving;; ++i) {
    const double target = std::pow(0.5, static_cast<double>(i) / kPerHalving);
    if (target <= FilterCurve::kLeastFpp) break;
    targets.push_back(target);
  }
  targets.push_back(FilterCurve::kLeastFpp);
  return targets;
}

// A kind has steps if it has fewer distinct sizes than this share of the requested ones.
constexpr double kContinuousShare = 0.9;

}  // namespace

FilterCurve::FilterCurve(std::string_view kind, uint64_t keys) {
  const std::vector<double> targets = Targets();
  for (const double target_fpp : targets) {
    const absl::StatusOr<bloom::FilterSize> size = bloom::SizeOfFilter(kind, keys, target_fpp);
    if (!size.ok()) continue;  // the filter would be too large
    const double bits = 8 * static_cast<double>(size->bytes - bloom::kFilterHeaderBytes) /
                        static_cast<double>(keys);
    // A kind with steps gives more than was requested: one point per size.
    if (!points_.empty() && bits <= points_.back().bits) {
      if (size->predicted_fpp >= points_.back().fpp) continue;
      points_.pop_back();
    }
    if (!points_.empty() && size->predicted_fpp >= points_.back().fpp) continue;
    points_.push_back({target_fpp, size->predicted_fpp, bits});
  }
  assert(!points_.empty());
  has_steps_ =
      static_cast<double>(points_.size()) < kContinuousShare * static_cast<double>(targets.size());
}

FilterCurve::Point FilterCurve::At(double bits) const {
  const auto above = std::upper_bound(points_.begin(), points_.end(), bits,
                                      [](double b, const Point& point) { return b < point.bits; });
  if (above == points_.begin()) return {};
  const Point& below = *std::prev(above);
  if (above == points_.end() || has_steps_) return below;
  const double share = (bits - below.bits) / (above->bits - below.bits);
  const auto between = [share](double from, double to) {
    return from * std::pow(to / from, share);
  };
  return {between(below.target_fpp, above->target_fpp), between(below.fpp, above->fpp), bits};
}

FilterCurve::Point FilterCurve::Reaching(double fpp) const {
  const auto at = std::partition_point(points_.begin(), points_.end(),
                                       [fpp](const Point& point) { return point.fpp > fpp; });
  if (at == points_.end()) return points_.back();
  if (at == points_.begin() || has_steps_) return *at;
  const Point& above = *std::prev(at);
  const double share = std::log(fpp / above.fpp) / std::log(at->fpp / above.fpp);
  return {above.target_fpp * std::pow(at->target_fpp / above.target_fpp, share), fpp,
          above.bits + share * (at->bits - above.bits)};
}

const FilterCurve& FilterCurves::Of(std::string_view kind, uint64_t keys) {
  // From 16 keys to 16 million.  Beyond that only the time for sizing changes.
  const int octave = std::clamp(static_cast<int>(std::bit_width(keys)), 4, 24);
  MutexLock lock(&mutex_);
  std::unique_ptr<const FilterCurve>& curve = curves_[{std::string(kind), octave}];
  // 3/4 of the next power of two is the middle of the numbers of keys that share it.
  if (curve == nullptr) curve = std::make_unique<FilterCurve>(kind, (uint64_t{3} << octave) / 4);
  return *curve;
}

double TextbookFilterBytesPerKey(double fpp) {
  return -std::log(fpp) / (std::log(2) * std::log(2) * 8);
}

bool IsTargetFpp(double fpp) {
  constexpr double kTargetFppMax = 0.5;
  return fpp >= FilterCurve::kLeastFpp && fpp <= kTargetFppMax;  // false for NaN
}

}  // namespace lsm
