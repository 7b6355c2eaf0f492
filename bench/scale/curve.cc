#include "bench/scale/curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lsm/filters/filter_choice.h"
#include "lsm/filters/filter_curve.h"
#include "lsm/options.h"

namespace bench::scale {
namespace {

// For the filters of one table.
constexpr uint64_t kKeysOfATable = 1 << 19;

struct Definition {
  const char* id;
  const char* name;
  const char* formula;
  Source source;
  double (*x)(const Design& design, double keys);
  std::optional<double> (*measured)(const Point& point);
};

double Constant(const Design&, double) { return 1; }

std::optional<double> MicrosOf(const std::optional<Cached>& cached, Lookups Cached::*lookups) {
  if (!cached) return std::nullopt;
  return ((*cached).*lookups).micros.median;
}

double AllAbsentWaits(const Design& design, double keys) { return AbsentWaits(design, keys, 1); }
double AllPresentWaits(const Design& design, double keys) { return PresentWaits(design, keys, 1); }
double TenthAbsentWaits(const Design& design, double keys) {
  return AbsentWaits(design, keys, 0.1);
}
double TenthPresentWaits(const Design& design, double keys) {
  return PresentWaits(design, keys, 0.1);
}
double FilterAndIndexBytes(const Design& design, double keys) {
  return FilterBytes(design, keys) + IndexBytes(design, keys);
}

constexpr char kAbsentLaw[] = "a + b (m(filters) + runs / 10 + wasted reads x block)";
constexpr char kPresentLaw[] =
    "the same + b x block; block = 4 m(resident) + 10 x share not cached";

const Definition kDefinitions[] = {
    {"get_absent_all_us", "get absent, all cached, us", kAbsentLaw, Source::kFitted,
     &AllAbsentWaits, [](const Point& point) { return MicrosOf(point.all, &Cached::absent); }},
    {"get_present_all_us", "get present, all cached, us", kPresentLaw, Source::kFitted,
     &AllPresentWaits, [](const Point& point) { return MicrosOf(point.all, &Cached::present); }},
    {"get_absent_tenth_us", "get absent, a tenth cached, us", kAbsentLaw, Source::kFitted,
     &TenthAbsentWaits, [](const Point& point) { return MicrosOf(point.tenth, &Cached::absent); }},
    {"get_present_tenth_us", "get present, a tenth cached, us", kPresentLaw, Source::kFitted,
     &TenthPresentWaits,
     [](const Point& point) { return MicrosOf(point.tenth, &Cached::present); }},
    {"runs", "runs asked per absent key",
     "(k - 1) / 2 + one per level, less for level 1 and the deepest", Source::kComputed, &Runs,
     [](const Point& point) -> std::optional<double> { return point.tenth.absent.runs_asked; }},
    {"wasted_reads", "wasted reads per absent key", "sum of the runs' FPPs", Source::kComputed,
     &WastedReads,
     [](const Point& point) -> std::optional<double> { return point.tenth.absent.wasted_reads; }},
    {"filter_bytes", "filter memory, bytes", "keys x bits: blocked in levels 0 and 1, ribbon below",
     Source::kComputed, &FilterBytes,
     [](const Point& point) -> std::optional<double> {
       return static_cast<double>(point.shape.total.filter_bytes);
     }},
    {"filter_bits", "filter memory, bits per key", "the same by keys", Source::kComputed,
     &FilterBitsPerKey,
     [](const Point& point) -> std::optional<double> {
       return 8 * static_cast<double>(point.shape.total.filter_bytes) /
              static_cast<double>(point.keys);
     }},
    {"index_bytes", "index memory, bytes", "b x keys", Source::kProportional,
     [](const Design&, double keys) { return keys; },
     [](const Point& point) -> std::optional<double> {
       return static_cast<double>(point.shape.total.index_bytes);
     }},
    {"open_ms", "opening, files in the page cache, ms", "a + b x tables", Source::kFitted, &Tables,
     [](const Point& point) -> std::optional<double> { return point.warm_opening.millis.median; }},
    {"open_cold_ms", "opening, files not cached, ms", "a + b x tables", Source::kFitted, &Tables,
     [](const Point& point) -> std::optional<double> { return point.cold_opening.millis.median; }},
    {"open_bytes", "read per opening, bytes", "b x (filter memory + index memory)",
     Source::kProportional, &FilterAndIndexBytes,
     [](const Point& point) -> std::optional<double> { return point.warm_opening.read_bytes; }},
    {"write_amplification", "write amplification",
     "e / u (1 + sum over levels of 1 + s / d) (law.h)", Source::kComputed, &WriteAmplification,
     [](const Point& point) -> std::optional<double> { return point.write_amplification(); }},
    {"space_amplification", "bytes stored per user byte", "constant", Source::kProportional,
     &Constant,
     [](const Point& point) -> std::optional<double> { return point.space_amplification(); }},
};

}  // namespace

const char* NameOf(Source source) {
  switch (source) {
    case Source::kComputed:
      return "computed";
    case Source::kProportional:
      return "b fitted";
    case Source::kFitted:
      return "a, b fitted";
  }
  return "?";
}

std::optional<double> Curve::Deviation(const Results& results, size_t point) const {
  const double law = Law(static_cast<double>(results.points[point].keys));
  if (!measured[point] || law == 0) return std::nullopt;
  return *measured[point] / law - 1;
}

double Curve::WorstDeviation(const Results& results) const {
  double worst = 0;
  for (size_t i = 0; i < measured.size(); ++i) {
    const double deviation = Deviation(results, i).value_or(0);
    if (std::fabs(deviation) > std::fabs(worst)) worst = deviation;
  }
  return worst;
}

Design DesignOf(const Results& results) {
  const Config& config = results.config;
  const Point& last = results.points.back();
  const auto keys = static_cast<double>(last.keys);
  const auto by_keys = [keys](uint64_t bytes) { return static_cast<double>(bytes) / keys; };
  Design design;
  design.key_bytes = by_keys(last.shape.total.table_bytes);
  design.user_key_bytes = by_keys(last.user_bytes);
  // The last flush of a size holds the rest, so it is smaller.  At the largest size it matters
  // least.
  design.flush_bytes = static_cast<double>(last.flush_bytes) /
                       static_cast<double>(std::max<uint64_t>(1, last.flushes));
  const lsm::Options options;
  design.level0_tables = options.level0_compaction_tables;
  design.level1_bytes = static_cast<double>(config.level1_bytes);
  design.table_bytes = static_cast<double>(config.table_bytes);
  const auto filter = [&](std::string_view kind) {
    return lsm::FilterCurve(kind, kKeysOfATable).Reaching(config.target_fpp);
  };
  const lsm::FilterCurve::Point upper = filter(lsm::FilterChoice::kFastKind);
  const lsm::FilterCurve::Point lower = filter(lsm::FilterChoice::kCompactKind);
  design.upper_bits = upper.bits;
  design.upper_fpp = upper.fpp;
  design.lower_bits = lower.bits;
  design.lower_fpp = lower.fpp;
  design.index_bits = 8 * by_keys(last.shape.total.index_bytes);
  design.cpu_cache_bytes = static_cast<double>(std::max<uint64_t>(1, LastLevelCacheBytes()));
  return design;
}

std::vector<Curve> CurvesOf(const Results& results) {
  const Design design = DesignOf(results);
  std::vector<Curve> curves;
  for (const Definition& definition : kDefinitions) {
    Curve curve;
    curve.id = definition.id;
    curve.name = definition.name;
    curve.formula = definition.formula;
    curve.source = definition.source;
    curve.x = [design, x = definition.x](double keys) { return x(design, keys); };
    curve.line = {0, 1};
    std::vector<std::pair<double, double>> points;
    for (const Point& point : results.points) {
      curve.measured.push_back(definition.measured(point));
      if (curve.measured.back().value_or(0) > 0)
        points.emplace_back(curve.x(static_cast<double>(point.keys)), *curve.measured.back());
    }
    if (points.empty()) continue;
    if (curve.source != Source::kComputed)
      curve.line = FitLine(points, curve.source == Source::kProportional);
    curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace bench::scale
