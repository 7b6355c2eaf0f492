// The counters of Statistics, cheap enough to be always on.  Code with several counts finds its
// thread's stripe once (Counters::Here).  Each count is then a load and a store.
#ifndef TRELLIS_LSM_BASE_COUNTERS_H_
#define TRELLIS_LSM_BASE_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/base/counter_list.h"
#include "lsm/statistics.h"

namespace lsm::inline TRELLIS_ABI {

// Counts of one lookup at one level.
struct LevelCounts {
#define LSM_ENUMERATOR(enumerator, member) enumerator,
  enum Field : uint8_t { LSM_LEVEL_COUNTERS(LSM_ENUMERATOR) kFieldCount };
  std::array<uint64_t, kFieldCount> values{};
  uint64_t& operator[](Field field) { return values[field]; }
};

// Counters that belong to no level.
enum class Counter : uint8_t { LSM_COUNTERS(LSM_ENUMERATOR) kCount };
#undef LSM_ENUMERATOR

// Calls whose times are recorded.
enum class Timed : uint8_t { kGet, kWrite, kSeek, kCount };

// Each thread times one call in this many, since reading the clock twice takes about 45 ns.  The
// numbers are primes, so that a periodic pattern of calls does not hide some of them.
inline constexpr uint64_t kGetsPerTime = 127;
inline constexpr uint64_t kSeeksPerTime = 31;
inline constexpr uint64_t kWritesPerTime = 7;

// Thread-safe.  Stripes belong to threads (ThreadIndex), so adding is a plain load and store to a
// cache line that no other core writes.  Threads beyond the number of stripes share the last one
// and add atomically.
class Counters {
 public:
  Counters();
  ~Counters();

  // In trees of other keyspaces than the default one, lookups count here what they do at level 0.
  // SumInto adds it to level 0.  It is apart because only the readers of the default tree pay for a
  // merge (Level0Account).  The place depends on the table, so a lookup counts each thing once.
  static constexpr int kLevel0OfOthers = kLevels;

  // Access to the calling thread's stripe.  Must not be used by another thread.
  class Here;

  // As Here::Add.
  uint64_t Add(Counter counter, uint64_t amount);
  void Add(int level, const LevelCounts& counts);

  // Records the duration of a call.
  void AddTime(Timed timed, uint64_t nanos) {
    // Relaxed, as all counters.  All threads share the histogram: samples are rare, and writes take
    // a lock anyway.
    times_[static_cast<size_t>(timed)][LatencyHistogram::BucketOf(nanos)].fetch_add(
        1, std::memory_order_relaxed);
  }

  // Sets the counters in `statistics` to the sums over the stripes: of the store, of each level,
  // and of `total`.  The `lookups` of `total` are those that no memtable answered.  Fields for the
  // current state (tables, bytes, FPPs, memory) stay unchanged.
  void SumInto(Statistics* statistics) const;
  // Sum of a counter of the store, or of one of a level.  That of level 0 is of the default tree
  // alone.
  uint64_t SumOf(Counter counter) const;
  uint64_t SumOf(int level, LevelCounts::Field field) const;

 private:
  static constexpr size_t kStripes = 64;
  static constexpr size_t kCounters = static_cast<size_t>(Counter::kCount);
  // Whole cache lines, so that no two threads write to the same one.
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, kCounters> counters{};
    // The last one is kLevel0OfOthers.
    std::array<std::array<std::atomic<uint64_t>, LevelCounts::kFieldCount>, kLevels + 1> levels{};
  };
  // Sums a counter over all stripes.
  template <typename CounterOf>
  uint64_t Sum(const CounterOf& counter_of) const;
  // Never fails: without memory for its stripe, a thread shares the last one.
  Stripe& StripeOfThisThread(bool* shared);

  // Created when their thread first counts, the last one at once.  Freed only with the whole
  // object.
  std::array<std::atomic<Stripe*>, kStripes> stripes_;
  static constexpr size_t kTimed = static_cast<size_t>(Timed::kCount);
  std::array<std::array<std::atomic<uint64_t>, LatencyHistogram::kBuckets>, kTimed> times_{};
};

class Counters::Here {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a caller that counts once names the counters.
  Here(Counters* counters) : stripe_(counters->StripeOfThisThread(&shared_)) {}

  // The count in this stripe.
  uint64_t Of(Counter counter) const {
    return stripe_.counters[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  // Returns the new count in this stripe.
  uint64_t Add(Counter counter, uint64_t amount) const {
    return Increase(&stripe_.counters[static_cast<size_t>(counter)], amount);
  }
  void Add(int level, LevelCounts::Field field, uint64_t amount) const {
    Increase(&stripe_.levels[static_cast<size_t>(level)][field], amount);
  }
  // Adds the nonzero fields.
  void Add(int level, const LevelCounts& counts) const {
    AddFields<0, LevelCounts::kPartitionsFromCache>(level, counts);
    // Most stores have no partitions.  A counter of something else among these would be lost here.
    static_assert(
        LevelCounts::kPartitionsFromCache + 1 == LevelCounts::kPartitionsFromFile &&
            LevelCounts::kPartitionsFromFile + 1 == LevelCounts::kPartitionBytesFromFile &&
            LevelCounts::kPartitionBytesFromFile + 1 == LevelCounts::kFieldCount,
        "the counters of partitions are the last of LSM_LEVEL_COUNTERS");
    if ((counts.values[LevelCounts::kPartitionsFromCache] |
         counts.values[LevelCounts::kPartitionsFromFile]) != 0) [[unlikely]]
      AddFields<LevelCounts::kPartitionsFromCache, LevelCounts::kFieldCount>(level, counts);
  }

 private:
  template <size_t kBegin, size_t kEnd>
  void AddFields(int level, const LevelCounts& counts) const {
    auto& values = stripe_.levels[static_cast<size_t>(level)];
    for (size_t field = kBegin; field < kEnd; ++field) {
      if (counts.values[field] != 0) Increase(&values[field], counts.values[field]);
    }
  }
  // Relaxed throughout: a statistic orders nothing, and each is read independently.  The plain form
  // loses nothing, because its line has one writer: an index passes to another thread only after
  // its thread has ended (ThreadIndex orders the two).
  uint64_t Increase(std::atomic<uint64_t>* value, uint64_t amount) const {
    if (shared_) [[unlikely]]
      return value->fetch_add(amount, std::memory_order_relaxed) + amount;
    const uint64_t increased = value->load(std::memory_order_relaxed) + amount;
    value->store(increased, std::memory_order_relaxed);
    return increased;
  }

  bool shared_ = false;
  Stripe& stripe_;
};

inline uint64_t Counters::Add(Counter counter, uint64_t amount) {
  return Here(this).Add(counter, amount);
}
inline void Counters::Add(int level, const LevelCounts& counts) { Here(this).Add(level, counts); }

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_COUNTERS_H_
