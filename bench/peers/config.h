// What a run of peers_bench was asked to do.
#ifndef TRELLIS_BENCH_PEERS_CONFIG_H_
#define TRELLIS_BENCH_PEERS_CONFIG_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/peers/comparison.h"

namespace bench::peers {

// The configuration and the stores that are compared, or the code to exit with (0 after --help, 2
// after a mistake, which has been explained on stderr).
struct ParsedCommandLine {
  ComparisonConfig config;
  std::vector<std::string> stores;
  std::optional<int> exit_code;
};
ParsedCommandLine ParseCommandLine(int argc, char** argv);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_CONFIG_H_
