// Options of every experiment: the directory for reports, the seed, and when to stop.
#ifndef TRELLIS_BENCH_EXPERIMENT_OPTIONS_H_
#define TRELLIS_BENCH_EXPERIMENT_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace bench {

// The base of each experiment's Config.
struct RunOptions {
  const char* program = "";  // for messages
  uint64_t seed = 1;
  std::string out;  // directory for the reports and the stores; the command line sets a default
  std::string chart_js;  // the file of Chart.js to inline into the page; empty: no plots
  std::string command;   // the command line as it was typed, for the report
  // Becomes true when the run should end with its results so far.  Null: never.
  const std::atomic<bool>* stop = nullptr;

  // Cancelled once `stop` is true.
  absl::Status CheckStop() const {
    // Relaxed: the flag publishes nothing else.
    const bool stopped = stop != nullptr && stop->load(std::memory_order_relaxed);
    return stopped ? absl::CancelledError("interrupted before anything was measured")
                   : absl::OkStatus();
  }
};

// A parsed command line: the configuration, or the exit code (0 after --help; 2 after an error,
// which has been explained on stderr).
template <typename Config>
struct Parsed {
  Config config;
  std::optional<int> exit_code;
};

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_OPTIONS_H_
