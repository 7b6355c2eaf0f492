// A table's record of the times of its puts (lsm/design/expiry.md).  Each job that writes a table
// computes it.  The picker chooses compactions by it; no read depends on it.
#ifndef TRELLIS_LSM_TABLE_WRITE_TIMES_H_
#define TRELLIS_LSM_TABLE_WRITE_TIMES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"

namespace lsm::inline TRELLIS_ABI {

// Seconds since 1970.
struct WriteTimes {
  uint64_t timed_entries = 0;  // puts that have a time; 0: all other figures are 0, too
  uint32_t oldest = 0;         // of these
  uint32_t newest = 0;
  // Timed puts with earlier times take about a fifth of the table's bytes.  0: timed puts take less
  // than a fifth.
  uint32_t fifth = 0;

  bool operator==(const WriteTimes&) const = default;
};

// An estimate of the share of a table's bytes that has expired, as if timed puts were written
// evenly between the known times.
inline double ExpiredShareOf(const WriteTimes& times, const ExpiryView& expired) {
  if (times.timed_entries == 0) return 0;
  const auto part = [&](uint32_t from, uint32_t to) {
    if (expired.live_from <= from) return 0.0;
    if (expired.live_from >= to) return 1.0;
    return static_cast<double>(expired.live_from - from) / static_cast<double>(to - from);
  };
  if (times.fifth == 0) return part(times.oldest, times.newest) / 5;
  return part(times.oldest, times.fifth) / 5 + part(times.fifth, times.newest) * 4 / 5;
}

// Counts the entries of a table while all of them are written or checked.
class WriteTimesCounter {
 public:
  void Count(const ParsedKey& key, std::string_view value) {
    const uint64_t bytes = key.user_key.size() + kInternalKeySuffixBytes + value.size();
    bytes_ += bytes;
    if (key.kind == EntryKind::kTimedPut) [[unlikely]]
      CountTimed(TimeOf(value), bytes);
  }

  WriteTimes Finish() const {
    WriteTimes times = times_;
    uint64_t before = 0;
    for (const auto& [step, bytes] : bytes_by_time_) {
      before += bytes;
      if (before < bytes_ / 5) continue;
      const uint64_t end = (uint64_t{step} + 1) << step_shift_;
      times.fifth = static_cast<uint32_t>(std::min<uint64_t>(end, kSecondsMax));
      break;
    }
    return times;
  }

 private:
  // If times would take more steps, all steps become twice as long.
  static constexpr size_t kStepsMax = 256;

  void CountTimed(uint32_t time, uint64_t bytes) {
    times_.oldest = times_.timed_entries == 0 ? time : std::min(times_.oldest, time);
    times_.newest = std::max(times_.newest, time);
    ++times_.timed_entries;
    bytes_by_time_[time >> step_shift_] += bytes;
    while (bytes_by_time_.size() > kStepsMax) {
      ++step_shift_;
      const std::map<uint32_t, uint64_t> finer = std::exchange(bytes_by_time_, {});
      for (const auto& [step, counted] : finer) bytes_by_time_[step >> 1] += counted;
    }
  }

  WriteTimes times_;
  uint64_t bytes_ = 0;  // of all entries: keys, suffixes and values
  std::map<uint32_t, uint64_t> bytes_by_time_;
  int step_shift_ = 0;  // a step takes 2^this seconds
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_WRITE_TIMES_H_
