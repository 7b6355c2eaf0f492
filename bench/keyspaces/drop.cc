#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/store.h"
#include "bench/spread.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr double kCallMillisMax = 1;
constexpr uint64_t kDroppedValueBytes = 1000;  // a fill takes less time than with short values
constexpr uint64_t kSmallKeyspaces = 21;
constexpr double kWaitSeconds = 10;  // for the files to go
// Its tree counts as gone with this share of its bytes left: a flush may write names meanwhile.
constexpr double kShareLeft = 0.01;

}  // namespace

absl::StatusOr<Part> MeasureDrop(const Config& config, Progress* progress) {
  Part part{"drop", lsm::Concat("drop: a keyspace of ", lsm::ReadableBytes(config.size_bytes)), {}};
  progress->Announce(part.title);
  Store store(config, "drop");
  TRELLIS_RETURN_IF_ERROR(store.Open());
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<lsm::Keyspace> large, store.OpenKeyspaces("large", 1));
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<lsm::Keyspace> small,
                           store.OpenKeyspaces("small", kSmallKeyspaces));
  Feeder feeder(config, &store.db(), kDroppedValueBytes);
  TRELLIS_RETURN_IF_ERROR(
      feeder.Fill(large.data(), 0, config.size_bytes / (16 + kDroppedValueBytes) + 1));
  for (const lsm::Keyspace& keyspace : small) TRELLIS_RETURN_IF_ERROR(feeder.Put(&keyspace, 0));
  TRELLIS_RETURN_IF_ERROR(feeder.Finish());
  TRELLIS_RETURN_IF_ERROR(store.Settle());
  const lsm::KeyspaceStatistics statistics = large[0].GetStatistics();
  const Files before = store.GetFiles();
  // The common tree may have older copies of its entries, which are dead since it left.
  const auto its_bytes = static_cast<double>(statistics.table_bytes);
  const double limit = static_cast<double>(before.table_bytes) - (1 - kShareLeft) * its_bytes;

  const auto begin = std::chrono::steady_clock::now();
  TRELLIS_RETURN_IF_ERROR(store.db().DropKeyspace(large[0].name()));
  const double call_seconds = SecondsSince(begin);
  const auto are_gone = [&] { return static_cast<double>(store.GetFiles().table_bytes) <= limit; };
  bool gone = are_gone();
  for (; !gone && SecondsSince(begin) < kWaitSeconds; gone = are_gone()) {
    TRELLIS_RETURN_IF_ERROR(config.CheckStop());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const double gone_seconds = SecondsSince(begin);
  TRELLIS_RETURN_IF_ERROR(store.db().WaitForBackgroundWork());
  const Files now = store.GetFiles();
  std::vector<double> small_millis;
  for (const lsm::Keyspace& keyspace : small) {
    const auto small_begin = std::chrono::steady_clock::now();
    TRELLIS_RETURN_IF_ERROR(store.db().DropKeyspace(keyspace.name()));
    small_millis.push_back(1000 * SecondsSince(small_begin));
  }
  const Spread small_call = SpreadOf(std::move(small_millis));
  if (!gone)
    part.notes.push_back(lsm::Concat("its tables are still there after ", kWaitSeconds, " s"));
  if (!statistics.has_own_tree) part.notes.push_back("the keyspace had no tree of its own");
  part.figures = {
      {"the call", 1000 * call_seconds, "ms", kCallMillisMax},
      {"the call for a keyspace of one key, median", small_call.median, "ms", kCallMillisMax},
      {"the call for a keyspace of one key, most", small_call.max, "ms"},
      {"until the tables of its tree are gone", 1000 * gone_seconds, "ms"},
      {"all tables before", static_cast<double>(before.tables)},
      {"bytes of its tree before", its_bytes, "B"},
      {"bytes of all tables before", static_cast<double>(before.table_bytes), "B"},
      {"all tables left", static_cast<double>(now.tables)},
      {"bytes of all tables left", static_cast<double>(now.table_bytes), "B"}};
  return part;
}

}  // namespace bench::keyspaces
