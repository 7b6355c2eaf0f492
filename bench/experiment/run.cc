#include "bench/experiment/run.h"

#include <cstdio>

#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

constexpr int kFailed = 1, kInterrupted = 130;

int Fail(const absl::Status& status, const RunOptions& options) {
  std::fprintf(stderr, "%s: %s\n", options.program, std::string(lsm::MessageOf(status)).c_str());
  return absl::IsCancelled(status) ? kInterrupted : kFailed;
}

// The exit code: failure if some output was not written.
int FlushOutput(const RunOptions& options) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  return Fail(absl::UnavailableError("cannot write to standard output"), options);
}

}  // namespace

absl::Status WriteReport(Report report, const RunOptions& options) {
  const std::string json =
      report.page.data.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  TRELLIS_RETURN_IF_ERROR(WriteWhole(options.out + "/report.json", json));
  if (!options.chart_js.empty()) {
    TRELLIS_ASSIGN_OR_RETURN(report.page.chart_js, ReadWhole(options.chart_js));
  }
  TRELLIS_RETURN_IF_ERROR(WriteWhole(options.out + "/report.html", RenderPage(report.page)));
  if (report.interrupted) return absl::OkStatus();
  for (const auto& [name, markdown] : report.excerpts)
    TRELLIS_RETURN_IF_ERROR(WriteWhole(options.out + "/excerpt-" + name + ".md", markdown));
  return absl::OkStatus();
}

int Finish(absl::StatusOr<Report> report, const RunOptions& options) {
  if (!report.ok()) return Fail(report.status(), options);
  if (report->interrupted)
    report->page.warnings.push_back("the run was interrupted: some measurements are missing.");
  report->page.data["interrupted"] = report->interrupted;
  if (report->page.title.empty()) return FlushOutput(options);
  // Printed first, so that an error while writing the report does not lose the figures.
  std::printf("%s\n", report->text.c_str());
  const absl::Status written = WriteReport(*report, options);
  if (!written.ok()) return Fail(written, options);

  const char* const out = options.out.c_str();
  std::printf("Report  %s/report.html (open it in a browser), %s/report.json\n", out, out);
  const char* head = "Stores  ";
  for (const std::string& store : report->stores) {
    std::printf("%s%s\n", head, store.c_str());
    head = "        ";
  }
  if (!report->stores.empty()) std::printf("        (`sstdump levels DIR` shows one)\n");
  const int code = FlushOutput(options);
  return code == 0 && report->interrupted ? kInterrupted : code;
}

Table ConditionsTable(const Conditions& machine, const Conditions& details,
                      const RunOptions& options, double seconds) {
  Conditions pairs = machine;
  pairs.insert(pairs.end(), details.begin(), details.end());
  pairs.push_back({"Command", options.command});
  pairs.push_back({"Seed", std::to_string(options.seed)});
  pairs.push_back({"Took", lsm::ReadableNumber(seconds) + " s"});
  return PairsTable("conditions", "Conditions", pairs);
}

nlohmann::ordered_json ReportJson(const char* benchmark, int schema, const RunOptions& options,
                                  const Conditions& machine, double seconds) {
  nlohmann::ordered_json json = {{"benchmark", benchmark},
                                 {"schema", schema},
                                 {"command", options.command},
                                 {"seconds", seconds},
                                 {"conditions", nlohmann::ordered_json::object()}};
  for (const auto& [name, value] : machine) json["conditions"][name] = value;
  return json;
}

std::string TextOf(const std::vector<Table>& tables) {
  std::string text;
  for (const Table& table : tables) {
    if (!table.rows.empty()) text += table.title + "\n" + ToText(table) + "\n";
  }
  return text;
}

std::string Fenced(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return "```text\n" + text + "\n```\n";
}

}  // namespace bench
