// level_filters: the gain from spreading filter memory over the levels.
// bench/README.md explains it.
#include "bench/level_filters/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::level_filters::ParseCommandLine,
                              &bench::level_filters::Run);
}
