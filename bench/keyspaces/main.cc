// keyspaces_bench: the goals of keyspaces.  bench/README.md explains it.
#include "bench/keyspaces/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::keyspaces::ParseCommandLine,
                              &bench::keyspaces::Run);
}
