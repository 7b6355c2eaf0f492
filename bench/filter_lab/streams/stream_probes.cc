#include "bench/filter_lab/streams/stream_probes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<uint32_t> ProbeCounts(const LabConfig& config) {
  if (config.effort == Effort::kQuick) return {2, 4, 5};
  return {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
}

Table RowsTable(const StreamProbesResults& results) {
  Table table{"stream-probes", "Rows answered wrongly, by number of probes", {}, {}};
  table.columns = {{"stream", "", false},
                   {"filter", "", false},
                   {"k", "probes", true},
                   {"ns", "ns per row, all included", true}};
  AddRateColumns(&table);
  for (const StreamRun& run : results.rows) {
    if (&run != &results.rows.front() && run.probes != (&run - 1)->probes)
      table.rows.emplace_back();
    table.rows.push_back({NameOf(run.distribution), run.filter, std::to_string(run.probes),
                          lsm::ReadableNumber(run.nanos())});
    AddRateCells(run.all().wrong(), &table.rows.back());
  }
  return table;
}

// For each filter and stream, the number of probes with the fewest wrong answers.
Table BestTable(const StreamProbesResults& results) {
  Table table{"stream-probes-best", "Number of probes with the fewest wrong answers", {}, {}};
  table.columns = {{"stream", "", false},
                   {"filter", "", false},
                   {"k", "probes", true},
                   {"measured", "", true},
                   {"k, theory", "probes, by theory", true},
                   {"theory", "", true}};
  std::vector<std::pair<const StreamRun*, const StreamRun*>> best;  // measured, by theory
  for (const StreamRun& run : results.rows) {
    const auto is_same = [&run](const auto& pair) {
      return pair.first->distribution == run.distribution && pair.first->filter == run.filter;
    };
    const auto at = std::find_if(best.begin(), best.end(), is_same);
    if (at == best.end()) {
      best.emplace_back(&run, &run);
      continue;
    }
    const Rate rate = run.all().wrong();
    if (rate.measured() < at->first->all().wrong().measured()) at->first = &run;
    if (rate.predicted < at->second->all().wrong().predicted) at->second = &run;
  }
  for (const auto& [measured, theory] : best) {
    if (!table.rows.empty() && table.rows.back()[0] != NameOf(measured->distribution))
      table.rows.emplace_back();
    const Rate fewest = measured->all().wrong();
    // Without wrong answers several numbers are equally good.
    const std::string k = fewest.hits == 0 ? "-" : std::to_string(measured->probes);
    table.rows.push_back({NameOf(measured->distribution), measured->filter, k,
                          PercentText(fewest.measured()), std::to_string(theory->probes),
                          PercentText(theory->all().wrong().predicted)});
  }
  return table;
}

}  // namespace

double StreamProbesSeconds(const LabConfig& config) { return config.Choose(0.5, 170.0, 1700.0); }

absl::StatusOr<StreamProbesResults> RunStreamProbes(const LabConfig& config, Steps steps) {
  const StreamSize size = StreamSizeOf(config);
  const std::vector<uint32_t> counts = ProbeCounts(config);
  StreamProbesResults results;
  steps.Plan(std::size(kDistributions) * counts.size());
  for (const Distribution distribution : kDistributions) {
    for (const uint32_t probes : counts) {
      TRELLIS_RETURN_IF_ERROR(
          steps.Begin(lsm::Concat("stream: ", NameOf(distribution), ", ", probes, " probes")));
      TRELLIS_ASSIGN_OR_RETURN(std::vector<StreamFilter> filters,
                               SoundStreamFilters(size.cells, probes, config.seed));
      for (StreamRun& run : RunStream(distribution, size.rows, config.seed, std::move(filters)))
        results.rows.push_back(std::move(run));
      steps.Done();
    }
  }
  return results;
}

Json ToJson(const StreamProbesResults& results) {
  Json json = {{"rows", Json::array()}};
  for (const StreamRun& run : results.rows) json["rows"].push_back(ToJson(run));
  return json;
}

std::vector<Section> SectionsOf(const StreamProbesResults& results) {
  return {{"Streams: number of probes",
           "Each stream with 2 to 14 probes in filters of the same size; shifting filters have an "
           "even number. The more distinct rows a filter gets, the fewer probes are best; "
           "additional probes fill the filter and cost time. The exponential stream has so few "
           "distinct rows that two or three probes leave almost no wrong answer.",
           "stream_probes",
           {BestTable(results), RowsTable(results)}}};
}

}  // namespace bench
