// scale: how a store's costs grow with its keys, beside what the design predicts.
// bench/README.md explains it.
#include "bench/scale/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::scale::ParseCommandLine, &bench::scale::Run);
}
