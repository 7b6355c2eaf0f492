#include "bench/filter_lab/filters/spectral_error.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/filter_lab/variants.h"
#include "bench/workload.h"
#include "bloom/literature/spectral.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr bloom::SpectralMethod kMethods[] = {bloom::SpectralMethod::kMinimumSelection,
                                              bloom::SpectralMethod::kMinimalIncrease,
                                              bloom::SpectralMethod::kRecurringMinimum};

// The most occurrences of the first key.  A counter can hold them and what other keys add.
constexpr uint64_t kMostOften = 50'000;
constexpr uint32_t kCounterBits = 20;

// The number of occurrences of each key.
std::vector<uint64_t> CountsOf(const std::string& counts, uint64_t keys) {
  std::vector<uint64_t> truth(keys);
  for (uint64_t i = 0; i < keys; ++i)
    truth[i] = counts == "zipf" ? std::max<uint64_t>(1, kMostOften / (i + 1)) : 5;
  return truth;
}

// All additions, in random order.
std::vector<uint32_t> AdditionsOf(const std::vector<uint64_t>& truth, uint64_t seed) {
  std::vector<uint32_t> keys;
  for (size_t i = 0; i < truth.size(); ++i)
    keys.insert(keys.end(), truth[i], static_cast<uint32_t>(i));
  std::vector<uint32_t> shuffled;
  shuffled.reserve(keys.size());
  for (const uint64_t i : Shuffled(keys.size(), seed)) shuffled.push_back(keys[i]);
  return shuffled;
}

absl::StatusOr<SpectralRow> Measure(const LabConfig& config, const std::string& counts,
                                    bloom::SpectralMethod method, double target_fpp,
                                    const std::vector<uint64_t>& truth) {
  SpectralRow row;
  row.counts = counts;
  row.method = std::string(bloom::NameOf(method));
  row.target_fpp = target_fpp;
  double error = 0;
  const uint64_t filters = config.Choose<uint64_t>(2, 3, 5);
  for (uint64_t i = 0; i < filters; ++i) {
    const uint64_t seed = config.seed + i;
    TRELLIS_ASSIGN_OR_RETURN(bloom::SpectralFilter filter,
                             bloom::SpectralFilter::Make(
                                 truth.size(), target_fpp,
                                 {.method = method, .counter_bits = kCounterBits, .seed = seed}));
    for (const uint32_t key : AdditionsOf(truth, seed)) filter.AddDigest(LabDigest(key, seed));
    uint64_t wrong = 0;
    for (uint64_t key = 0; key < truth.size(); ++key) {
      const uint64_t count = filter.CountDigest(LabDigest(key, seed));
      wrong += count != truth[key];
      row.too_low += count < truth[key];
      error += std::abs(static_cast<double>(count) - static_cast<double>(truth[key]));
    }
    row.rate.Add(wrong, truth.size());
    if (method == bloom::SpectralMethod::kMinimumSelection)
      row.rate.predicted = filter.PredictedErrorRate(truth.size());
    row.bits_per_key = static_cast<double>(filter.size_bits()) / static_cast<double>(truth.size());
  }
  row.mean_error = error / static_cast<double>(row.rate.queries);
  return row;
}

}  // namespace

double SpectralSeconds(const LabConfig& config) { return config.Choose(0.5, 15.0, 40.0); }

absl::StatusOr<SpectralResults> RunSpectral(const LabConfig& config, Steps steps) {
  SpectralResults results;
  results.keys = config.Choose<uint64_t>(10'000, 100'000, 100'000);
  const std::vector<double> targets = config.Choose<std::vector<double>>(
      {0.1, 0.03}, {0.1, 0.03, 0.01, 0.003}, {0.1, 0.03, 0.01, 0.003});
  steps.Plan(2 * targets.size());
  for (const std::string counts : {"zipf", "equal"}) {
    const std::vector<uint64_t> truth = CountsOf(counts, results.keys);
    if (counts == "zipf")
      results.additions = std::accumulate(truth.begin(), truth.end(), uint64_t{0});
    for (const double target : targets) {
      TRELLIS_RETURN_IF_ERROR(
          steps.Begin(lsm::Concat("spectral, ", counts, " counts at ", Plain(target))));
      for (const bloom::SpectralMethod method : kMethods) {
        TRELLIS_ASSIGN_OR_RETURN(SpectralRow row, Measure(config, counts, method, target, truth));
        results.rows.push_back(std::move(row));
      }
      steps.Done();
    }
  }
  return results;
}

Json ToJson(const SpectralResults& results) {
  Json json = {{"keys", results.keys}, {"additions", results.additions}, {"rows", Json::array()}};
  for (const SpectralRow& row : results.rows) {
    Json item = {{"counts", row.counts},         {"method", row.method},
                 {"target_fpp", row.target_fpp}, {"bits_per_key", row.bits_per_key},
                 {"mean_error", row.mean_error}, {"too_low", row.too_low}};
    AddRate(row.rate, &item);
    json["rows"].push_back(std::move(item));
  }
  return json;
}

std::vector<Section> SectionsOf(const SpectralResults& results) {
  Table table{"spectral", "Wrong counts, and their errors", {}, {}};
  table.columns = {{"counts", "", false},
                   {"method", "", false},
                   {"target", "target", true},
                   {"bits/key", "", true},
                   {"mean error", "mean error of a count", true},
                   {"too low", "keys counted too low", true}};
  AddRateColumns(&table);
  for (const SpectralRow& row : results.rows) {
    if (&row != &results.rows.front() && row.target_fpp != (&row - 1)->target_fpp)
      table.rows.emplace_back();
    table.rows.push_back({row.counts, row.method, Plain(row.target_fpp), Fixed(row.bits_per_key, 1),
                          lsm::ReadableNumber(row.mean_error), std::to_string(row.too_low)});
    AddRateCells(row.rate, &table.rows.back());
  }
  return {{"Spectral filters: errors of counts",
           lsm::Concat(lsm::ReadableCount(results.keys), " keys that occur ",
                       lsm::ReadableCount(results.additions),
                       " times in random order, the key of rank r ", lsm::ReadableCount(kMostOften),
                       "/r times; and as many keys that occur five times each. With minimum "
                       "selection a count is wrong as often as an absent key passes. With the "
                       "other methods that depends on the keys' counts."),
           "spectral",
           {std::move(table)}}};
}

}  // namespace bench
