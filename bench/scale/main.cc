// scale: how a store's costs grow with its keys, beside what the design predicts.
// bench/README.md explains it.
#include <cstdio>
#include <string>

#include "bench/interrupt.h"
#include "bench/scale/config.h"
#include "bench/scale/experiment.h"
#include "bench/scale/report.h"
#include "lsm/bytes/status.h"

namespace {

int Fail(const absl::Status& status) {
  const std::string message(lsm::MessageOf(status));
  std::fprintf(stderr, "scale: %s\n", message.c_str());
  return absl::IsCancelled(status) ? 130 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  bench::scale::ParsedCommandLine parsed = bench::scale::ParseCommandLine(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  parsed.config.stop = &bench::StopOnInterrupt("scale");

  const absl::StatusOr<bench::scale::Results> results = bench::scale::Grow(parsed.config);
  if (!results.ok()) return Fail(results.status());
  // First, so that a report that cannot be written does not take the figures with it.
  std::printf("%s\n", bench::scale::ToText(*results).c_str());
  const absl::Status written = bench::scale::WriteReports(*results);
  if (!written.ok()) return Fail(written);
  const std::string& out = parsed.config.out;
  std::printf("Report  %s/report.html (open it in a browser), %s/report.json\n", out.c_str(),
              out.c_str());
  if (parsed.config.keep)
    std::printf("Store   %s/store (sstdump levels DIR shows it)\n", out.c_str());
  if (std::fflush(stdout) != 0) return 1;
  return results->interrupted ? 130 : 0;
}
