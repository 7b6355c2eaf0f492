#include <algorithm>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/store.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr double kLogsMax = 3;  // write buffers
constexpr uint64_t kSamplesPerBuffer = 256;
constexpr uint64_t kPutsPerColdPut = 1000;

}  // namespace

absl::StatusOr<Part> MeasureCold(const Config& config, Progress* progress) {
  Part part{"cold", "", {}};
  const uint64_t cold = Allowed(config.cold + 1, &part.notes) - 1;
  part.title =
      lsm::Concat("cold: logs with one hot keyspace and ", lsm::ReadableCount(cold), " cold ones");
  progress->Announce(part.title);
  Store store(config, "cold");
  TRELLIS_RETURN_IF_ERROR(store.Open());
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<lsm::Keyspace> hot, store.OpenKeyspaces("hot", 1));
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<lsm::Keyspace> others,
                           store.OpenKeyspaces("cold", cold));
  Feeder feeder(config, &store.db(), config.value_bytes);
  for (const lsm::Keyspace& keyspace : others) TRELLIS_RETURN_IF_ERROR(feeder.Put(&keyspace, 0));

  const uint64_t puts = config.flushes * config.write_buffer_bytes / config.entry_bytes();
  const uint64_t puts_per_sample =
      config.write_buffer_bytes / kSamplesPerBuffer / config.entry_bytes() + 1;
  uint64_t samples = 0, most_bytes = 0, most_logs = 0;
  double sum_bytes = 0;
  for (uint64_t i = 1; i <= puts; ++i) {
    TRELLIS_RETURN_IF_ERROR(feeder.Put(hot.data(), i));
    if (i % kPutsPerColdPut == 0 && cold > 0) {
      TRELLIS_RETURN_IF_ERROR(feeder.Put(&others[i / kPutsPerColdPut % cold], i));
    }
    if (i % puts_per_sample != 0 && i != puts) continue;
    const Files files = store.GetFiles();
    most_bytes = std::max(most_bytes, files.log_bytes);
    most_logs = std::max(most_logs, files.logs);
    sum_bytes += static_cast<double>(files.log_bytes);
    ++samples;
  }
  TRELLIS_RETURN_IF_ERROR(feeder.Finish());
  const auto buffer = static_cast<double>(config.write_buffer_bytes);
  part.figures = {
      {"most bytes of logs, write buffers", static_cast<double>(most_bytes) / buffer, "", kLogsMax},
      {"mean bytes of logs, write buffers", sum_bytes / static_cast<double>(samples) / buffer},
      {"most logs", static_cast<double>(most_logs)},
      {"flushes", static_cast<double>(store.db().GetStatistics().flushes)},
      {"hot keyspace has a tree of its own", hot[0].GetStatistics().has_own_tree ? 1.0 : 0.0}};
  return part;
}

}  // namespace bench::keyspaces
