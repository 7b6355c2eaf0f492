#include "bench/filter_lab/filters/bits_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/filter_lab/filters/published.h"
#include "bench/filter_lab/shaped.h"
#include "bloom/parameters.h"
#include "bloom/variants/standard.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {

using Json = nlohmann::ordered_json;

double BitsTableSeconds(const LabConfig& config) { return config.Choose(0.5, 15.0, 60.0); }

absl::StatusOr<BitsTableResults> RunBitsTable(const LabConfig& config, Steps steps) {
  BitsTableResults results;
  results.keys = config.Choose<uint64_t>(10'000, 100'000, 100'000);
  const std::vector<PublishedRate> published = PublishedTable();
  steps.Plan(published.size());
  for (const PublishedRate& entry : published) {
    TRELLIS_RETURN_IF_ERROR(
        steps.Begin(lsm::Concat("table: ", entry.bits_per_key, " bits per key")));
    // Different keys for each entry; otherwise neighbours would deviate alike.
    const uint64_t seed = config.seed + 1000 * entry.bits_per_key + 10 * entry.probes;
    TRELLIS_ASSIGN_OR_RETURN(
        const Rate rate, MeasureShape<bloom::Standard>(
                             {entry.bits_per_key * results.keys, entry.probes}, results.keys, seed,
                             config.Choose<uint64_t>(100'000, 20'000'000, 200'000'000)));
    results.rows.push_back({entry.bits_per_key, entry.probes, entry.fpp, rate});
    steps.Done();
  }
  for (const BitsTableRow& row : results.rows) {
    const uint64_t bits = uint64_t{row.bits_per_key} * results.keys;
    TRELLIS_ASSIGN_OR_RETURN(const uint32_t best, bloom::BestProbesFor(bits, results.keys));
    if (row.probes != best) continue;
    TRELLIS_ASSIGN_OR_RETURN(const double real_probes, bloom::RealProbesFor(bits, results.keys));
    TRELLIS_ASSIGN_OR_RETURN(const double real_rate, bloom::RateAtRealProbes(bits, results.keys));
    results.best.push_back({row.bits_per_key, real_probes, real_rate, best, row.rate});
  }
  return results;
}

Json ToJson(const BitsTableResults& results) {
  Json json = {{"keys", results.keys}, {"rows", Json::array()}};
  for (const BitsTableRow& row : results.rows) {
    Json item = {
        {"bits_per_key", row.bits_per_key}, {"probes", row.probes}, {"published", row.published}};
    AddRate(row.rate, &item);
    json["rows"].push_back(std::move(item));
  }
  json["best"] = Json::array();
  for (const BestProbesRow& row : results.best) {
    Json item = {{"bits_per_key", row.bits_per_key},
                 {"real_probes", row.real_probes},
                 {"real_rate", row.real_rate},
                 {"probes", row.probes}};
    AddRate(row.rate, &item);
    json["best"].push_back(std::move(item));
  }
  return json;
}

namespace {

// The textbook's k is not a whole number; this table shows the cost of rounding it.
Table BestTable(const BitsTableResults& results) {
  Table table{"bits-table-best", "The best k: (m/n) ln 2, and the best whole number", {}, {}};
  table.columns = {{"m/n", "bits per key", true},
                   {"(m/n) ln 2", "the best k", true},
                   {"0.6185^(m/n)", "rate with that k", true},
                   {"k", "the best whole k", true},
                   {"above", "excess of its predicted rate over 0.6185^(m/n), %", true}};
  AddRateColumns(&table);
  for (const BestProbesRow& row : results.best) {
    const double above = 100 * (row.rate.predicted.value_or(0) / row.real_rate - 1);
    table.rows.push_back({std::to_string(row.bits_per_key), Fixed(row.real_probes, 2),
                          PercentText(row.real_rate), std::to_string(row.probes),
                          SignedPercent(above)});
    AddRateCells(row.rate, &table.rows.back());
  }
  return table;
}

// A row for each number of bits, a column for each number of probes.
Table OffTable(const BitsTableResults& results) {
  Table table{
      "bits-table-off", "Deviation, % of the formula, by m/n and k", {{"m/n", "", true}}, {}};
  for (const BitsTableRow& row : results.rows) {
    if (row.probes == 1) table.rows.push_back({std::to_string(row.bits_per_key)});
    if (table.columns.size() <= row.probes)
      table.columns.push_back({lsm::Concat("k=", row.probes), "", true});
    table.rows.back().push_back(SignedPercent(row.rate.deviation_percent()));
  }
  for (auto& row : table.rows) row.resize(table.columns.size());
  return table;
}

}  // namespace

std::vector<Section> SectionsOf(const BitsTableResults& results) {
  Table table{"bits-table", "Rates for m/n bits per key and k probes", {}, {}};
  table.columns = {{"m/n", "bits per key", true}, {"k", "probes", true}, {"published", "", true}};
  AddRateColumns(&table);
  double farthest = 0;
  for (const BitsTableRow& row : results.rows) {
    if (row.probes == 1 && !table.rows.empty()) table.rows.emplace_back();
    table.rows.push_back(
        {std::to_string(row.bits_per_key), std::to_string(row.probes), PercentText(row.published)});
    AddRateCells(row.rate, &table.rows.back());
    if (row.rate.predicted.has_value())
      farthest = std::max(farthest, std::abs(row.published / *row.rate.predicted - 1));
  }
  return {{"The (m/n, k) table",
           lsm::Concat(
               "P. Cao's rates, which filter planners use, measured with standard filters of ",
               lsm::ReadableCount(results.keys),
               " keys. The published rates are the formula's to three digits (largest deviation ",
               Fixed(100 * farthest, 2), " % of it)."),
           "bits_table",
           {OffTable(results), std::move(table)}},
          {"The (m/n, k) table: the best k",
           "The best k, (m/n) ln 2, is not a whole number; its rate is 0.6185^(m/n). A whole k "
           "comes close to that rate and never below it.",
           "best_probes",
           {BestTable(results)}}};
}

}  // namespace bench
