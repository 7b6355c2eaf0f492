// The counters of Statistics, cheap enough to be always on.  Code with several counts finds its
// thread's stripe once (Counters::Here).  Each count is then a load and a store.
#ifndef TRELLIS_LSM_BASE_COUNTERS_H_
#define TRELLIS_LSM_BASE_COUNTERS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "bloom/core/abi.h"
#include "lsm/base/counter_list.h"
#include "lsm/statistics.h"
#include "lsm/threads/thread_index.h"

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

// A `Stripe` of atomic counters for each thread.  Stripes belong to threads (ThreadIndex), so
// adding is a plain load and store to a cache line that no other core writes.  Threads beyond the
// number of stripes share the last one and add atomically.
template <class Stripe>
class Stripes {
 public:
  // Relaxed, in constructor and destructor: no other thread has access then.
  Stripes() {
    for (auto& stripe : stripes_) stripe.store(nullptr, std::memory_order_relaxed);
    stripes_.back().store(new Stripe, std::memory_order_relaxed);
  }
  ~Stripes() {
    for (auto& stripe : stripes_) delete stripe.load(std::memory_order_relaxed);
  }
  Stripes(const Stripes&) = delete;
  Stripes& operator=(const Stripes&) = delete;

  // Never fails: without memory for its stripe, a thread shares the last one.
  Stripe& OfThisThread(bool* shared) {
    const size_t index = std::min(ThreadIndex(), kStripes - 1);
    *shared = index == kStripes - 1;
    std::atomic<Stripe*>& slot = stripes_[index];
    // Acquire: makes the zeros visible if another thread created the stripe.
    Stripe* const stripe = slot.load(std::memory_order_acquire);
    if (stripe != nullptr) [[likely]]
      return *stripe;
    return Make(&slot, shared);
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& slot : stripes_) {
      const Stripe* const stripe = slot.load(std::memory_order_acquire);
      if (stripe != nullptr) visit(*stripe);
    }
  }

 private:
  static constexpr size_t kStripes = 64;

  [[gnu::noinline]] Stripe& Make(std::atomic<Stripe*>* slot, bool* shared) {
    Stripe* const stripe = new (std::nothrow) Stripe;
    if (stripe == nullptr) {
      *shared = true;
      // Relaxed: it exists before any thread can count.
      return *stripes_.back().load(std::memory_order_relaxed);
    }
    // Release: makes the zeros visible to ForEach.
    slot->store(stripe, std::memory_order_release);
    return *stripe;
  }

  // Created when their thread first counts, the last one at once.  Freed only with the whole
  // object.
  std::array<std::atomic<Stripe*>, kStripes> stripes_;
};

// Returns the new count.  Relaxed throughout: a statistic orders nothing, and each is read
// independently.  The plain form loses nothing, because its line has one writer: an index passes to
// another thread only after its thread has ended (ThreadIndex orders the two).  Inlined, since the
// plain form is three instructions.
[[gnu::always_inline]] inline uint64_t Increase(std::atomic<uint64_t>* value, uint64_t amount,
                                                bool shared) {
  if (shared) [[unlikely]]
    return value->fetch_add(amount, std::memory_order_relaxed) + amount;
  const uint64_t increased = value->load(std::memory_order_relaxed) + amount;
  value->store(increased, std::memory_order_relaxed);
  return increased;
}

// Thread-safe.
class Counters {
 public:
  // Lookups in trees other than the default one count their work at level i at kLevelsOfOthers + i.
  // SumInto adds it to level i.  It is separate because only the lookups of the default tree count
  // for that tree's account and filters (TreeReads).  The place depends on the table, so a lookup
  // counts each thing once.
  static constexpr int kLevelsOfOthers = kLevels;

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
  // Sum of a counter of the store; or of a counter of a level, in the default tree alone.
  uint64_t SumOf(Counter counter) const;
  uint64_t SumOf(int level, LevelCounts::Field field) const;
  // Lookups that no memtable answered, in the default tree.
  uint64_t LookupsOfDefaultTree() const;

 private:
  static constexpr size_t kCounters = static_cast<size_t>(Counter::kCount);
  // Whole cache lines, so that no two threads write to the same one.
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, kCounters> counters{};
    // The levels of the default tree, then those of all others.
    std::array<std::array<std::atomic<uint64_t>, LevelCounts::kFieldCount>,
               size_t{kLevelsOfOthers} + kLevels>
        levels{};
  };

  Stripes<Stripe> stripes_;
  static constexpr size_t kTimed = static_cast<size_t>(Timed::kCount);
  std::array<std::array<std::atomic<uint64_t>, LatencyHistogram::kBuckets>, kTimed> times_{};
};

class Counters::Here {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a caller that counts once names the counters.
  Here(Counters* counters) : stripe_(counters->stripes_.OfThisThread(&shared_)) {}

  // The count in this stripe.
  uint64_t Of(Counter counter) const {
    return stripe_.counters[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  // Returns the new count in this stripe.
  uint64_t Add(Counter counter, uint64_t amount) const {
    return Increase(&stripe_.counters[static_cast<size_t>(counter)], amount, shared_);
  }
  void Add(int level, LevelCounts::Field field, uint64_t amount) const {
    Increase(&stripe_.levels[static_cast<size_t>(level)][field], amount, shared_);
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
      if (counts.values[field] != 0) Increase(&values[field], counts.values[field], shared_);
    }
  }

  bool shared_ = false;
  Stripe& stripe_;
};

inline uint64_t Counters::Add(Counter counter, uint64_t amount) {
  return Here(this).Add(counter, amount);
}
inline void Counters::Add(int level, const LevelCounts& counts) { Here(this).Add(level, counts); }

// The counters of one tree.  Thread-safe.
class TreeCounters {
 public:
  enum Field : uint8_t {
    // The first three stay 0 in the default tree: Counters counts its lookups.
    kLookups,  // that no memtable answered
    kLevel0Asks,
    kLevel0Reads,
    kLevel0Seeks,
    kWrites,           // of its keyspace; stays 0 in the default tree
    kWritesElsewhere,  // in the default tree: the writes of all other keyspaces
    kFieldCount,
  };

  // As Counters::Here.
  class Here;

  uint64_t SumOf(Field field) const {
    uint64_t sum = 0;
    stripes_.ForEach(
        [&](const Stripe& stripe) { sum += stripe.values[field].load(std::memory_order_relaxed); });
    return sum;
  }

 private:
  // A whole cache line, so that no two threads write to the same one.
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, kFieldCount> values{};
  };
  Stripes<Stripe> stripes_;
};

class TreeCounters::Here {
 public:
  explicit Here(TreeCounters* counters) : stripe_(counters->stripes_.OfThisThread(&shared_)) {}
  void Add(Field field, uint64_t amount) const {
    Increase(&stripe_.values[field], amount, shared_);
  }

 private:
  bool shared_ = false;
  Stripe& stripe_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_COUNTERS_H_
