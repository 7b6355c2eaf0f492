// A measured store: it counts its wasted reads and knows the level of each key.
#ifndef TRELLIS_BENCH_LEVEL_FILTERS_STORE_H_
#define TRELLIS_BENCH_LEVEL_FILTERS_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/read_amp/stores.h"
#include "lsm/filter_goal.h"

namespace bench::level_filters {

// A store in the comparison.
struct ComparedStore {
  std::string name;  // also the name of its directory: "per-level"
  std::string how;   // a description for the report
  bool is_rocksdb = false;
  std::string filter_kind;        // of Trellis
  double target_fpp = 0;          // of Trellis, without a goal
  lsm::FilterGoal filter_goal{};  // of Trellis
  double bits_per_key = 0;        // of RocksDB
};

// A level with tables.
struct LevelRow {
  int level = 0;
  uint64_t tables = 0;
  uint64_t keys = 0;  // in all its tables
  uint64_t filter_bytes = 0;
  std::optional<double> target_fpp;             // nothing: no filters, or not reported
  std::optional<double> expected_wasted_reads;  // nothing: not reported
  std::string kind;                             // of the newest table's filter
  std::string reason;  // why the filter has this kind and size; empty: the store has no goal
};

// Threads: one.
class Store {
 public:
  virtual ~Store() = default;

  virtual absl::Status Write(std::string_view key, std::string_view value) = 0;
  // Flushes and waits for all due compactions.
  virtual absl::Status Settle() = 0;

  // Call after Settle and before Get: freezes the store's shape, so that reads cannot change it.
  // No writes may follow.
  virtual absl::Status HoldShape() { return absl::OkStatus(); }
  // False if the key is absent.
  virtual absl::StatusOr<bool> Get(std::string_view key, std::string* value) = 0;
  // Wasted reads of Get since the store was made.
  virtual uint64_t wasted_reads() = 0;
  // The level where a lookup finds the key; nothing if no level has it.
  virtual absl::StatusOr<std::optional<int>> LevelOf(std::string_view key) = 0;

  virtual absl::StatusOr<std::vector<LevelRow>> Levels() = 0;
};

// Makes a new store; replaces what the directory holds.
absl::StatusOr<std::unique_ptr<Store>> MakeTrellis(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape, uint64_t seed);
// Opens the existing store.
absl::StatusOr<std::unique_ptr<Store>> OpenTrellis(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape, uint64_t seed);
// Unimplemented if this program was built without RocksDB.
absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape);
// True if this program was built with RocksDB.
bool HasRocksDb();

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_STORE_H_
