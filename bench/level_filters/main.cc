// level_filters: what it is worth to spread filter memory over the levels, measured.
// bench/README.md explains it.
#include <cstdio>
#include <string>

#include "bench/interrupt.h"
#include "bench/level_filters/config.h"
#include "bench/level_filters/experiment.h"
#include "bench/level_filters/report.h"
#include "lsm/bytes/status.h"

namespace {

int Fail(const absl::Status& status) {
  const std::string message(lsm::MessageOf(status));
  std::fprintf(stderr, "level_filters: %s\n", message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::level_filters::ParsedCommandLine parsed =
      bench::level_filters::ParseCommandLine(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  bench::EndOnInterrupt("level_filters", bench::kNoReport);
  const absl::StatusOr<bench::level_filters::Results> results =
      bench::level_filters::Run(parsed.config);
  if (!results.ok()) return Fail(results.status());
  // First, so that a report that cannot be written does not take the figures with it.
  std::printf("%s\n%s\n%s\n%s\n%s\n", bench::level_filters::ToMarkdown(*results).c_str(),
              bench::ToText(bench::level_filters::StoresTable(*results)).c_str(),
              bench::ToText(bench::level_filters::LevelsTable(*results)).c_str(),
              bench::ToText(bench::level_filters::SkewTable(*results)).c_str(),
              bench::ToText(bench::level_filters::RoundsTable(*results)).c_str());
  const absl::Status written = bench::level_filters::WriteReports(*results);
  if (!written.ok()) return Fail(written);
  const std::string& out = parsed.config.out;
  std::printf("Report  %s/report.html (open it in a browser), %s/report.json\n", out.c_str(),
              out.c_str());
  std::printf("Stores  %s/stores (sstdump levels DIR shows one)\n", out.c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
