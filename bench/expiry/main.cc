// expiry_bench: the goals of expiry.  bench/README.md explains it.
#include "bench/expiry/report.h"

int main(int argc, char** argv) {
  return bench::RunExperiment(argc, argv, &bench::expiry::ParseCommandLine, &bench::expiry::Run);
}
