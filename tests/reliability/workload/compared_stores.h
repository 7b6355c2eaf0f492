// One interface for Trellis, RocksDB and LevelDB (jobs/differential.h).
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_COMPARED_STORES_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_COMPARED_STORES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/iterator.h"
#include "tests/reliability/workload/actions.h"
#include "tests/reliability/workload/changes.h"

namespace reliability {

using OptionalKey = std::optional<std::string_view>;

inline constexpr size_t kSnapshotsHeld = 4;
// The index that stands for no snapshot.
inline constexpr size_t kNow = kSnapshotsHeld;

// Everything about an episode that its seed determines, except its actions.
struct ComparedMaterial {
  explicit ComparedMaterial(uint64_t seed_of_all)
      : seed(seed_of_all), keys(seed, 3000), values(seed, 80, 5000) {}

  const uint64_t seed;
  // How many keyspaces there are.  RocksDB calls them column families.  The first one is "default".
  const size_t families = FamiliesIn(seed);
  const KeyPool keys;
  const ValuePool values;

  // Every second episode has only one.
  static size_t FamiliesIn(uint64_t seed) { return seed % 4 < 2 ? 1 : 3; }
};
std::string FamilyName(size_t family);

// The calls that all three stores have.  Snapshots and bounds work as in lsm::ReadOptions.  A
// family is 0 for LevelDB.
class ComparedStore {
 public:
  virtual ~ComparedStore() = default;
  virtual const char* name() const = 0;
  virtual absl::Status Open() = 0;
  // REQUIRES: no iterators exist.
  virtual void Close() = 0;
  virtual absl::Status Write(size_t family, const std::vector<Change>& changes) = 0;
  virtual absl::StatusOr<bool> Get(size_t family, std::string_view key, size_t snapshot,
                                   std::string* value) = 0;
  virtual std::unique_ptr<lsm::Iterator> NewIterator(size_t family, size_t snapshot,
                                                     OptionalKey lower, OptionalKey upper) = 0;
  // Drops the family, which is not 0, and creates another one of its name.
  virtual absl::Status Replace(size_t family) = 0;
  virtual void TakeSnapshot(size_t place) = 0;
  virtual void ReleaseSnapshot(size_t place) = 0;
  virtual absl::Status Flush() = 0;
  virtual absl::Status Compact(size_t family, OptionalKey from, OptionalKey to) = 0;

  // The peers have threads for background work.
  virtual void RunBackgroundJob() {}
  virtual absl::Status RunBackgroundJobs() { return absl::OkStatus(); }
};

// Trellis, RocksDB and LevelDB, in this order.  LevelDB comes last because it has no families.  All
// files are in memory.
inline constexpr size_t kComparedStores = 3;
std::vector<std::unique_ptr<ComparedStore>> MakeStores(const ComparedMaterial& material);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_COMPARED_STORES_H_
