#include "bench/peers/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "bench/machine.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

using SteadyClock = std::chrono::steady_clock;

struct Outcome {
  absl::Status status;
  uint64_t operations = 0;
};

// `ended`: another loop has failed, so this one may stop.
Outcome RunOne(Loop* loop, std::optional<double> seconds, std::atomic<bool>* ended) {
  Outcome outcome;
  const SteadyClock::time_point begin = SteadyClock::now();
  // Relaxed: orders nothing, and one step more does no harm.
  while (!ended->load(std::memory_order_relaxed)) {
    const absl::StatusOr<uint64_t> done = loop->Step();
    if (!done.ok()) {
      outcome.status = done.status();
      ended->store(true, std::memory_order_relaxed);
      break;
    }
    outcome.operations += *done;
    if (*done == 0 || (seconds && SecondsSince(begin) >= *seconds)) break;
  }
  return outcome;
}

}  // namespace

double CpuSeconds() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

absl::StatusOr<Measured> Measure(const std::vector<std::unique_ptr<Loop>>& loops,
                                 std::optional<double> seconds) {
  std::vector<Outcome> outcomes(loops.size());
  std::atomic<bool> ended{false};
  const uint64_t bytes_begin = ReadIoBytes().read_from_devices;
  SteadyClock::time_point begin;
  double cpu_begin = 0;
  Measured measured;
  if (loops.size() == 1) {
    cpu_begin = CpuSeconds();
    begin = SteadyClock::now();
    outcomes[0] = RunOne(loops[0].get(), seconds, &ended);
    measured.seconds = SecondsSince(begin);
  } else {
    std::latch all_here(static_cast<std::ptrdiff_t>(loops.size()) + 1);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < loops.size(); ++i) {
      threads.emplace_back([&, i] {
        all_here.arrive_and_wait();
        outcomes[i] = RunOne(loops[i].get(), seconds, &ended);
      });
    }
    cpu_begin = CpuSeconds();
    all_here.arrive_and_wait();
    begin = SteadyClock::now();
    for (std::thread& thread : threads) thread.join();
    measured.seconds = SecondsSince(begin);
  }
  measured.cpu_seconds = CpuSeconds() - cpu_begin;
  measured.device_bytes = ReadIoBytes().read_from_devices - bytes_begin;
  for (const Outcome& outcome : outcomes) {
    TRELLIS_RETURN_IF_ERROR(outcome.status);
    measured.operations += outcome.operations;
  }
  if (measured.operations == 0) return absl::InternalError("a measurement without operations");
  return measured;
}

}  // namespace bench::peers
