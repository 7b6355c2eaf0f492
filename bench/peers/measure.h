// Runs loops, one a thread, and takes the time.
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
  double seconds = 0;         // from the first step until the last loop has ended
  double cpu_seconds = 0;     // of the whole process meanwhile, in user space and in the kernel
  uint64_t device_bytes = 0;  // read from devices meanwhile, by the whole process

  double micros() const { return seconds * 1e6 / static_cast<double>(operations); }
  double cpu_micros() const { return cpu_seconds * 1e6 / static_cast<double>(operations); }
};

// One loop runs on the calling thread, more of them on threads of their own, which begin together.
// They end when `seconds` are over (nullopt: never), or when they are done.  The first error of any
// ends all.
absl::StatusOr<Measured> Measure(const std::vector<std::unique_ptr<Loop>>& loops,
                                 std::optional<double> seconds);

// Of all threads, in user space and in the kernel.
double CpuSeconds();

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_MEASURE_H_
