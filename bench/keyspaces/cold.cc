#include <algorithm>
#include <optional>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/trellis_store.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr double kLogsMax = 3;  // write buffers
constexpr uint64_t kSamplesPerBuffer = 256;
constexpr uint64_t kPutsPerColdPut = 1000;
constexpr uint64_t kPutsPerCheck = 1000;

struct Logs {
  uint64_t most_bytes = 0;
  double mean_bytes = 0;
  uint64_t most = 0;  // files
};

absl::StatusOr<Logs> MeasureLogs(const Config& config, uint64_t cold, Store* store) {
  TRELLIS_RETURN_IF_ERROR(store->Open());
  TRELLIS_RETURN_IF_ERROR(store->OpenKeyspaces("hot", 1));
  TRELLIS_RETURN_IF_ERROR(store->OpenKeyspaces("cold", cold));
  Feeder feeder(config, store, config.value_bytes);
  for (size_t other = 1; other <= cold; ++other) TRELLIS_RETURN_IF_ERROR(feeder.Put(other, 0));

  const uint64_t puts = config.flushes * config.write_buffer_bytes / config.entry_bytes();
  const uint64_t puts_per_sample =
      config.write_buffer_bytes / kSamplesPerBuffer / config.entry_bytes() + 1;
  Logs logs;
  uint64_t samples = 0;
  for (uint64_t i = 1; i <= puts; ++i) {
    TRELLIS_RETURN_IF_ERROR(feeder.Put(0, i));
    if (i % kPutsPerColdPut == 0 && cold > 0)
      TRELLIS_RETURN_IF_ERROR(feeder.Put(1 + i / kPutsPerColdPut % cold, i));
    if (i % puts_per_sample != 0 && i != puts) continue;
    const Files files = store->GetFiles();
    logs.most_bytes = std::max(logs.most_bytes, files.log_bytes);
    logs.most = std::max(logs.most, files.logs);
    logs.mean_bytes += static_cast<double>(files.log_bytes);
    ++samples;
  }
  TRELLIS_RETURN_IF_ERROR(feeder.Finish());
  logs.mean_bytes /= static_cast<double>(samples);
  for (uint64_t i = 1; i <= puts; i += kPutsPerCheck) TRELLIS_RETURN_IF_ERROR(feeder.Check(0, i));
  for (size_t other = 1; other <= cold; ++other) TRELLIS_RETURN_IF_ERROR(feeder.Check(other, 0));
  return logs;
}

}  // namespace

absl::StatusOr<Part> MeasureCold(const Config& config, Progress* progress) {
  Part part{"cold", "", {}};
  const uint64_t cold = Allowed(config.cold + 1, &part.notes) - 1;
  part.title =
      lsm::Concat("cold: logs with one hot keyspace and ", lsm::ReadableCount(cold), " cold ones");
  progress->Announce(part.title);
  std::optional<Logs> peer;
  if (config.has_peer()) {
    const std::unique_ptr<Store> rocksdb = MakeRocksDb({config, "cold-rocksdb"});
    TRELLIS_ASSIGN_OR_RETURN(peer, MeasureLogs(config, cold, rocksdb.get()));
  }
  TrellisStore store({config, "cold"});
  TRELLIS_ASSIGN_OR_RETURN(const Logs logs, MeasureLogs(config, cold, &store));
  const auto buffer = static_cast<double>(config.write_buffer_bytes);
  const auto add = [&](const char* name, double (*value)(const Logs&), double unit,
                       std::optional<double> goal = std::nullopt) {
    part.figures.push_back({name, value(logs) / unit, "", goal});
    if (peer) part.figures.back().peer = value(*peer) / unit;
  };
  add(
      "most bytes of logs, write buffers",
      [](const Logs& of) { return static_cast<double>(of.most_bytes); }, buffer, kLogsMax);
  add(
      "mean bytes of logs, write buffers", [](const Logs& of) { return of.mean_bytes; }, buffer);
  add(
      "most logs", [](const Logs& of) { return static_cast<double>(of.most); }, 1);
  part.figures.push_back({"flushes", static_cast<double>(store.db().GetStatistics().flushes)});
  part.figures.push_back({"hot keyspace has a tree of its own", store.HasOwnTree(0) ? 1.0 : 0.0});
  return part;
}

}  // namespace bench::keyspaces
