// A day on a virtual clock.
//
// Each step writes the entries of ten seconds, moves the clock, and waits until the store's
// background work is done.  So the result does not depend on the machine's speed.  In real time a
// merge takes about a hundredth of an hour's writes; `most_table_bytes` shows what it takes
// besides.
#ifndef TRELLIS_BENCH_EXPIRY_DAY_H_
#define TRELLIS_BENCH_EXPIRY_DAY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/expiry/config.h"
#include "bench/expiry/store.h"

namespace bench::expiry {

inline constexpr uint32_t kWindowSeconds = 3600;
inline constexpr uint64_t kStepSeconds = 10;

// Which entries are written when, and which of them live: those of the last hour.
class Schedule {
 public:
  explicit Schedule(uint64_t entries_per_window) : entries_(entries_per_window) {}

  // The number of entries before this step.
  uint64_t Before(uint64_t step) const { return entries_ * step / kStepsPerWindow; }
  // The first entry that lives after the step.  An entry lives for a window and the second in which
  // it ends.
  uint64_t FirstLive(uint64_t step) const {
    return step < kStepsPerWindow ? 0 : Before(step - kStepsPerWindow);
  }
  uint64_t Live(uint64_t step) const { return Before(step + 1) - FirstLive(step); }

  static constexpr uint64_t kStepsPerWindow = kWindowSeconds / kStepSeconds;

 private:
  const uint64_t entries_;
};

// One a minute.
struct Sample {
  uint64_t live_bytes = 0;        // keys and values
  Files files;                    // nothing is due
  uint64_t most_table_bytes = 0;  // in this minute, while jobs ran
};

struct Shares {
  double median = 0;
  double p95 = 0;  // the least that 95 % of the samples do not exceed
  double most = 0;
};

// The bytes that the samples have for each live byte.  REQUIRES: there are samples.
enum class Counted { kAll, kTables, kMerging };  // the last: all, with tables while jobs ran
Shares SharesOf(std::span<const Sample> samples, Counted counted);

struct DayResult {
  std::string store;  // "Trellis, expires"
  std::vector<Sample> samples;
  uint64_t user_bytes = 0;  // written
  WorkDone work;
  double expired_shown = 0;  // the share of entries of the hour before the last that Get shows
  Files at_the_end;
  uint64_t live_at_the_end = 0;  // bytes
  Files idle;  // after an hour and a minute without writes: everything has expired
  double seconds = 0;

  double write_amplification() const {
    return static_cast<double>(work.bytes()) / static_cast<double>(user_bytes);
  }
};

enum class KeyOrder { kTime, kRandom };

// Runs the day with this store, which has the clock.
absl::StatusOr<DayResult> RunDay(const Config& config, KeyOrder order, const std::string& path,
                                 VirtualClock* clock, Store* store);

}  // namespace bench::expiry

#endif  // TRELLIS_BENCH_EXPIRY_DAY_H_
