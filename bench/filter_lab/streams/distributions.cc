#include "bench/filter_lab/streams/distributions.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "bench/filter_lab/streams/streaming.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

// The law of a distribution.
struct Law {
  double times;  // factor applied to values before truncation
  double mean, deviation;
  double from, to;  // shown range: all but a share of 10^-4
  int bins;
  double (*below)(double value);  // probability of a lower value
};

Law LawOf(Distribution distribution) {
  switch (distribution) {
    case Distribution::kNormal:
      return {1e8, 0, 1, -4, 4, 32, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }};
    case Distribution::kUniform:
      return {1e7,
              5,
              10 / std::sqrt(12.0),
              0,
              10,
              20,
              [](double x) { return std::clamp(x / 10, 0.0, 1.0); }};
    case Distribution::kExponential:
      return {1e7,
              0.01,
              0.01,
              0,
              0.09,
              36,
              [](double x) { return x <= 0 ? 0 : -std::expm1(-100 * x); }};
  }
  return {};
}

Table StreamsTable(const DistributionResults& results) {
  Table table{"distributions", "The three streams", {}, {}};
  table.columns = {{"stream", "", false},
                   {"drawn from", "", false},
                   {"rows", "", true},
                   {"distinct", "", true},
                   {"new %", "distinct, %", true},
                   {"mean", "", true},
                   {"theory", "mean, theory", true},
                   {"sd", "standard deviation", true},
                   {"theory", "standard deviation, theory", true},
                   {"least", "", true},
                   {"most", "", true}};
  for (const DistributionRow& row : results.rows) {
    const Law law = LawOf(row.distribution);
    const auto& [rows, distinct] = row.distinct.back();
    table.rows.push_back({NameOf(row.distribution), DescriptionOf(row.distribution),
                          Short(static_cast<double>(rows)), Short(static_cast<double>(distinct)),
                          Fixed(100 * static_cast<double>(distinct) / static_cast<double>(rows), 1),
                          Fixed(row.mean, 4), Plain(law.mean), Fixed(row.deviation, 4),
                          Fixed(law.deviation, 4), Fixed(row.least, 4), Fixed(row.most, 4)});
  }
  return table;
}

Table BinsTable(const DistributionResults& results) {
  Table table{"distribution-bins", "Share of the rows by value", {}, {}};
  table.columns = {{"stream", "", false}, {"from", "", true}, {"to", "", true}};
  AddRateColumns(&table);
  for (const DistributionRow& row : results.rows) {
    if (!table.rows.empty()) table.rows.emplace_back();
    for (const DistributionBin& bin : row.bins) {
      table.rows.push_back({NameOf(row.distribution), Plain(bin.from), Plain(bin.to)});
      AddRateCells(bin.share, &table.rows.back());
    }
  }
  return table;
}

}  // namespace

DistributionRow DescribeStream(Distribution distribution, uint64_t rows) {
  const Law law = LawOf(distribution);
  DistributionRow row;
  row.distribution = distribution;
  row.rows = rows;
  const auto edge = [&law](int i) { return law.from + (law.to - law.from) * i / law.bins; };
  for (int i = 0; i < law.bins; ++i) {
    const double probability = law.below(edge(i + 1)) - law.below(edge(i));
    row.bins.push_back({edge(i), edge(i + 1), Rate{0, rows, probability}});
  }
  ValueStream stream(distribution);
  SeenValues seen;
  double sum = 0, squares = 0;
  row.least = HUGE_VAL;
  row.most = -HUGE_VAL;
  for (uint64_t i = 0; i < rows; ++i) {
    const int64_t drawn = stream.Next();
    seen.TestAndAdd(drawn);
    const double value = static_cast<double>(drawn) / law.times;
    sum += value;
    squares += value * value;
    row.least = std::min(row.least, value);
    row.most = std::max(row.most, value);
    const double at = std::floor((value - law.from) / (law.to - law.from) * law.bins);
    if (at >= 0 && at < law.bins) ++row.bins[static_cast<size_t>(at)].share.hits;
    if ((i + 1) % (rows / 10) == 0) row.distinct.emplace_back(i + 1, seen.distinct());
  }
  row.mean = sum / static_cast<double>(rows);
  row.deviation = std::sqrt(squares / static_cast<double>(rows) - row.mean * row.mean);
  return row;
}

double DistributionSeconds(const LabConfig& config) { return config.Choose(0.1, 5.0, 50.0); }

absl::StatusOr<DistributionResults> RunDistributions(const LabConfig& config, Steps steps) {
  DistributionResults results;
  steps.Plan(std::size(kDistributions));
  for (const Distribution distribution : kDistributions) {
    TRELLIS_RETURN_IF_ERROR(steps.Begin(lsm::Concat("drawing: ", NameOf(distribution))));
    results.rows.push_back(DescribeStream(distribution, StreamSizeOf(config).rows));
    steps.Done();
  }
  return results;
}

Json ToJson(const DistributionResults& results) {
  Json json = {{"rows", Json::array()}};
  for (const DistributionRow& row : results.rows) {
    Json item = {{"distribution", NameOf(row.distribution)},
                 {"rows", row.rows},
                 {"mean", row.mean},
                 {"deviation", row.deviation},
                 {"least", row.least},
                 {"most", row.most},
                 {"bins", Json::array()},
                 {"tenths", Json::array()}};
    for (const DistributionBin& bin : row.bins) {
      Json each = {{"from", bin.from}, {"to", bin.to}};
      AddRate(bin.share, &each);
      item["bins"].push_back(std::move(each));
    }
    for (const auto& [rows, distinct] : row.distinct)
      item["tenths"].push_back({{"rows", rows}, {"distinct", distinct}});
    json["rows"].push_back(std::move(item));
  }
  return json;
}

std::vector<Section> SectionsOf(const DistributionResults& results) {
  return {{"Streams: the three distributions",
           "The rows of the streaming experiments are values from three distributions, multiplied "
           "and truncated to integers, as in the source. A filter's rate depends on the share of "
           "new rows. It is small in the exponential stream, which has only several hundred "
           "thousand distinct values, and large in the others.",
           "distributions",
           {StreamsTable(results), BinsTable(results)}}};
}

}  // namespace bench
