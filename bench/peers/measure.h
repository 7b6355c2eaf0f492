// Runs loops, one per thread, and measures their time.
#ifndef TRELLIS_BENCH_PEERS_MEASURE_H_
#define TRELLIS_BENCH_PEERS_MEASURE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/peers/loops.h"

namespace bench::peers {

struct Measured {
  uint64_t operations = 0;    // of all loops
  double seconds = 0;         // from the first step until the last loop ends
  double cpu_seconds = 0;     // of the whole process in that time, user space and kernel
  uint64_t device_bytes = 0;  // read from devices in that time by the whole process

  double micros() const { return seconds * 1e6 / static_cast<double>(operations); }
  double cpu_micros() const { return cpu_seconds * 1e6 / static_cast<double>(operations); }
};

// One loop runs on the calling thread; several run on threads of their own, which start together.
// They end after `seconds` (nullopt: no limit) or when they are done.  The first error ends all.
absl::StatusOr<Measured> Measure(const std::vector<std::unique_ptr<Loop>>& loops,
                                 std::optional<double> seconds);

// Processor time of all threads, in user space and in the kernel.
double CpuSeconds();

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_MEASURE_H_
