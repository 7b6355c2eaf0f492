// Each cost by number of keys: measured values, and the law's (law.h).
#ifndef TRELLIS_BENCH_SCALE_CURVE_H_
#define TRELLIS_BENCH_SCALE_CURVE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/scale/experiment.h"
#include "bench/scale/law.h"

namespace bench::scale {

// The origin of a law's constants.
enum class Source : uint8_t {
  kComputed,      // from the options and the store's bytes per key; nothing is fitted
  kProportional,  // b x, b fitted
  kFitted,        // a + b x, both fitted
};
// "computed", "b fitted", "a, b fitted".
const char* NameOf(Source source);

struct Curve {
  std::string id;       // for JSON and plots: "get_absent_all_us"
  std::string name;     // "get absent, all cached, us"
  std::string formula;  // of the law
  Source source = Source::kComputed;
  std::function<double(double keys)> x;         // of the law
  Line line;                                    // 0 + 1 x for computed laws
  std::vector<std::optional<double>> measured;  // for each point

  double Law(double keys) const { return line.a + line.b * x(keys); }
  // Measured value divided by the law's, minus 1; nullopt if it was not measured.
  std::optional<double> Deviation(const Results& results, size_t point) const;
  // The deviation of largest magnitude over all points.
  double WorstDeviation(const Results& results) const;
};

// The parameters of the laws, taken from the largest size.  REQUIRES: at least one point.
Design DesignOf(const Results& results);

// All curves that were measured at some size.
std::vector<Curve> CurvesOf(const Results& results);

// Sizes beyond the measurements, for the laws on paper.
inline constexpr double kPaperKeys[] = {1e9, 1e10};

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_CURVE_H_
