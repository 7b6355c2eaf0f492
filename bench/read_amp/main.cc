// read_amp: what the filters of a store do to point lookups, measured.  bench/README.md explains
// it.
#include <cstdio>
#include <string>
#include <utility>

#include "bench/interrupt.h"
#include "bench/read_amp/config.h"
#include "bench/read_amp/experiment.h"
#include "bench/read_amp/key_set.h"
#include "bench/read_amp/report.h"
#include "bench/read_amp/tables.h"
#include "lsm/bytes/status.h"

namespace {

constexpr int kFailed = 1;

int Fail(const absl::Status& status) {
  const std::string message(lsm::MessageOf(status));
  std::fprintf(stderr, "read_amp: %s\n", message.c_str());
  return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::ParsedCommandLine parsed = bench::ParseCommandLine(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  bench::EndOnInterrupt("read_amp", bench::kNoReport);

  absl::StatusOr<bench::KeySet> keys = bench::MakeKeySet(parsed.config);
  if (!keys.ok()) return Fail(keys.status());
  bench::Experiment experiment(parsed.config, *std::move(keys));
  const absl::StatusOr<bench::Results> results = experiment.Run();
  if (!results.ok()) return Fail(results.status());
  // First, so that a report that cannot be written does not take the figures with it.
  std::printf("%s\n", bench::RenderText(*results).c_str());
  const absl::Status written = bench::WriteReports(*results);
  if (!written.ok()) return Fail(written);

  const std::string& out = parsed.config.out;
  std::printf("Report  %s/report.html (open it in a browser), %s/report.json\nStores  ",
              out.c_str(), out.c_str());
  for (const bench::StoreResult& store : results->stores) {
    std::printf("%s/stores/%s\n        ", out.c_str(), store.config.name().c_str());
  }
  std::printf("(sstdump levels DIR shows one)\n");
  return std::fflush(stdout) == 0 ? 0 : kFailed;
}
