#include "bench/level_filters/experiment.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "bench/experiment/progress.h"
#include "bench/level_filters/skew.h"
#include "bench/machine.h"
#include "bench/report/page.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/filters/filter_curve.h"

namespace bench::level_filters {
namespace {

using Clock = std::chrono::steady_clock;

// Keys are made from numbers.  Numbers below `keys` are stored, in number order, which is a random
// order of the keys; larger ones are absent.
class Experiment {
 public:
  Experiment(const Config& config, double progress_total)
      : config_(config),
        values_(static_cast<size_t>(config.value_bytes)),
        progress_(progress_total) {
    shape_ = FourLevels(config);
  }

  const StoreShape& shape() const { return shape_; }
  double elapsed_seconds() const { return progress_.elapsed_seconds(); }
  Progress* progress() { return &progress_; }

  absl::StatusOr<StoreResult> Measure(const ComparedStore& config) {
    StoreResult result;
    result.config = config;
    const std::string directory = config_.out + "/stores/" + config.name;
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                             config.is_rocksdb
                                 ? MakeRocksDb(directory, config, shape_)
                                 : MakeTrellis(directory, config, shape_, config_.seed));
    TRELLIS_RETURN_IF_ERROR(Load(store.get(), &result));
    TRELLIS_ASSIGN_OR_RETURN(result.levels, store->Levels());
    TRELLIS_RETURN_IF_ERROR(store->HoldShape());
    TRELLIS_RETURN_IF_ERROR(AskAbsent(store.get(), &result));
    TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
    TRELLIS_RETURN_IF_ERROR(AskBottom(store.get(), &result));
    progress_.Advance(1);
    return result;
  }

 private:
  std::string KeyOf(uint64_t number) const { return SyntheticKey(number, config_.seed); }

  absl::Status Load(Store* store, StoreResult* result) {
    progress_.Announce("loading " + result->config.name);
    const auto from = Clock::now();
    std::string value;
    for (uint64_t i = 0; i < config_.keys; ++i) {
      const std::string key = KeyOf(i);
      values_.Make(key, &value);
      TRELLIS_RETURN_IF_ERROR(store->Write(key, value));
      if ((i + 1) % shape_.entries_per_flush != 0 && i + 1 != config_.keys) continue;
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      TRELLIS_RETURN_IF_ERROR(store->Settle());
      TRELLIS_RETURN_IF_ERROR(NoteMemory(store, result));
      progress_.Show(lsm::ReadableCount(i + 1) + " keys");
    }
    result->load_seconds = SecondsSince(from);
    return absl::OkStatus();
  }

  absl::Status NoteMemory(Store* store, StoreResult* result) {
    const lsm::FilterGoal& goal = result->config.filter_goal;
    StoreResult now;
    TRELLIS_ASSIGN_OR_RETURN(now.levels, store->Levels());
    double allowed = 0;
    if (goal.kind() == lsm::FilterGoal::Kind::kBytes) allowed = goal.value();
    if (goal.kind() == lsm::FilterGoal::Kind::kBitsPerKey)
      allowed = goal.value() * static_cast<double>(now.keys()) / 8;
    if (allowed == 0) return absl::OkStatus();
    result->most_of_budget =
        std::max(result->most_of_budget, static_cast<double>(now.filter_bytes()) / allowed);
    return absl::OkStatus();
  }

  absl::Status AskAbsent(Store* store, StoreResult* result) {
    progress_.Announce("asking " + result->config.name + " for absent keys");
    const uint64_t before = store->wasted_reads();
    std::string value;
    for (uint64_t i = 0; i < config_.absent_lookups; ++i) {
      const std::string key = KeyOf(config_.keys + i);
      TRELLIS_ASSIGN_OR_RETURN(const bool found, store->Get(key, &value));
      if (found) return WrongAnswer(*result, key, "was found, but never stored");
    }
    result->absent = {config_.absent_lookups, store->wasted_reads() - before};
    return absl::OkStatus();
  }

  // Stored keys that are in the deepest level, in an order independent of when they were written.
  absl::StatusOr<std::vector<std::string>> KeysOfTheBottom(Store* store,
                                                           const StoreResult& result) const {
    const int bottom = result.levels.empty() ? 0 : result.levels.back().level;
    std::vector<std::string> keys;
    for (const uint64_t number : Shuffled(config_.keys, config_.seed + 1)) {
      if (keys.size() >= config_.bottom_lookups) break;
      std::string key = KeyOf(number);
      TRELLIS_ASSIGN_OR_RETURN(const std::optional<int> level, store->LevelOf(key));
      if (!level.has_value()) return WrongAnswer(result, key, "was stored, but no level has it");
      if (*level == bottom) keys.push_back(std::move(key));
    }
    return keys;
  }

  absl::Status AskBottom(Store* store, StoreResult* result) {
    progress_.Announce("asking " + result->config.name + " for keys of its deepest level");
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> keys, KeysOfTheBottom(store, *result));
    const uint64_t before = store->wasted_reads();
    std::string value;
    for (const std::string& key : keys) {
      TRELLIS_ASSIGN_OR_RETURN(const bool found, store->Get(key, &value));
      if (!found || !values_.Matches(key, value))
        return WrongAnswer(*result, key, found ? "has another value" : "was not found");
    }
    result->bottom = {keys.size(), store->wasted_reads() - before};
    return absl::OkStatus();
  }

  static absl::Status WrongAnswer(const StoreResult& result, const std::string& key,
                                  const std::string& what) {
    return absl::InternalError(
        lsm::Concat(result.config.name, ": wrong answer: key ", key, " ", what));
  }

  const Config& config_;
  const ValueMaker values_;
  StoreShape shape_;
  Progress progress_;
};

}  // namespace

// Shapes a small tree with the proportions of the default options.  A flush and a table are a
// quarter of level 1.  Each deeper level is ten times larger, and level 3 just holds all keys.  The
// number of flushes leaves two tables in level 0.
StoreShape FourLevels(const Config& config) {
  const uint64_t entry_bytes = SyntheticKey(0, 0).size() + config.value_bytes;
  // Values compress to half in the files; sequence numbers and the index are added.
  const uint64_t file_bytes = config.keys * (entry_bytes - config.value_bytes / 3);
  constexpr uint64_t kLevel1Share = 96;
  constexpr uint64_t kFlushesOfLevel1 = 4;
  constexpr uint64_t kLeast = uint64_t{64} << 10;  // the minimum of these options
  StoreShape shape;
  shape.level1_bytes = std::max(kLeast, file_bytes / kLevel1Share);
  shape.table_bytes = std::max(kLeast, shape.level1_bytes / kFlushesOfLevel1);
  shape.flushes = kLevel1Share * kFlushesOfLevel1 + 2;
  shape.entries_per_flush = (config.keys + shape.flushes - 1) / shape.flushes;
  // Never reached, because Flush is called earlier.
  shape.write_buffer_bytes =
      std::max(uint64_t{1} << 20, 4 * shape.entries_per_flush * (entry_bytes + 128));
  return shape;
}

std::vector<ComparedStore> StoresOf(const Config& config, double same_reads) {
  const double bits = config.bits_per_key;
  // The FPP for this many bits.  Tables are large enough here to ignore their headers.
  const auto fpp_of = [bits](std::string_view kind) {
    return lsm::FilterCurve(kind, uint64_t{1} << 20).At(bits).target_fpp;
  };
  const auto bytes = static_cast<uint64_t>(bits * static_cast<double>(config.keys) / 8);
  using Goal = lsm::FilterGoal;
  std::vector<ComparedStore> stores = {
      {"uniform", "standard filters, one FPP for all tables", false, "standard",
       fpp_of("standard")},
      {"uniform-by-level", "blocked filters above, ribbon below, one FPP", false, "by-level",
       fpp_of("ribbon")},
      {"per-level", "standard filters, goal: bits per key", false, "standard", 0,
       Goal::BitsPerKey(bits)},
      {"per-level-bytes", "standard filters, goal: bytes in all", false, "standard", 0,
       Goal::Bytes(bytes)},
      {"per-level-kinds", "blocked and ribbon filters, goal: bits per key", false, "by-level", 0,
       Goal::BitsPerKey(bits)},
  };
  if (same_reads > 0) {
    stores.push_back({"per-level-reads", "standard filters, goal: the first store's waste", false,
                      "standard", 0, Goal::WastedReads(same_reads)});
  }
  if (HasRocksDb()) {
    ComparedStore rocksdb;
    rocksdb.name = "rocksdb";
    rocksdb.how = "RocksDB, Bloom filters with the same bits per key";
    rocksdb.is_rocksdb = true;
    rocksdb.bits_per_key = bits;
    stores.push_back(rocksdb);
  }
  return stores;
}

namespace {

absl::Status MeasureAll(Results* results) {
  const Config& config = results->config;
  std::vector<ComparedStore> stores = StoresOf(config, 0);
  Experiment experiment(
      config, static_cast<double>(stores.size() + 1 + RangeWorkloads(config.seed).size()));
  results->shape = experiment.shape();
  absl::Status status;
  for (size_t i = 0; i < stores.size() && status.ok(); ++i) {
    absl::StatusOr<StoreResult> result = experiment.Measure(stores[i]);
    status = result.status();
    if (status.ok()) results->stores.push_back(*std::move(result));
    if (i == 0 && status.ok())
      stores = StoresOf(config, results->stores[0].expected_wasted_reads());
  }
  if (status.ok())
    status = MeasureSkew(config, experiment.shape(), experiment.progress(), &results->skew);
  results->seconds = experiment.elapsed_seconds();
  return status;
}

}  // namespace

absl::StatusOr<Results> Measure(const Config& config) {
  TRELLIS_RETURN_IF_ERROR(MakeOutputDirectory(config.out + "/stores"));
  Results results;
  results.config = config;
  results.conditions = DescribeMachine(config.out);
  const absl::Status status = MeasureAll(&results);
  results.interrupted = absl::IsCancelled(status) && !results.stores.empty();
  if (!results.interrupted) TRELLIS_RETURN_IF_ERROR(status);
  return results;
}

}  // namespace bench::level_filters
