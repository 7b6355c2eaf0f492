// The measured store: it counts its wasted reads, and knows where its keys are.
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

// A store that is compared.
struct ComparedStore {
  std::string name;  // also of its directory: "per-level"
  std::string how;   // in words
  bool is_rocksdb = false;
  std::string filter_kind;        // of ours
  double target_fpp = 0;          // of ours, without a goal
  lsm::FilterGoal filter_goal{};  // of ours
  double bits_per_key = 0;        // of RocksDB's
};

// A level that holds tables.
struct LevelRow {
  int level = 0;
  uint64_t tables = 0;
  uint64_t keys = 0;  // of all its tables
  uint64_t filter_bytes = 0;
  std::optional<double> target_fpp;             // nothing: no filters, or it does not say
  std::optional<double> expected_wasted_reads;  // nothing: it does not say
  std::string kind;                             // of the newest table's filter
  std::string reason;                           // why it has that one; empty: for no goal
};

// Threads: one.
class Store {
 public:
  virtual ~Store() = default;

  virtual absl::Status Write(std::string_view key, std::string_view value) = 0;
  // Has what was written flushed, and waits for the compactions that are due then.
  virtual absl::Status Settle() = 0;

  // After Settle, before Get: the store stays in the shape that it has, whoever reads it.  Nothing
  // is written any more.
  virtual absl::Status HoldShape() { return absl::OkStatus(); }
  // False if it is not there.
  virtual absl::StatusOr<bool> Get(std::string_view key, std::string* value) = 0;
  // Wasted reads of Get, since the store was made.
  virtual uint64_t wasted_reads() = 0;
  // That a lookup finds the key in; nothing if it is in none.
  virtual absl::StatusOr<std::optional<int>> LevelOf(std::string_view key) = 0;

  virtual absl::StatusOr<std::vector<LevelRow>> Levels() = 0;
};

// New, in place of what is in the directory.
absl::StatusOr<std::unique_ptr<Store>> MakeTrellis(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape, uint64_t seed);
// The one that is there.
absl::StatusOr<std::unique_ptr<Store>> OpenTrellis(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape, uint64_t seed);
// Unimplemented where this program was built without it.
absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape);
// Whether it was built with it.
bool HasRocksDb();

}  // namespace bench::level_filters

#endif  // TRELLIS_BENCH_LEVEL_FILTERS_STORE_H_
