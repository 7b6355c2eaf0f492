#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "bench/keyspaces/parts.h"
#include "bench/keyspaces/trellis_store.h"
#include "bench/spread.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

constexpr double kCallMillisMax = 1;
constexpr uint64_t kDroppedValueBytes = 1000;  // a fill takes less time than with short values
constexpr uint64_t kSmallKeyspaces = 21;
constexpr double kWaitSeconds = 60;  // for the files to go
// Its tree counts as gone with this share of its bytes left: a flush may write names meanwhile.
constexpr double kShareLeft = 0.01;

struct Drops {
  double call_millis = 0;
  double gone_millis = 0;  // until its tables are
  bool are_gone = false;
  double bytes = 0;  // of its tree
  Files before, after;
  Spread small_millis;
};

// The keyspace 0, in the order of its keys, so that no compaction writes it again.  The others get
// a key each.
absl::Status FillForDrop(const Config& config, Store* store) {
  TRELLIS_RETURN_IF_ERROR(store->Open());
  TRELLIS_RETURN_IF_ERROR(store->OpenKeyspaces("large", 1));
  TRELLIS_RETURN_IF_ERROR(store->OpenKeyspaces("small", kSmallKeyspaces));
  Feeder feeder(config, store, kDroppedValueBytes);
  const uint64_t keys = config.size_bytes / (16 + kDroppedValueBytes) + 1;
  for (uint64_t i = 0; i < keys; ++i) TRELLIS_RETURN_IF_ERROR(feeder.PutKey(0, DecimalKey(i)));
  for (size_t small = 1; small <= kSmallKeyspaces; ++small)
    TRELLIS_RETURN_IF_ERROR(feeder.Put(small, 0));
  TRELLIS_RETURN_IF_ERROR(feeder.Finish());
  return store->Settle();
}

absl::StatusOr<Drops> TimeDrops(const Config& config, Store* store) {
  Drops drops;
  // The common tree may have older copies of its entries, which are dead since it left.
  drops.bytes = static_cast<double>(store->BytesOf(0));
  drops.before = store->GetFiles();
  const double limit =
      static_cast<double>(drops.before.table_bytes) - (1 - kShareLeft) * drops.bytes;
  const auto are_gone = [&] { return static_cast<double>(store->GetFiles().table_bytes) <= limit; };

  const auto begin = std::chrono::steady_clock::now();
  TRELLIS_RETURN_IF_ERROR(store->Drop(0));
  drops.call_millis = 1000 * SecondsSince(begin);
  drops.are_gone = are_gone();
  for (; !drops.are_gone && SecondsSince(begin) < kWaitSeconds; drops.are_gone = are_gone()) {
    TRELLIS_RETURN_IF_ERROR(config.CheckStop());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  drops.gone_millis = 1000 * SecondsSince(begin);
  TRELLIS_RETURN_IF_ERROR(store->WaitUntilQuiet());
  drops.after = store->GetFiles();
  Feeder feeder(config, store, kDroppedValueBytes);
  std::vector<double> small_millis;
  for (size_t small = 1; small <= kSmallKeyspaces; ++small) {
    TRELLIS_RETURN_IF_ERROR(feeder.Check(small, 0));
    const auto small_begin = std::chrono::steady_clock::now();
    TRELLIS_RETURN_IF_ERROR(store->Drop(small));
    small_millis.push_back(1000 * SecondsSince(small_begin));
  }
  drops.small_millis = SpreadOf(std::move(small_millis));
  return drops;
}

}  // namespace

absl::StatusOr<Part> MeasureDrop(const Config& config, Progress* progress) {
  Part part{"drop", lsm::Concat("drop: a keyspace of ", lsm::ReadableBytes(config.size_bytes)), {}};
  std::optional<Drops> peer;
  if (config.has_peer()) {
    progress->Announce(part.title + ", in RocksDB");
    const std::unique_ptr<Store> rocksdb = MakeRocksDb({config, "drop-rocksdb"});
    TRELLIS_RETURN_IF_ERROR(FillForDrop(config, rocksdb.get()));
    TRELLIS_ASSIGN_OR_RETURN(peer, TimeDrops(config, rocksdb.get()));
  }
  progress->Announce(part.title);
  TrellisStore store({config, "drop"});
  TRELLIS_RETURN_IF_ERROR(FillForDrop(config, &store));
  const bool has_own_tree = store.HasOwnTree(0);
  TRELLIS_ASSIGN_OR_RETURN(const Drops drops, TimeDrops(config, &store));
  if (!drops.are_gone)
    part.notes.push_back(lsm::Concat("its tables are still there after ", kWaitSeconds, " s"));
  if (!has_own_tree) part.notes.push_back("the keyspace had no tree of its own");
  const auto add = [&](const char* name, double (*value)(const Drops&), const char* unit,
                       std::optional<double> goal = std::nullopt) {
    part.figures.push_back({name, value(drops), unit, goal});
    if (peer) part.figures.back().peer = value(*peer);
  };
  add(
      "the call", [](const Drops& of) { return of.call_millis; }, "ms", kCallMillisMax);
  add(
      "the call for a keyspace of one key, median",
      [](const Drops& of) { return of.small_millis.median; }, "ms", kCallMillisMax);
  add(
      "the call for a keyspace of one key, most",
      [](const Drops& of) { return of.small_millis.max; }, "ms");
  add(
      "until the tables of its tree are gone", [](const Drops& of) { return of.gone_millis; },
      "ms");
  add(
      "all tables before", [](const Drops& of) { return static_cast<double>(of.before.tables); },
      "");
  add(
      "bytes of its tree before", [](const Drops& of) { return of.bytes; }, "B");
  add(
      "bytes of all tables before",
      [](const Drops& of) { return static_cast<double>(of.before.table_bytes); }, "B");
  add(
      "all tables left", [](const Drops& of) { return static_cast<double>(of.after.tables); }, "");
  add(
      "bytes of all tables left",
      [](const Drops& of) { return static_cast<double>(of.after.table_bytes); }, "B");
  return part;
}

}  // namespace bench::keyspaces
