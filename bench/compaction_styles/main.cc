// compaction_styles: write, read and space costs of each compaction style.
// bench/README.md explains it.
#include "bench/compaction_styles/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::styles::ParseCommandLine, &bench::styles::Run);
}
