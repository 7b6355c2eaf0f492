// filter_lab: the filters of bloom/ measured against their theory, and the experiments of others
// with sound code.  bench/README.md explains it.
#include "bench/filter_lab/lab.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::ParseLabCommandLine, &bench::Run);
}
