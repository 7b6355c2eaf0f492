// compaction_styles: what each style of compaction writes, reads and takes, measured.
// bench/README.md explains it.
#include <cstdio>
#include <string>

#include "bench/compaction_styles/config.h"
#include "bench/compaction_styles/experiment.h"
#include "bench/compaction_styles/report.h"
#include "bench/interrupt.h"
#include "lsm/bytes/status.h"

namespace {

int Fail(const absl::Status& status) {
  const std::string message(lsm::MessageOf(status));
  std::fprintf(stderr, "compaction_styles: %s\n", message.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::styles::ParsedCommandLine parsed = bench::styles::ParseCommandLine(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  bench::EndOnInterrupt("compaction_styles", bench::kNoReport);

  const absl::StatusOr<bench::styles::Results> results =
      bench::styles::CompareStyles(parsed.config);
  if (!results.ok()) return Fail(results.status());
  // First, so that a report that cannot be written does not take the figures with it.
  std::printf("%s\n", bench::styles::ToText(*results).c_str());
  const absl::Status written = bench::styles::WriteReports(*results);
  if (!written.ok()) return Fail(written);
  const std::string& out = parsed.config.out;
  std::printf("Report  %s/report.html (open it in a browser), %s/report.json\n", out.c_str(),
              out.c_str());
  if (parsed.config.on_disk)
    std::printf("Stores  %s/stores/* (sstdump levels DIR shows one)\n", out.c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
