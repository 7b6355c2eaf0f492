// filter_lab: the filters of bloom/ measured against theory, and published experiments repeated
// with sound code.  bench/README.md explains it.
#include "bench/filter_lab/lab.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::ParseLabCommandLine, &bench::Run);
}
