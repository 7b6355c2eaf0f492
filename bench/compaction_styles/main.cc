// compaction_styles: what each style of compaction writes, reads and occupies.
// bench/README.md explains it.
#include "bench/compaction_styles/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::styles::ParseCommandLine, &bench::styles::Run);
}
