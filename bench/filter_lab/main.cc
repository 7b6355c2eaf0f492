// filter_lab: the filters of bloom/ measured against their theory, and the experiments of others
// with sound code.  bench/README.md explains it.
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "bench/filter_lab/config.h"
#include "bench/filter_lab/lab.h"
#include "bench/filter_lab/variants.h"
#include "bench/interrupt.h"
#include "lsm/bytes/status.h"

namespace {

constexpr int kFailed = 1;

int Fail(const absl::Status& status) {
  const std::string message(lsm::MessageOf(status));
  std::fprintf(stderr, "filter_lab: %s\n", message.c_str());
  return kFailed;
}

// The exit code: whether all that was printed has arrived.
int Printed() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  return Fail(absl::UnavailableError("cannot write to the standard output"));
}

// Of the table in bloom/README.md.
int PrintFamilyRows(const bench::LabConfig& config) {
  std::printf("%s", std::string(bench::kFamilyTableHead).c_str());
  for (const bench::Variant& variant : bench::Variants()) {
    const auto& wanted = config.variants;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), variant.name) == wanted.end())
      continue;
    const absl::StatusOr<bench::FamilyRow> row =
        bench::FamilyRowOf(variant, bench::kFamilyRowQueries);
    if (!row.ok()) return Fail(row.status());
    std::printf("%s%s\n", row->fixed.c_str(), row->measured.c_str());
    std::fflush(stdout);
  }
  return Printed();
}

void Show(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::ParsedLabCommandLine parsed = bench::ParseLabCommandLine(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  bench::EndOnInterrupt("filter_lab",
                        "no file was written (one that is there is of an earlier run)");
  if (parsed.config.family_rows) return PrintFamilyRows(parsed.config);

  const absl::StatusOr<bench::LabResults> results = bench::RunLab(parsed.config, &Show);
  if (!results.ok()) return Fail(results.status());
  Show(bench::ConditionsText(*results));
  // From here on an interrupt waits: the files are written both, and whole.
  sigset_t interrupts;
  ::sigemptyset(&interrupts);
  ::sigaddset(&interrupts, SIGINT);
  ::sigaddset(&interrupts, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &interrupts, nullptr);
  const absl::Status written = bench::WriteLab(*results);
  if (!written.ok()) return Fail(written);
  for (const std::string& file : {parsed.config.html, parsed.config.json}) {
    if (!file.empty()) std::printf("Written  %s\n", file.c_str());
  }
  return Printed();
}
