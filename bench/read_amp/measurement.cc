#include "bench/read_amp/measurement.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/histogram.h"

namespace bench {
namespace {

// Nanoseconds; buckets are less than 0.8 % wide.
using Histogram = lsm::BasicHistogram<7>;

using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kGroup = 16;             // lookups between two readings of the clock
constexpr int kTrialGroups = 7;             // to find out whether lookups are slow
constexpr double kSlowLookupNanos = 10000;  // above this a reading of the clock is negligible
constexpr double kTimedShare = 0.4;         // of a measurement of fast lookups

double NanosBetween(SteadyClock::time_point from, SteadyClock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

class Phase {
 public:
  Phase(lsm::DB* db, QueryStream* stream, const ValueMaker& values)
      : db_(db), stream_(stream), values_(values) {}

  uint64_t lookups() const { return lookups_; }
  double nanos() const { return nanos_; }

  // Looks up in groups, and reads the clock between groups.
  absl::Status RunUntimed(const Budget& budget) {
    return Run(budget, [this](uint64_t group) -> absl::Status {
      for (uint64_t i = 0; i < group; ++i) TRELLIS_RETURN_IF_ERROR(Lookup());
      return absl::OkStatus();
    });
  }

  // Looks up one by one, each time into the histogram.
  absl::Status RunTimed(const Budget& budget, Histogram* histogram) {
    return Run(budget, [this, histogram](uint64_t group) -> absl::Status {
      SteadyClock::time_point before = SteadyClock::now();
      for (uint64_t i = 0; i < group; ++i) {
        TRELLIS_RETURN_IF_ERROR(Lookup());
        const SteadyClock::time_point after = SteadyClock::now();
        histogram->Record(static_cast<uint64_t>(NanosBetween(before, after)));
        before = after;
      }
      return absl::OkStatus();
    });
  }

 private:
  absl::Status Lookup() { return CheckedGet(db_, stream_->Next(), values_, &value_); }

  template <typename Group>
  absl::Status Run(const Budget& budget, const Group& group) {
    lookups_ = 0;
    const SteadyClock::time_point begin = SteadyClock::now();
    do {
      const uint64_t left = budget.lookups > 0 ? budget.lookups - lookups_ : kGroup;
      TRELLIS_RETURN_IF_ERROR(group(std::min(kGroup, left)));
      lookups_ += std::min(kGroup, left);
      nanos_ = NanosBetween(begin, SteadyClock::now());
    } while (budget.lookups > 0 ? lookups_ < budget.lookups : nanos_ < budget.seconds * 1e9);
    return absl::OkStatus();
  }

  lsm::DB* const db_;
  QueryStream* const stream_;
  const ValueMaker& values_;
  lsm::PinnedValue value_;
  uint64_t lookups_ = 0;
  double nanos_ = 0;
};

absl::Status WrongAnswer(std::string_view key, std::string_view what) {
  return absl::InternalError(
      lsm::Concat("WRONG ANSWER for the key \"", lsm::Escape(key), "\": ", what));
}

}  // namespace

Budget Budget::Part(double share) const {
  const double part = static_cast<double>(lookups) * share;
  return {seconds * share, lookups == 0 ? 0 : std::max<uint64_t>(1, static_cast<uint64_t>(part))};
}

bool LookupsAreSlow(std::vector<double> group_nanos) {
  const auto middle = group_nanos.begin() + static_cast<std::ptrdiff_t>(group_nanos.size() / 2);
  std::nth_element(group_nanos.begin(), middle, group_nanos.end());
  return *middle / static_cast<double>(kGroup) > kSlowLookupNanos;
}

absl::Status CheckedGet(lsm::DB* db, const QueryStream::Query& query, const ValueMaker& values,
                        lsm::PinnedValue* value) {
  const absl::StatusOr<bool> found = db->Get(query.key, value);
  if (!found.ok()) [[unlikely]]
    return found.status();
  if (*found != query.present) [[unlikely]] {
    return WrongAnswer(query.key, query.present ? "it is stored, and was not found"
                                                : "it is not stored, and was found");
  }
  if (query.present && !values.Matches(query.key, value->view())) [[unlikely]] {
    return WrongAnswer(query.key, "its value differs from the stored one");
  }
  return absl::OkStatus();
}

absl::StatusOr<Measurement> Measure(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                                    const Budget& budget) {
  Measurement result;
  Phase phase(db, stream, values);
  const auto histogram = std::make_unique<Histogram>();
  std::vector<double> trials;
  for (int i = 0; i < kTrialGroups; ++i) {
    TRELLIS_RETURN_IF_ERROR(phase.RunUntimed({0, kGroup}));
    trials.push_back(phase.nanos());
  }
  const lsm::LevelStatistics before = db->GetStatistics().total;
  if (LookupsAreSlow(std::move(trials)) || budget.lookups == 1) {
    TRELLIS_RETURN_IF_ERROR(phase.RunTimed(budget, histogram.get()));
  } else {
    const Budget timed = budget.Part(kTimedShare);
    TRELLIS_RETURN_IF_ERROR(phase.RunTimed(timed, histogram.get()));
    result.lookups = phase.lookups();
    TRELLIS_RETURN_IF_ERROR(
        phase.RunUntimed({budget.seconds - timed.seconds, budget.lookups - timed.lookups}));
  }
  result.lookups += phase.lookups();
  result.lookups_per_second = static_cast<double>(phase.lookups()) / phase.nanos() * 1e9;
  result.timed_lookups = histogram->count();
  for (size_t i = 0; i < kPercentiles.size(); ++i) {
    result.latency_us[i] = static_cast<double>(histogram->Percentile(kPercentiles[i])) / 1e3;
  }
  result.counted = db->GetStatistics().total.Since(before);
  return result;
}

absl::Status WarmByLookups(lsm::DB* db, QueryStream* stream, const ValueMaker& values,
                           const Budget& budget) {
  return Phase(db, stream, values).RunUntimed(budget);
}

absl::Status WarmByScan(lsm::DB* db, double share) {
  constexpr uint64_t kEntries = 16384;  // between two checks of the cache
  const std::unique_ptr<lsm::Iterator> iterator = db->NewIterator();
  uint64_t read = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    if (++read % kEntries == 0 && CacheFill(db) >= share) break;
  }
  return iterator->status();
}

double CacheFill(lsm::DB* db) {
  const lsm::Statistics statistics = db->GetStatistics();
  if (statistics.block_cache_capacity_bytes == 0) return 0;
  return static_cast<double>(statistics.block_cache_bytes) /
         static_cast<double>(statistics.block_cache_capacity_bytes);
}

}  // namespace bench
