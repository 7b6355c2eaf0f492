#include "bench/expiry/report.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "bench/experiment/progress.h"
#include "bench/expiry/parts.h"
#include "bench/report/page.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::expiry {
namespace {

using Json = nlohmann::ordered_json;

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

Page PageOf(const Results& results) {
  Page page;
  page.title = "Trellis expiry: what it costs and frees";
  page.warnings = NotesOf(results.parts);
  page.sections.push_back({"Goals", "Missed goals come first.", "", {GoalsTable(results.parts)}});
  for (const Part& part : results.parts)
    page.sections.push_back({part.title, "", "", TablesOf(part)});
  page.sections.push_back({"Conditions", "", "", {RunTable(results)}});
  page.data_name = "expiry";
  page.data = ToJson(results);
  return page;
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

}  // namespace

std::string ToText(const Results& results) {
  std::string text = TextOf({RunTable(results)});
  for (const Part& part : results.parts) text += TextOf(TablesOf(part));
  return text + TextOf({GoalsTable(results.parts)}) + NotesText(results.parts);
}

Json ToJson(const Results& results) {
  const Config& config = results.config;
  Json json = ReportJson("expiry_bench", 1, config, results.conditions, results.seconds);
  json["settings"] = {{"keys", config.keys},         {"peer", config.peer},
                      {"scale", config.scale},       {"buffers", config.buffers},
                      {"hours", config.hours},       {"value_bytes", config.value_bytes},
                      {"get_keys", config.get_keys}, {"operations", config.operations},
                      {"rounds", config.rounds},     {"seed", config.seed}};
  json["notes"] = NotesOf(results.parts);
  json["figures"] = FiguresJson(results.parts);
  return json;
}

absl::StatusOr<Report> Run(const Config& config) {
  std::error_code ignored;
  const bool was_there = std::filesystem::exists(config.out, ignored);
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config.out));
  Results results;
  results.config = config;
  results.conditions = DescribeMachine(config.out);
  const auto begin = std::chrono::steady_clock::now();
  const absl::Status status = MeasureParts(&results);
  results.seconds = SecondsSince(begin);
  results.interrupted = absl::IsCancelled(status) && !results.parts.empty();
  if (!status.ok() && !results.interrupted) {
    if (!was_there) std::filesystem::remove(config.out, ignored);  // fails unless it is empty
    return status;
  }
  Report report;
  report.text = ToText(results);
  report.page = PageOf(results);
  report.excerpts = {{"expiry", ExcerptOf(results)}};
  report.interrupted = results.interrupted;
  return report;
}

}  // namespace bench::expiry
