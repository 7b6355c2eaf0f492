#include "bench/peers/openings.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "bench/machine.h"
#include "bench/peers/measure.h"
#include "bench/spread.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

// Half of a value is compressible.
constexpr double kTableBytes = 0.65;  // per user byte

double MedianOf(std::vector<double> values) { return SpreadOf(std::move(values)).median; }

absl::Status AskFirst(Peer* peer, Contents* contents, const Orders& orders, const Start& start) {
  const std::unique_ptr<Reader> reader = peer->NewReader();
  const std::unique_ptr<Loop> loop = NewReadLoop(TaskInfo{"", Task::kGet, 1, Draw::kUniform, 0},
                                                 {peer, reader.get(), contents}, orders, start);
  for (uint64_t asked = 0; asked < kFirstGets;) {
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t step, loop->Step());
    asked += step;
  }
  return absl::OkStatus();
}

}  // namespace

uint64_t ManyTablesBytes(uint64_t user_bytes) {
  const double bytes = kTableBytes * static_cast<double>(user_bytes);
  return std::max(uint64_t{64} << 10, static_cast<uint64_t>(bytes / kTablesWanted));
}

absl::StatusOr<Sample> TimeOpenings(const TaskInfo& task, const std::string& directory,
                                    const PeerSettings& settings, Peer* peer, Contents* contents,
                                    const Orders& orders, const Start& start) {
  std::vector<double> micros, cpu_micros, read, from_devices;
  for (int i = 0; i <= kOpenings; ++i) {
    if (task.is_cold()) ForgetFilesIn(directory);
    const IoBytes io_begin = ReadIoBytes();
    const double cpu_begin = CpuSeconds();
    const auto begin = std::chrono::steady_clock::now();
    TRELLIS_RETURN_IF_ERROR(peer->Open(directory, settings, Peer::Begin::kAsItIs));
    if (task.asks_first())
      TRELLIS_RETURN_IF_ERROR(
          AskFirst(peer, contents, orders, {start.seed + static_cast<uint64_t>(i), start.thread}));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    const double cpu = CpuSeconds() - cpu_begin;
    const IoBytes io_end = ReadIoBytes();
    const uint64_t bytes_read = peer->table_bytes_read().value_or(io_end.read - io_begin.read);
    TRELLIS_RETURN_IF_ERROR(peer->WaitUntilQuiet());
    TRELLIS_RETURN_IF_ERROR(peer->Close());
    if (i == 0) continue;
    micros.push_back(taken.count() * 1e6);
    cpu_micros.push_back(cpu * 1e6);
    read.push_back(static_cast<double>(bytes_read));
    from_devices.push_back(
        static_cast<double>(io_end.read_from_devices - io_begin.read_from_devices));
  }
  Sample sample;
  sample.micros = MedianOf(std::move(micros));
  sample.cpu_micros = MedianOf(std::move(cpu_micros));
  sample.read_bytes = MedianOf(std::move(read));
  sample.device_bytes = MedianOf(std::move(from_devices));
  return sample;
}

}  // namespace bench::peers
