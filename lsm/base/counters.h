// The counters behind Statistics, cheap enough to be always on: a lookup counts in its own
// registers and adds once.
#ifndef TRELLIS_LSM_BASE_COUNTERS_H_
#define TRELLIS_LSM_BASE_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lsm/base/statistics.h"

namespace lsm {

// What one lookup did at one level.
struct LevelCounts {
  enum Field : uint8_t {
    kLookups,
    kTablesConsidered,
    kReadsAvoided,
    kUsefulReads,
    kWastedReads,
    kFalsePositives,
    kFiltersAbsent,
    kFiltersDamaged,
    kFiltersUnknown,
    kBlocksFromCache,
    kBlocksFromFile,
    kBytesFromCache,
    kBytesFromFile,
    kFieldCount,
  };
  std::array<uint64_t, kFieldCount> values{};
  uint64_t& operator[](Field field) { return values[field]; }
};

// Figures that are not of a level.
enum class Counter : uint8_t {
  kLookups,
  kLookupsFound,
  kMemtableHits,
  kIterators,
  kScanBlocksFromCache,
  kScanBlocksFromFile,
  kScanBytesFromFile,
  kWrites,
  kWriteEntries,
  kWriteGroups,
  kUserBytesWritten,
  kLogBytesWritten,
  kLogSyncs,
  kFlushes,
  kFlushBytesWritten,
  kFlushNanos,
  kCompactions,
  kTrivialMoves,
  kCompactionBytesRead,
  kCompactionBytesWritten,
  kCompactionNanos,
  kStallsMemtable,
  kStallsLevel0,
  kSlowdowns,
  kStallNanos,
  kBackgroundErrors,
  kFilterDenialsChecked,
  kFilterFalseNegatives,
  kTablesVerified,
  kBytesVerified,
  kScrubs,
  kDamageFound,
  kCount,
};

// Thread-safe.  Stripes belong to threads (ThreadIndex), so adding is a plain load and store to a
// line that no other core writes; threads beyond the number of stripes share the last one and add
// atomically.
class Counters {
 public:
  Counters();
  ~Counters();

  // Returns what the stripe has counted now.  Never fails: a thread for whose stripe there is no
  // memory shares the last one.
  uint64_t Add(Counter counter, uint64_t amount);
  // Adds the fields that are not zero.
  void Add(int level, const LevelCounts& counts);

  // Sets the counted fields of `statistics` to the sums of the stripes: those of the store, of each
  // level, and of `total`, whose `lookups` are those that no memtable answered.  What was there
  // before is overwritten; fields that describe what is there now (tables, bytes, FPPs, memory) are
  // left alone.
  void SumInto(Statistics* statistics) const;

 private:
  static constexpr size_t kStripes = 64;
  struct Stripe;
  Stripe& StripeOfThisThread(bool* shared);

  // Made when its thread first counts, the last one at once; never freed before the whole.
  std::array<std::atomic<Stripe*>, kStripes> stripes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_COUNTERS_H_
