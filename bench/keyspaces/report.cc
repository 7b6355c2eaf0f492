#include "bench/keyspaces/report.h"

#include <array>
#include <utility>

#include "bench/experiment/progress.h"
#include "bench/keyspaces/parts.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

using Json = nlohmann::ordered_json;

struct Measurement {
  const char* part;
  absl::StatusOr<Part> (*measure)(const Config& config, Progress* progress);
  double seconds;  // with the default options
};

constexpr std::array<Measurement, 5> kMeasurements = {{{"open", &MeasureOpen, 300},
                                                       {"cold", &MeasureCold, 10},
                                                       {"speed", &MeasureSpeed, 60},
                                                       {"drop", &MeasureDrop, 300},
                                                       {"many", &MeasureMany, 120}}};

Table RunTable(const Results& results) {
  const Config& config = results.config;
  const Conditions pairs = {
      {"Options", lsm::Concat("write buffer ", lsm::ReadableBytes(config.write_buffer_bytes),
                              ", tables as large, level 1 four times it, no compression, all else "
                              "default")},
      {"Entries", lsm::Concat("keys of 16 bytes, values of ", config.value_bytes)}};
  return ConditionsTable(results.conditions, pairs, config, results.seconds);
}

// The excerpt for bench/README.md.  The other parts' figures with goals are in the last table.
std::string ExcerptOf(const Results& results) {
  std::string text = ToRows(RowsNamed(RunTable(results), {"CPU", "Took"})) + "\n";
  for (const Part& part : results.parts) text += TextOf(part.tables);
  return Fenced(text + TextOf({GoalsTable(results.parts)}) + NotesText(results.parts));
}

absl::Status MeasureParts(Results* results) {
  const Config& config = results->config;
  double total = 0;
  for (const Measurement& measurement : kMeasurements)
    total += config.Measures(measurement.part) ? measurement.seconds : 0;
  Progress progress(total);
  for (const Measurement& measurement : kMeasurements) {
    if (!config.Measures(measurement.part)) continue;
    absl::StatusOr<Part> part = measurement.measure(config, &progress);
    if (!part.ok()) return part.status();
    results->parts.push_back(*std::move(part));
    progress.Advance(measurement.seconds);
  }
  return absl::OkStatus();
}

}  // namespace

std::string ToText(const Results& results) { return TextOfParts(RunTable(results), results.parts); }

Json ToJson(const Results& results) {
  const Config& config = results.config;
  return JsonOfParts("keyspaces_bench", config, results,
                     {{"keyspaces", config.keyspaces},
                      {"cold", config.cold},
                      {"peer", config.peer},
                      {"write_buffer_bytes", config.write_buffer_bytes},
                      {"value_bytes", config.value_bytes},
                      {"flushes", config.flushes},
                      {"size_bytes", config.size_bytes},
                      {"tree_bytes", config.tree_bytes},
                      {"keys", config.keys},
                      {"operations", config.operations},
                      {"rounds", config.rounds},
                      {"openings", config.openings},
                      {"seed", config.seed}});
}

absl::StatusOr<Report> Run(const Config& config) {
  Results results;
  results.config = config;
  TRELLIS_RETURN_IF_ERROR(MeasureInto(&results, config, [&] { return MeasureParts(&results); }));
  Report report;
  report.text = ToText(results);
  report.page = PageOfParts("Trellis keyspaces: what they cost", "keyspaces", RunTable(results),
                            results.parts, ToJson(results));
  report.excerpts = {{"keyspaces", ExcerptOf(results)}};
  report.interrupted = results.interrupted;
  return report;
}

}  // namespace bench::keyspaces
