// Each cost over the number of keys: what was measured, and what the law says (law.h).
#ifndef TRELLIS_BENCH_SCALE_CURVE_H_
#define TRELLIS_BENCH_SCALE_CURVE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/scale/experiment.h"
#include "bench/scale/law.h"

namespace bench::scale {

// Where a law's figures come from.
enum class Source : uint8_t {
  kComputed,      // from the options and the store's own bytes a key; nothing is fitted
  kProportional,  // b x, b fitted
  kFitted,        // a + b x, both fitted
};
// "computed", "b fitted", "a, b fitted".
const char* NameOf(Source source);

struct Curve {
  std::string id;       // of JSON and plots: "get_absent_all_us"
  std::string name;     // "get absent, all cached, us"
  std::string formula;  // of the law
  Source source = Source::kComputed;
  std::function<double(double keys)> x;         // of the law
  Line line;                                    // of computed ones 0 + 1 x
  std::vector<std::optional<double>> measured;  // by point

  double Law(double keys) const { return line.a + line.b * x(keys); }
  // What was measured by what the law says, - 1; nullopt where it was not.
  std::optional<double> Deviation(const Results& results, size_t point) const;
  // The largest in size of all points.
  double WorstDeviation(const Results& results) const;
};

// What the laws start from, of the largest size.  At least one point must be there.
Design DesignOf(const Results& results);

// All of them, none that was not measured at any size.
std::vector<Curve> CurvesOf(const Results& results);

// Beyond what was measured: the sizes for which there are laws on paper.
inline constexpr double kPaperKeys[] = {1e9, 1e10};

}  // namespace bench::scale

#endif  // TRELLIS_BENCH_SCALE_CURVE_H_
