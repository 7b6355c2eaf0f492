// read_amp: the effect of a store's filters on point lookups.
// bench/README.md explains it.
#include "bench/read_amp/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::ParseCommandLine, &bench::Run);
}
