#include "bench/expiry/report.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/experiment/figures.h"
#include "bench/experiment/progress.h"
#include "bench/expiry/parts.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::expiry {
namespace {

using Json = nlohmann::ordered_json;

// Its parts are "time", "random" and "gets".
struct Results : MeasuredParts {
  Config config;
};

Table RunTable(const Results& results) {
  const Config& config = results.config;
  const uint64_t buffer = config.write_buffer_bytes();
  const Conditions pairs = {
      {"Scale",
       lsm::Concat("1/", config.scale, ": write buffer and tables ", lsm::ReadableBytes(buffer),
                   ", level 1 ", lsm::ReadableBytes(4 * buffer), ", ",
                   lsm::ReadableBytes(config.live_bytes()),
                   " written an hour; no compression, all else default")},
      {"Entries", lsm::Concat("keys of ", kKeyBytes, " bytes, values of ", config.value_bytes)}};
  return ConditionsTable(results.conditions, pairs, config, results.seconds);
}

// One table of all days, and the gets, without titles.
std::string ExcerptOf(const Results& results) {
  std::string text = ToRows(RowsNamed(RunTable(results), {"CPU"})) + "\n";
  Table days;
  for (const Part& part : results.parts) {
    if (part.name == "gets") continue;
    if (days.columns.empty()) days.columns = part.tables.front().columns;
    for (std::vector<std::string> row : part.tables.front().rows) {
      row.front() = part.name + ": " + row.front();
      days.rows.push_back(std::move(row));
    }
  }
  if (!days.rows.empty()) text += bench::ToText(days) + "\n";
  for (const Part& part : results.parts) {
    if (part.name == "gets") text += bench::ToText(part.tables.front());
  }
  return Fenced(std::move(text));
}

absl::Status MeasureParts(Results* results) {
  const Config& config = results->config;
  const bool by_time = config.Measures("day") && config.keys != "random";
  const bool at_random = config.Measures("day") && config.keys != "time";
  const double days = (by_time ? 1 : 0) + (at_random ? 1 : 0);
  const double stores = config.has_peer() ? 5 : 2;
  Progress progress(days * stores * kDaySeconds + (config.Measures("gets") ? kGetsSeconds : 0));
  const auto measure = [&](const std::function<absl::StatusOr<Part>()>& part_of) -> absl::Status {
    TRELLIS_ASSIGN_OR_RETURN(Part part, part_of());
    results->parts.push_back(std::move(part));
    return absl::OkStatus();
  };
  if (by_time)
    TRELLIS_RETURN_IF_ERROR(
        measure([&] { return MeasureDay(config, KeyOrder::kTime, &progress); }));
  if (at_random)
    TRELLIS_RETURN_IF_ERROR(
        measure([&] { return MeasureDay(config, KeyOrder::kRandom, &progress); }));
  if (config.Measures("gets"))
    TRELLIS_RETURN_IF_ERROR(measure([&] { return MeasureGets(config, &progress); }));
  return absl::OkStatus();
}

Json ToJson(const Results& results) {
  const Config& config = results.config;
  return JsonOfParts("expiry_bench", config, results,
                     {{"keys", config.keys},
                      {"peer", config.peer},
                      {"scale", config.scale},
                      {"buffers", config.buffers},
                      {"hours", config.hours},
                      {"value_bytes", config.value_bytes},
                      {"get_keys", config.get_keys},
                      {"operations", config.operations},
                      {"rounds", config.rounds},
                      {"seed", config.seed}});
}

}  // namespace

absl::StatusOr<Report> Run(const Config& config) {
  Results results;
  results.config = config;
  TRELLIS_RETURN_IF_ERROR(MeasureInto(&results, config, [&] { return MeasureParts(&results); }));
  Report report;
  report.text = TextOfParts(RunTable(results), results.parts);
  report.page = PageOfParts("Trellis expiry: what it costs and frees", "expiry", RunTable(results),
                            results.parts, ToJson(results));
  report.excerpts = {{"expiry", ExcerptOf(results)}};
  report.interrupted = results.interrupted;
  return report;
}

}  // namespace bench::expiry
