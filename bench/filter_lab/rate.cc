#include "bench/filter_lab/rate.h"

#include <cmath>
#include <cstdio>

#include "lsm/bytes/readable.h"

namespace bench {
namespace {

// With fewer hits the deviation is only chance.
constexpr double kFewHits = 3;

}  // namespace

double Rate::measured() const {
  return queries == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(queries);
}

double Rate::standard_error() const {
  if (queries == 0) return 0;
  const double p = predicted.value_or(measured());
  return std::sqrt(p * (1 - p) / static_cast<double>(queries));
}

std::optional<double> Rate::deviation_percent() const {
  if (!predicted.has_value() || queries == 0) return std::nullopt;
  if (*predicted * static_cast<double>(queries) < kFewHits) return std::nullopt;
  return 100 * (measured() / *predicted - 1);
}

void AddRate(const Rate& rate, nlohmann::ordered_json* row) {
  (*row)["measured"] = rate.measured();
  (*row)["predicted"] =
      rate.predicted.has_value() ? nlohmann::ordered_json(*rate.predicted) : nullptr;
  (*row)["queries"] = rate.queries;
  (*row)["standard_error"] = rate.standard_error();
}

void AddRateColumns(Table* table) {
  table->columns.push_back({"measured", "", true});
  table->columns.push_back({"predicted", "", true});
  table->columns.push_back({"off by", "deviation, % of the prediction", true});
  table->columns.push_back({"+-", "standard error, % of the prediction", true});
  table->columns.push_back({"queries", "", true});
}

void AddRateCells(const Rate& rate, std::vector<std::string>* row) {
  const std::optional<double> deviation = rate.deviation_percent();
  row->push_back(PercentText(rate.measured()));
  row->push_back(PercentText(rate.predicted));
  row->push_back(SignedPercent(deviation));
  row->push_back(deviation.has_value() ? Fixed(100 * rate.standard_error() / *rate.predicted, 1)
                                       : "-");
  row->push_back(Short(static_cast<double>(rate.queries)));
}

std::string SignedPercent(std::optional<double> percent) {
  if (!percent.has_value()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, *percent < 9999 ? "%+.1f" : "%+.1e", *percent);
  return text;
}

std::string PercentText(std::optional<double> probability) {
  return probability.has_value() ? lsm::ReadablePercent(*probability) : "-";
}

std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string Plain(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace bench
