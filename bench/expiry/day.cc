#include "bench/expiry/day.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "bench/expiry/parts.h"
#include "bench/machine.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::expiry {
namespace {

// The goals of lsm/design/expiry.md.
constexpr double kLiveBytesMax = 1.3;
constexpr double kWritesMax = 1;  // write amplification, divided by that without expiry
constexpr double kIdleMax = 0.02;

constexpr uint64_t kStepsPerSample = 60 / kStepSeconds;
constexpr uint64_t kFirstSample = 2 * Schedule::kStepsPerWindow;  // a step
constexpr uint64_t kKeysChecked = 1000;

class Day {
 public:
  Day(const Config& config, KeyOrder order, const std::string& path, VirtualClock* clock,
      Store* store)
      : config_(config),
        order_(order),
        path_(path),
        clock_(*clock),
        store_(*store),
        schedule_(config.live_bytes() / config.entry_bytes()),
        values_(static_cast<size_t>(config.value_bytes)) {}

  absl::StatusOr<DayResult> Run() {
    const auto begin = std::chrono::steady_clock::now();
    const uint64_t steps = config_.hours * Schedule::kStepsPerWindow;
    for (uint64_t step = 0; step < steps; ++step) {
      clock_.Pass(kStepSeconds);
      TRELLIS_RETURN_IF_ERROR(Write(step));
      TRELLIS_RETURN_IF_ERROR(store_.Settle());
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      if (step + 1 == kFirstSample) store_.TakeMostTableBytes();
      if (step >= kFirstSample && step % kStepsPerSample == 0) TakeSample(step);
    }
    result_.work = store_.Done();
    result_.user_bytes = schedule_.Before(steps) * config_.entry_bytes();
    result_.at_the_end = FilesOf(path_);
    result_.live_at_the_end = schedule_.Live(steps - 1) * config_.entry_bytes();
    TRELLIS_RETURN_IF_ERROR(Check(steps - 1));
    TRELLIS_RETURN_IF_ERROR(Idle());
    result_.seconds = SecondsSince(begin);
    return std::move(result_);
  }

 private:
  std::string KeyOf(uint64_t number) const {
    return order_ == KeyOrder::kTime ? DecimalKey(number) : SyntheticKey(number, config_.seed);
  }

  absl::Status Write(uint64_t step) {
    const uint64_t first = schedule_.Before(step), end = schedule_.Before(step + 1);
    entries_.resize(end - first);
    for (uint64_t number = first; number < end; ++number) {
      Entry& entry = entries_[number - first];
      entry.key = KeyOf(number);
      values_.Make(entry.key, &entry.value);
    }
    return store_.Write(entries_);
  }

  void TakeSample(uint64_t step) {
    result_.samples.push_back({schedule_.Live(step) * config_.entry_bytes(), FilesOf(path_),
                               store_.TakeMostTableBytes()});
  }

  // Reads a sample of the live entries, and counts the expired ones that are shown.
  absl::Status Check(uint64_t step) {
    const uint64_t first_live = schedule_.FirstLive(step);
    SplitMix random(config_.seed);
    std::string value;
    uint64_t shown = 0;
    for (uint64_t i = 0; i < kKeysChecked; ++i) {
      const std::string live = KeyOf(first_live + random.Below(schedule_.Live(step)));
      TRELLIS_ASSIGN_OR_RETURN(const bool found, store_.Get(live, &value));
      if (!found || !values_.Matches(live, value))
        return absl::InternalError(lsm::Concat("a wrong answer for the live key ", live));
      const uint64_t before = schedule_.FirstLive(step - Schedule::kStepsPerWindow);
      const std::string expired = KeyOf(before + random.Below(first_live - before));
      TRELLIS_ASSIGN_OR_RETURN(const bool is_shown, store_.Get(expired, &value));
      shown += is_shown ? 1 : 0;
    }
    result_.expired_shown = static_cast<double>(shown) / kKeysChecked;
    return absl::OkStatus();
  }

  absl::Status Idle() {
    for (uint64_t step = 0; step < Schedule::kStepsPerWindow + kStepsPerSample; ++step) {
      clock_.Pass(kStepSeconds);
      TRELLIS_RETURN_IF_ERROR(store_.Settle());
    }
    result_.idle = FilesOf(path_);
    return absl::OkStatus();
  }

  const Config& config_;
  const KeyOrder order_;
  const std::string path_;
  VirtualClock& clock_;
  Store& store_;
  const Schedule schedule_;
  const ValueMaker values_;
  std::vector<Entry> entries_;
  DayResult result_;
};

struct Variant {
  const char* name;
  bool is_rocksdb;
  Expiry expiry;
};

std::vector<Variant> VariantsOf(const Config& config, KeyOrder order) {
  std::vector<Variant> variants = {{"Trellis, keeps all", false, Expiry::kNone},
                                   {"Trellis, expires", false, Expiry::kLimit}};
  if (!config.has_peer()) return variants;
  variants.push_back({"RocksDB, keeps all", true, Expiry::kNone});
  variants.push_back({"RocksDB, TTL", true, Expiry::kLimit});
  variants.push_back({"RocksDB, TTL, periodic", true, Expiry::kPeriodic});
  if (order == KeyOrder::kTime) variants.push_back({"RocksDB, FIFO", true, Expiry::kFifo});
  return variants;
}

double PerLive(uint64_t bytes, uint64_t live) {
  return static_cast<double>(bytes) / static_cast<double>(live);
}

Table DayTable(const std::string& name, const std::string& title,
               const std::vector<DayResult>& days) {
  Table table{name,
              title,
              {{"bytes per live byte", "store", false},
               {"median", "tables and logs, samples of each minute after the second hour"},
               {"p95", "95 % of the samples have at most this"},
               {"most", ""},
               {"tables", "without logs, median"},
               {"most", "without logs"},
               {"merging", "tables and logs, the most while jobs ran"},
               {"write", "bytes of tables and logs written per user byte"},
               {"unread", "tables dropped unread"},
               {"dropped", "entries that compactions dropped"},
               {"shown%", "entries that expired in the last hour, and are shown, in per cent"},
               {"idle", "bytes left after an hour and a minute without writes"},
               {"s", "seconds of the run"}},
              {}};
  for (const DayResult& day : days) {
    const Shares all = SharesOf(day.samples, Counted::kAll);
    const Shares tables = SharesOf(day.samples, Counted::kTables);
    const Shares merging = SharesOf(day.samples, Counted::kMerging);
    table.rows.push_back({day.store, lsm::ReadableNumber(all.median), lsm::ReadableNumber(all.p95),
                          lsm::ReadableNumber(all.most), lsm::ReadableNumber(tables.median),
                          lsm::ReadableNumber(tables.most), lsm::ReadableNumber(merging.most),
                          lsm::ReadableNumber(day.write_amplification()),
                          lsm::ReadableCount(day.work.tables_dropped),
                          Short(static_cast<double>(day.work.entries_dropped)),
                          lsm::ReadableNumber(100 * day.expired_shown),
                          lsm::ReadableBytes(day.idle.bytes()), lsm::ReadableNumber(day.seconds)});
  }
  return table;
}

}  // namespace

Shares SharesOf(std::span<const Sample> samples, Counted counted) {
  std::vector<double> shares;
  for (const Sample& sample : samples) {
    uint64_t bytes = 0;
    switch (counted) {
      case Counted::kAll:
        bytes = sample.files.bytes();
        break;
      case Counted::kTables:
        bytes = sample.files.table_bytes;
        break;
      case Counted::kMerging:
        bytes =
            std::max(sample.most_table_bytes, sample.files.table_bytes) + sample.files.log_bytes;
        break;
    }
    shares.push_back(PerLive(bytes, sample.live_bytes));
  }
  std::sort(shares.begin(), shares.end());
  // The k-th of n samples is the least that a share of k / n does not exceed.
  const auto at = [&](double share) {
    return shares[static_cast<size_t>(std::ceil(share * static_cast<double>(shares.size()))) - 1];
  };
  return {at(0.5), at(0.95), shares.back()};
}

absl::StatusOr<DayResult> RunDay(const Config& config, KeyOrder order, const std::string& path,
                                 VirtualClock* clock, Store* store) {
  return Day(config, order, path, clock, store).Run();
}

Part PartOf(const Config& config, KeyOrder order, const std::vector<DayResult>& days) {
  const bool by_time = order == KeyOrder::kTime;
  Part part{by_time ? "time" : "random",
            lsm::Concat(by_time ? "keys by time: " : "random keys: ", config.hours,
                        " h, a window of 1 h, ", lsm::ReadableBytes(config.live_bytes()), " live"),
            {}};
  part.tables = {DayTable(part.name, part.title, days)};
  const auto add = [&](const std::string& name, double value, const std::string& unit = "",
                       std::optional<double> goal = std::nullopt) {
    part.figures.push_back({name, value, unit, goal});
  };
  for (const DayResult& day : days) {
    const bool has_goal = &day == &days[1];
    const auto goal = has_goal ? std::optional(kLiveBytesMax) : std::nullopt;
    const Shares all = SharesOf(day.samples, Counted::kAll);
    const Shares tables = SharesOf(day.samples, Counted::kTables);
    add(day.store + ": bytes per live byte, median", all.median, "", goal);
    add(day.store + ": bytes per live byte, p95", all.p95);
    add(day.store + ": bytes per live byte, most", all.most, "", goal);
    add(day.store + ": the same of tables, median", tables.median);
    add(day.store + ": the same of tables, p95", tables.p95);
    add(day.store + ": the same of tables, most", tables.most);
    add(day.store + ": the same while jobs ran, most",
        SharesOf(day.samples, Counted::kMerging).most);
    add(day.store + ": write amplification", day.write_amplification());
    add(day.store + ": log bytes", static_cast<double>(day.work.log_bytes), "B");
    add(day.store + ": flushed bytes", static_cast<double>(day.work.flush_bytes), "B");
    add(day.store + ": compacted bytes", static_cast<double>(day.work.compaction_bytes), "B");
    add(day.store + ": tables dropped unread", static_cast<double>(day.work.tables_dropped));
    add(day.store + ": entries dropped", static_cast<double>(day.work.entries_dropped));
    add(day.store + ": expired entries shown, share", day.expired_shown);
    add(day.store + ": idle, bytes per byte that lived",
        PerLive(day.idle.bytes(), day.live_at_the_end), "",
        has_goal ? std::optional(kIdleMax) : std::nullopt);
    add(day.store + ": idle, tables left", static_cast<double>(day.idle.table_bytes), "B");
    add(day.store + ": idle, logs left", static_cast<double>(day.idle.log_bytes), "B");
    add(day.store + ": run", day.seconds, "s");
  }
  add("write amplification, expires / keeps all",
      days[1].write_amplification() / days[0].write_amplification(), "", kWritesMax);
  part.notes.push_back(lsm::Concat(
      "write amplification may not be more than without expiry. A put's time takes 4 bytes in "
      "tables, which user bytes (",
      config.entry_bytes(),
      " an entry) do not count: keys by time, "
      "which are not merged, may miss the goal by that"));
  part.notes.push_back(
      "an idle store keeps a memtable below 1 MiB, with its log, at each scale. The goal for idle "
      "bytes has room for that at the default scale");
  // Nothing is dead in the store that keeps all.
  add("bytes that a user byte takes in tables and logs",
      static_cast<double>(days[0].at_the_end.bytes()) / static_cast<double>(days[0].user_bytes));
  return part;
}

absl::StatusOr<Part> MeasureDay(const Config& config, KeyOrder order, Progress* progress) {
  std::vector<DayResult> days;
  for (const Variant& variant : VariantsOf(config, order)) {
    progress->Announce(
        lsm::Concat("day: ", order == KeyOrder::kTime ? "time" : "random", ", ", variant.name));
    VirtualClock clock;
    StoreSettings settings;
    settings.path = config.out + "/day";
    settings.expiry = variant.expiry;
    settings.window_seconds = kWindowSeconds;
    settings.write_buffer_bytes = config.write_buffer_bytes();
    settings.seed = config.seed;
    settings.clock = &clock;
    TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                             variant.is_rocksdb ? MakeRocksDb(settings) : MakeTrellis(settings));
    TRELLIS_ASSIGN_OR_RETURN(DayResult day,
                             RunDay(config, order, settings.path, &clock, store.get()));
    day.store = variant.name;
    days.push_back(std::move(day));
    progress->Advance(kDaySeconds);
  }
  Part part = PartOf(config, order, days);
  if (config.has_peer()) {
    part.notes.push_back(
        "RocksDB shows expired entries until a compaction drops them (shown%); FIFO drops whole "
        "tables by their age. It looks at the clock only after flushes and compactions");
  }
  return part;
}

}  // namespace bench::expiry
