#include "bench/filter_lab/filters/accuracy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/filter_lab/variants.h"
#include "bloom/hash.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kFppOverKeys = 0.01;

std::vector<double> TargetsOf(const LabConfig& config) {
  if (config.effort == Effort::kQuick) return {0.1, 0.01};
  return {0.2, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001};
}

uint64_t KeysOverTargets(const LabConfig& config) {
  return config.Choose<uint64_t>(10'000, 100'000, 100'000);
}

std::vector<uint64_t> KeyCountsOf(const LabConfig& config) {
  std::vector<uint64_t> counts = {1000, 10'000};
  if (config.effort != Effort::kQuick) counts.insert(counts.end(), {100'000, 1'000'000});
  if (config.effort == Effort::kFull) counts.push_back(10'000'000);
  return counts;
}

// Enough queries for a standard error of 1 %, spread over filters of several seeds: filters with
// fewer keys differ more among each other.
absl::StatusOr<AccuracyRow> MeasureRow(const LabConfig& config, const Variant& variant,
                                       uint64_t keys, double target_fpp) {
  const double hits = config.Choose(1e3, 1e4, 1e4);
  AccuracyRow row;
  row.variant = variant.name;
  row.keys = keys;
  row.target_fpp = target_fpp;
  row.filters = std::clamp<uint64_t>(300'000 / keys, 3, 100);
  const auto queries = static_cast<uint64_t>(std::ceil(hits / target_fpp));
  // Different keys for each row, so that rows do not share the same chance.
  const uint64_t seed =
      bloom::DigestOf(lsm::Concat(variant.name, " ", keys, " ", target_fpp), config.seed);
  TRELLIS_ASSIGN_OR_RETURN(const VariantSample sample,
                           MeasureVariant(variant, keys, target_fpp, seed, row.filters, queries));
  row.bits_per_key = static_cast<double>(sample.size_bits) / static_cast<double>(keys);
  row.rate = sample.rate;
  return row;
}

Json RowsJson(const std::vector<AccuracyRow>& rows) {
  Json json = Json::array();
  for (const AccuracyRow& row : rows) {
    Json item = {{"variant", row.variant},
                 {"keys", row.keys},
                 {"target_fpp", row.target_fpp},
                 {"filters", row.filters},
                 {"bits_per_key", row.bits_per_key}};
    AddRate(row.rate, &item);
    json.push_back(std::move(item));
  }
  return json;
}

Table RowsTable(std::string id, std::string title, const std::vector<AccuracyRow>& rows) {
  Table table{std::move(id), std::move(title), {}, {}};
  table.columns = {{"variant", "", false},
                   {"keys", "", true},
                   {"target", "target FPP", true},
                   {"filters", "filters, each with its own seed", true},
                   {"bits/key", "", true}};
  AddRateColumns(&table);
  for (const AccuracyRow& row : rows) {
    if (&row != &rows.front() && row.variant != (&row - 1)->variant) table.rows.emplace_back();
    table.rows.push_back({row.variant, lsm::ReadableCount(row.keys), Plain(row.target_fpp),
                          std::to_string(row.filters), Fixed(row.bits_per_key, 2)});
    AddRateCells(row.rate, &table.rows.back());
  }
  return table;
}

// A row for each variant, a column for each varied value: the deviation in per cent of the
// prediction.
Table PivotTable(std::string id, std::string title, const std::vector<AccuracyRow>& rows,
                 std::string (*heading)(const AccuracyRow&)) {
  Table table{std::move(id), std::move(title), {{"variant", "", false}}, {}};
  for (const AccuracyRow& row : rows) {
    if (row.variant == rows.front().variant) table.columns.push_back({heading(row), "", true});
    if (table.rows.empty() || table.rows.back()[0] != row.variant)
      table.rows.push_back({row.variant});
    table.rows.back().push_back(SignedPercent(row.rate.deviation_percent()));
  }
  return table;
}

// The row with the largest deviation from its prediction, in standard errors.
std::string Farthest(const std::vector<AccuracyRow>& rows) {
  const AccuracyRow* worst = nullptr;
  double most = 0;
  for (const AccuracyRow& row : rows) {
    const double off =
        std::abs(row.rate.measured() - row.rate.predicted.value_or(0)) / row.rate.standard_error();
    if (row.rate.deviation_percent().has_value() && off > most) {
      most = off;
      worst = &row;
    }
  }
  if (worst == nullptr) return "";
  return lsm::Concat(" Farthest from its prediction: ", worst->variant, " at ",
                     Plain(worst->target_fpp), " with ", lsm::ReadableCount(worst->keys),
                     " keys, by ", Fixed(worst->rate.deviation_percent().value_or(0), 1),
                     " %, which is ", Fixed(most, 1), " standard errors.");
}

}  // namespace

double AccuracySeconds(const LabConfig& config) {
  return static_cast<double>(VariantsNamed(config.variants).size()) * config.Choose(0.1, 3.0, 20.0);
}

absl::StatusOr<AccuracyResults> RunAccuracy(const LabConfig& config, Steps steps) {
  AccuracyResults results;
  const std::vector<const Variant*> variants = VariantsNamed(config.variants);
  steps.Plan(std::max<size_t>(1, 2 * variants.size()));
  for (const Variant* variant : variants) {
    TRELLIS_RETURN_IF_ERROR(steps.Begin(variant->name + " over the target"));
    for (const double target : TargetsOf(config)) {
      TRELLIS_ASSIGN_OR_RETURN(AccuracyRow row,
                               MeasureRow(config, *variant, KeysOverTargets(config), target));
      results.over_targets.push_back(std::move(row));
    }
    steps.Done();
    TRELLIS_RETURN_IF_ERROR(steps.Begin(variant->name + " over the keys"));
    for (const uint64_t keys : KeyCountsOf(config)) {
      TRELLIS_ASSIGN_OR_RETURN(AccuracyRow row, MeasureRow(config, *variant, keys, kFppOverKeys));
      results.over_keys.push_back(std::move(row));
    }
    steps.Done();
  }
  return results;
}

Json ToJson(const AccuracyResults& results) {
  return {{"over_targets", RowsJson(results.over_targets)},
          {"over_keys", RowsJson(results.over_keys)}};
}

std::vector<Section> SectionsOf(const AccuracyResults& results) {
  return {
      {"Measured and predicted rates by target",
       "Each variant, queried with keys that were never added, and its own prediction. The bars "
       "are two standard errors to each side." +
           Farthest(results.over_targets),
       "accuracy_targets",
       {PivotTable("accuracy-targets-off", "Deviation, % of the prediction, by target FPP",
                   results.over_targets,
                   [](const AccuracyRow& row) { return Plain(row.target_fpp); }),
        RowsTable("accuracy-targets", "False-positive rates by target", results.over_targets)}},
      {"Measured and predicted rates by number of keys",
       "The same at a target of " + Plain(kFppOverKeys) + "." + Farthest(results.over_keys),
       "accuracy_keys",
       {PivotTable("accuracy-keys-off", "Deviation, % of the prediction, by number of keys",
                   results.over_keys,
                   [](const AccuracyRow& row) { return lsm::ReadableCount(row.keys); }),
        RowsTable("accuracy-keys", "False-positive rates by number of keys", results.over_keys)}}};
}

}  // namespace bench
