// The compared stores: names, shapes, and loading.
#ifndef TRELLIS_BENCH_READ_AMP_STORES_H_
#define TRELLIS_BENCH_READ_AMP_STORES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/read_amp/config.h"
#include "bench/read_amp/key_set.h"
#include "lsm/db.h"

namespace bench {

struct StoreConfig {
  std::string filter_kind;  // "none", "standard", "blocked"
  double target_fpp = 0;    // 0 for "none"

  // "none", "blocked-0.01"; also the name of its directory.
  std::string name() const;
};

// The store without filters first, then kind by kind, each with falling targets.
std::vector<StoreConfig> StoresOf(const Config& config);

// Sizes that give a store of this many bytes several runs: a few new tables in level 0, and three
// deeper levels, each ten times larger than the one above.
struct StoreShape {
  uint64_t flushes = 0;  // the load is cut into this many equal parts
  uint64_t entries_per_flush = 0;
  uint64_t table_bytes = 0;
  uint64_t level1_bytes = 0;
  uint64_t write_buffer_bytes = 0;

  // A description in two parts, with `between` between them.
  std::string Describe(const std::string& between) const;
};
StoreShape ShapeFor(uint64_t entries, uint64_t user_bytes);

// Bytes of keys and values.
uint64_t UserBytes(const KeySet& keys, const Config& config);

// Replaces the store in `directory` with one that has all stored keys.  Flushes after every part
// and waits for the compactions that are due; compacts nothing else.  So stores with different
// filters get the same shape, except for a table or two.  The same keys, configuration and seed
// give the same tables, and filters with the same false positives.
absl::Status LoadStore(const std::string& directory, const StoreConfig& store,
                       const StoreShape& shape, const Config& config, const KeySet& keys,
                       const std::function<absl::Status(uint64_t entries)>& on_progress);

// Opens it read-only, so its shape cannot change.
absl::StatusOr<std::unique_ptr<lsm::DB>> OpenStore(const std::string& directory,
                                                   const StoreConfig& store,
                                                   const StoreShape& shape,
                                                   uint64_t block_cache_bytes, bool direct_reads);

}  // namespace bench

#endif  // TRELLIS_BENCH_READ_AMP_STORES_H_
