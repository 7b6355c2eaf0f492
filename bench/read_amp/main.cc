// read_amp: what the filters of a store do to point lookups.
// bench/README.md explains it.
#include "bench/read_amp/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::ParseCommandLine, &bench::Run);
}
