// scale: the growth of a store's costs with its keys, and the design's predictions.
// bench/README.md explains it.
#include "bench/scale/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::scale::ParseCommandLine, &bench::scale::Run);
}
