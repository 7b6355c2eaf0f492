#include "lsm/statistics.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "lsm/base/counter_list.h"
#include "lsm/bytes/json_writer.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/filters/tree_runs.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using Rows = std::vector<std::vector<std::string>>;

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t Difference(uint64_t now, uint64_t before) { return now - std::min(now, before); }

// JSON names of the fields, equal to those of the struct.
struct LevelField {
  std::string_view name;
  uint64_t LevelStatistics::*member;
};
constexpr LevelField kLevelState[] = {
    {"tables", &LevelStatistics::tables},
    {"runs", &LevelStatistics::runs},
    {"table_bytes", &LevelStatistics::table_bytes},
    {"oldest_run_bytes", &LevelStatistics::oldest_run_bytes},
    {"entries", &LevelStatistics::entries},
    {"keys", &LevelStatistics::keys},
    {"tombstones", &LevelStatistics::tombstones},
    {"range_deletes", &LevelStatistics::range_deletes},
    {"range_bytes", &LevelStatistics::range_bytes},
    {"timed_entries", &LevelStatistics::timed_entries},
    {"expired_bytes", &LevelStatistics::expired_bytes},
    {"freeable_bytes", &LevelStatistics::freeable_bytes},
    {"covered_bytes", &LevelStatistics::covered_bytes},
    {"hidden_bytes", &LevelStatistics::hidden_bytes},
    {"oldest_run_dead_bytes", &LevelStatistics::oldest_run_dead_bytes},
    {"oldest_tombstone", &LevelStatistics::oldest_tombstone},
    {"filter_bytes", &LevelStatistics::filter_bytes},
    {"index_bytes", &LevelStatistics::index_bytes},
    {"hot_tables", &LevelStatistics::hot_tables},
    {"cold_tables", &LevelStatistics::cold_tables},
    {"filter_partition_bytes", &LevelStatistics::filter_partition_bytes},
    {"index_partition_bytes", &LevelStatistics::index_partition_bytes},
};
#define LSM_FIELD(enumerator, member) {#member, &LevelStatistics::member},
constexpr LevelField kLevelCounts[] = {LSM_LEVEL_COUNTERS(LSM_FIELD)};
#undef LSM_FIELD

struct StoreField {
  std::string_view name;
  uint64_t Statistics::*member;
  bool is_state = false;  // not a counter: Since keeps it
};
#define LSM_FIELD(enumerator, member) \
  {#member, &Statistics::member, &Statistics::member == &Statistics::compactions_at_once},
constexpr StoreField kStoreFields[] = {
    LSM_COUNTERS(LSM_FIELD)
    // State, which no thread counts.
    {"keyspaces", &Statistics::keyspaces, true},
    {"trees", &Statistics::trees, true},
    {"live_bytes", &Statistics::live_bytes, true},
    {"memtable_bytes", &Statistics::memtable_bytes, true},
    {"block_cache_bytes", &Statistics::block_cache_bytes, true},
    {"block_cache_capacity_bytes", &Statistics::block_cache_capacity_bytes, true},
    {"reserve_bytes", &Statistics::reserve_bytes, true},
    {"puts_refused", &Statistics::puts_refused, true},
    {"view_age_nanos", &Statistics::view_age_nanos, true},
    {"listener_calls", &Statistics::listener_calls},
    {"listener_nanos", &Statistics::listener_nanos},
};
#undef LSM_FIELD

struct TimesField {
  std::string_view name;
  LatencyHistogram Statistics::*member;
  std::string_view text;
};
constexpr TimesField kTimesFields[] = {
    {"get_times", &Statistics::get_times, "gets (one in 127)"},
    {"write_times", &Statistics::write_times, "writes (one in 7)"},
    {"seek_times", &Statistics::seek_times, "seeks (one in 31)"},
};

// A member without a line in one of the lists does not compile.  Means, texts and the recovery
// report are in no list, because they are written by name.
static_assert(sizeof(LevelStatistics) ==
              (std::size(kLevelState) + std::size(kLevelCounts)) * sizeof(uint64_t) +
                  3 * sizeof(double) + 2 * sizeof(std::string));
static_assert(sizeof(Statistics) == (kLevels + 1) * sizeof(LevelStatistics) +
                                        std::size(kStoreFields) * sizeof(uint64_t) +
                                        std::size(kTimesFields) * sizeof(LatencyHistogram) +
                                        sizeof(std::string) + sizeof(RecoveryReport));

// Mean of a member, weighted by keys.  Levels without filters (0) do not count, since their reads
// are counted as filters_absent.
class MeanFpp {
 public:
  void Add(double fpp, uint64_t keys) {
    if (fpp == 0) return;
    sum_ += fpp * static_cast<double>(keys);
    weights_ += static_cast<double>(keys);
  }
  double Get() const { return weights_ == 0 ? 0 : sum_ / weights_; }

 private:
  double sum_ = 0, weights_ = 0;
};
double MeanFppOf(const std::array<LevelStatistics, kLevels>& levels,
                 double LevelStatistics::*member) {
  MeanFpp mean;
  for (const LevelStatistics& level : levels) mean.Add(level.*member, level.keys);
  return mean.Get();
}

// The earlier of two times; 0: none.
uint64_t Earlier(uint64_t a, uint64_t b) { return a == 0 || (b != 0 && b < a) ? b : a; }

// Adds the sums of the state.
void AddState(const LevelStatistics& level, LevelStatistics* sum) {
  for (const LevelField& field : kLevelState) {
    if (field.member != &LevelStatistics::oldest_tombstone)
      sum->*field.member += level.*field.member;
  }
  sum->oldest_tombstone = Earlier(sum->oldest_tombstone, level.oldest_tombstone);
}

void ClearState(LevelStatistics* level) {
  for (const LevelField& field : kLevelState) level->*field.member = 0;
  level->expected_wasted_reads = 0;
}

uint64_t LiveBytesOf(const std::array<LevelStatistics, kLevels>& levels) {
  uint64_t covered = 0, live = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const LevelStatistics& level = levels[i];
    covered += level.covered_bytes;
    if (level.table_bytes == 0) continue;
    const uint64_t bytes = i == 0 ? level.table_bytes : level.oldest_run_bytes;
    const uint64_t dead =
        i == 0 ? Difference(level.freeable_bytes, level.covered_bytes) + level.hidden_bytes
               : level.oldest_run_dead_bytes;
    live = Difference(bytes, dead);
  }
  return Difference(live, covered);
}

std::string FppOrDash(double fpp) { return fpp == 0 ? "-" : ReadableNumber(fpp); }

bool IsEmpty(const LevelStatistics& level) {
  return level.tables == 0 && level.lookups == 0 && level.tables_considered == 0;
}

// A row for each level that is not empty, then their sum.
template <typename RowOf>
void AddRows(const Statistics& statistics, const RowOf& row_of, Rows* rows) {
  for (size_t i = 0; i < statistics.levels.size(); ++i) {
    if (!IsEmpty(statistics.levels[i]))
      rows->push_back(row_of(std::to_string(i), statistics.levels[i]));
  }
  rows->push_back(row_of("all", statistics.total));
}

std::string TablesText(const Statistics& statistics) {
  Rows rows = {{"level", "tables", "runs", "size", "entries", "tombstones", "filters", "bits/key",
                "index", "target FPP", "predicted FPP"}};
  AddRows(
      statistics,
      [](std::string name, const LevelStatistics& level) {
        return std::vector<std::string>{std::move(name),
                                        ReadableCount(level.tables),
                                        ReadableCount(level.runs),
                                        ReadableBytes(level.table_bytes),
                                        ReadableCount(level.entries),
                                        ReadableCount(level.tombstones),
                                        ReadableBytes(level.filter_bytes),
                                        FppOrDash(8 * Ratio(level.filter_bytes, level.keys)),
                                        ReadableBytes(level.index_bytes),
                                        FppOrDash(level.target_fpp),
                                        FppOrDash(level.predicted_fpp)};
      },
      &rows);
  return "Tables\n" + ReadableTable(rows, 2);
}

std::string FiltersText(const Statistics& statistics) {
  Rows rows = {{"level", "kind", "target FPP", "filters", "bits/key", "expected waste", "hot",
                "cold", "why"}};
  AddRows(
      statistics,
      [](std::string name, const LevelStatistics& level) {
        const std::string why = level.filter_reason.substr(0, level.filter_reason.find(':'));
        return std::vector<std::string>{std::move(name),
                                        level.filter_kind.empty() ? "-" : level.filter_kind,
                                        FppOrDash(level.target_fpp),
                                        ReadableBytes(level.filter_bytes),
                                        FppOrDash(8 * Ratio(level.filter_bytes, level.keys)),
                                        ReadableNumber(level.expected_wasted_reads),
                                        ReadableCount(level.hot_tables),
                                        ReadableCount(level.cold_tables),
                                        why.empty() ? "-" : why};
      },
      &rows);
  return "Filters: goal " + statistics.filter_goal +
         "; kind, why: the newest table's; waste: reads for an absent key; hot, cold: tables\n" +
         ReadableTable(rows, 2);
}

std::string LookupsText(const Statistics& statistics) {
  Rows rows = {{"level", "lookups", "considered", "avoided", "useful", "wasted", "observed FPP",
                "from cache", "from file", "bytes read"}};
  AddRows(
      statistics,
      [](std::string name, const LevelStatistics& level) {
        const bool asked = level.reads_avoided + level.false_positives != 0;
        return std::vector<std::string>{std::move(name),
                                        ReadableCount(level.lookups),
                                        ReadableCount(level.tables_considered),
                                        ReadableCount(level.reads_avoided),
                                        ReadableCount(level.useful_reads),
                                        ReadableCount(level.wasted_reads),
                                        asked ? ReadableNumber(level.observed_fpp()) : "-",
                                        ReadableCount(level.blocks_from_cache),
                                        ReadableCount(level.blocks_from_file),
                                        ReadableBytes(level.bytes_from_file)};
      },
      &rows);
  return "Point lookups: tables considered, reads avoided by filters, reads made; data blocks from "
         "cache and file\n" +
         ReadableTable(rows, 2);
}

std::string ReadsText(const Statistics& statistics) {
  const LevelStatistics& total = statistics.total;
  const uint64_t blocks = total.blocks_from_cache + total.blocks_from_file;
  Rows rows;
  rows.push_back({"lookups", ReadableCount(statistics.lookups)});
  rows.push_back({"  found", ReadableCount(statistics.lookups_found)});
  rows.push_back({"  answered by memtables", ReadableCount(statistics.memtable_hits)});
  rows.push_back(
      {"reads avoided, of reads that would find nothing",
       ReadablePercent(Ratio(total.reads_avoided, total.reads_avoided + total.wasted_reads))});
  rows.push_back({"wasted reads per lookup", ReadableNumber(statistics.wasted_reads_per_lookup())});
  rows.push_back(
      {"  expected where the key is absent", ReadableNumber(total.expected_wasted_reads)});
  rows.push_back({"data blocks per lookup", ReadableNumber(Ratio(blocks, statistics.lookups))});
  rows.push_back({"data blocks from files per lookup",
                  ReadableNumber(Ratio(total.blocks_from_file, statistics.lookups))});
  rows.push_back({"filters absent", ReadableCount(total.filters_absent)});
  rows.push_back({"filters damaged", ReadableCount(total.filters_damaged)});
  rows.push_back({"filters of unknown kind", ReadableCount(total.filters_unknown)});
  rows.push_back({"iterators", ReadableCount(statistics.iterators)});
  rows.push_back({"  data blocks from cache", ReadableCount(statistics.scan_blocks_from_cache)});
  rows.push_back({"  data blocks from files", ReadableCount(statistics.scan_blocks_from_file)});
  rows.push_back({"  bytes from files", ReadableBytes(statistics.scan_bytes_from_file)});
  if (total.partitions_from_cache + total.partitions_from_file > 0) {
    rows.push_back({"partitions of filters and indexes per lookup",
                    ReadableNumber(Ratio(total.partitions_from_cache + total.partitions_from_file,
                                         statistics.lookups))});
    rows.push_back({"  from files per lookup",
                    ReadableNumber(Ratio(total.partitions_from_file, statistics.lookups))});
    rows.push_back({"  bytes from files", ReadableBytes(total.partition_bytes_from_file)});
  }
  return "Reads\n" + ReadableTable(rows, 2);
}

std::string WritesText(const Statistics& statistics) {
  Rows rows;
  rows.push_back({"writes", ReadableCount(statistics.writes)});
  rows.push_back({"  puts and deletes", ReadableCount(statistics.write_entries)});
  rows.push_back({"  keys and values", ReadableBytes(statistics.user_bytes_written)});
  rows.push_back({"  groups committed", ReadableCount(statistics.write_groups)});
  rows.push_back({"log written", ReadableBytes(statistics.log_bytes_written)});
  rows.push_back({"  syncs", ReadableCount(statistics.log_syncs)});
  rows.push_back({"flushes", ReadableCount(statistics.flushes)});
  rows.push_back({"  written", ReadableBytes(statistics.flush_bytes_written)});
  rows.push_back({"  time", ReadableNanos(statistics.flush_nanos)});
  if (statistics.tombstones_dropped_by_flushes > 0)
    rows.push_back(
        {"  tombstones dropped", ReadableCount(statistics.tombstones_dropped_by_flushes)});
  rows.push_back({"compactions", ReadableCount(statistics.compactions)});
  rows.push_back({"  moves without rewriting", ReadableCount(statistics.trivial_moves)});
  if (statistics.compactions_for_readers > 0)
    rows.push_back({"  for readers of level 0", ReadableCount(statistics.compactions_for_readers)});
  if (statistics.compactions_for_tombstones > 0)
    rows.push_back({"  for tombstones", ReadableCount(statistics.compactions_for_tombstones)});
  if (statistics.tables_dropped_unread > 0) {
    rows.push_back({"  tables dropped unread", ReadableCount(statistics.tables_dropped_unread)});
    rows.push_back({"  bytes dropped unread", ReadableBytes(statistics.bytes_dropped_unread)});
  }
  rows.push_back({"  at once at most", ReadableCount(statistics.compactions_at_once)});
  rows.push_back({"  read", ReadableBytes(statistics.compaction_bytes_read)});
  rows.push_back({"  written", ReadableBytes(statistics.compaction_bytes_written)});
  rows.push_back({"  time", ReadableNanos(statistics.compaction_nanos)});
  rows.push_back({"writes that waited for a memtable", ReadableCount(statistics.stalls_memtable)});
  rows.push_back({"writes that waited for level 0", ReadableCount(statistics.stalls_level0)});
  rows.push_back({"writes that waited for the next log", ReadableCount(statistics.stalls_log)});
  rows.push_back({"waits of puts for the reserve", ReadableCount(statistics.stalls_reserve)});
  rows.push_back({"writes delayed before that", ReadableCount(statistics.slowdowns)});
  rows.push_back({"  time of all these", ReadableNanos(statistics.stall_nanos)});
  if (statistics.listener_calls > 0) {
    rows.push_back({"callbacks of the listener", ReadableCount(statistics.listener_calls)});
    rows.push_back({"  time", ReadableNanos(statistics.listener_nanos)});
  }
  rows.push_back({"background errors", ReadableCount(statistics.background_errors)});
  return "Writes\n" + ReadableTable(rows, 2);
}

std::string ChecksText(const Statistics& statistics) {
  Rows rows;
  rows.push_back({"tables verified", ReadableCount(statistics.tables_verified)});
  rows.push_back({"  bytes", ReadableBytes(statistics.bytes_verified)});
  rows.push_back({"  rounds of scrubbing", ReadableCount(statistics.scrubs)});
  rows.push_back({"damage found", ReadableCount(statistics.damage_found)});
  rows.push_back(
      {"denials of filters that were checked", ReadableCount(statistics.filter_denials_checked)});
  rows.push_back({"keys that a filter denied", ReadableCount(statistics.filter_false_negatives)});
  return "Checks\n" + ReadableTable(rows, 2);
}

struct Share {
  std::string_view text;
  double share;
  std::string_view name = text;  // in JSON
};
// The last is not the slowest call, since only a sample is timed.
constexpr Share kShares[] = {{"p50", 0.5},
                             {"p95", 0.95},
                             {"p99", 0.99},
                             {"p99.9", 0.999, "p99_9"},
                             {"max timed", 1, "max_timed"}};

std::string TimesText(const Statistics& statistics) {
  Rows rows = {{"", "calls timed"}};
  for (const Share& share : kShares) rows[0].emplace_back(share.text);
  for (const TimesField& field : kTimesFields) {
    const LatencyHistogram& times = statistics.*field.member;
    if (times.count() == 0) continue;
    rows.push_back({std::string(field.text), ReadableCount(times.count())});
    for (const Share& share : kShares)
      rows.back().push_back(ReadableNanos(times.Percentile(share.share)));
  }
  if (rows.size() == 1) return "";
  return "Latency\n" + ReadableTable(rows, 2);
}

void WriteTimes(const LatencyHistogram& times, JsonWriter* json) {
  json->BeginObject();
  json->Member("count", times.count());
  json->Member("sum_nanos", times.sum());
  for (const Share& share : kShares)
    json->Member(Concat(share.name, "_nanos"), times.Percentile(share.share));
  json->Key("buckets");
  json->BeginArray();
  for (const LatencyHistogram::Bucket& bucket : times.Buckets()) {
    json->BeginArray();
    json->Number(bucket.largest);
    json->Number(bucket.count);
    json->EndArray();
  }
  json->EndArray();
  json->EndObject();
}

std::string SizesText(const Statistics& statistics) {
  Rows rows;
  rows.push_back({"memtables", ReadableBytes(statistics.memtable_bytes)});
  rows.push_back({"block cache", ReadableBytes(statistics.block_cache_bytes) + " of " +
                                     ReadableBytes(statistics.block_cache_capacity_bytes)});
  if (statistics.reserve_bytes + statistics.reserve_releases + statistics.puts_refused > 0) {
    rows.push_back({"reserve for a full disk", ReadableBytes(statistics.reserve_bytes)});
    rows.push_back({"  given up, times", ReadableCount(statistics.reserve_releases)});
    rows.push_back({"  puts are refused", statistics.puts_refused > 0 ? "yes" : "no"});
  }
  if (statistics.view_age_nanos > 0)
    rows.push_back({"age of the view", ReadableNanos(statistics.view_age_nanos)});
  rows.push_back({"filters and indexes",
                  ReadableBytes(statistics.total.filter_bytes + statistics.total.index_bytes)});
  if (const uint64_t bytes =
          statistics.total.filter_partition_bytes + statistics.total.index_partition_bytes;
      bytes > 0)
    rows.push_back({"  in partitions, in the files", ReadableBytes(bytes)});
  if (statistics.total.range_deletes > 0) {
    rows.push_back({Concat("range deletes, ", ReadableCount(statistics.total.range_deletes)),
                    ReadableBytes(statistics.total.range_bytes)});
  }
  rows.push_back({"tables on disk", ReadableBytes(statistics.total.table_bytes)});
  if (statistics.total.freeable_bytes > 0) {
    rows.push_back({"  expected to go with tombstones at the bottom",
                    ReadableBytes(statistics.total.freeable_bytes)});
  }
  if (statistics.total.hidden_bytes > 0) {
    rows.push_back(
        {"  hidden by range deletes alone", ReadableBytes(statistics.total.hidden_bytes)});
  }
  rows.push_back({"write amplification: log and tables written, per byte of keys and values",
                  ReadableNumber(statistics.write_amplification())});
  rows.push_back(
      {"space amplification: all tables, per live byte in the deepest level's oldest run",
       ReadableNumber(statistics.space_amplification())});
  return "Sizes\n" + ReadableTable(rows, 2);
}

std::string RecoveryText(const RecoveryReport& recovery) {
  if (recovery.logs == 0) return "";
  Rows rows;
  rows.push_back({"logs replayed", ReadableCount(recovery.logs)});
  rows.push_back({"  records", ReadableCount(recovery.records)});
  rows.push_back({"  puts and deletes", ReadableCount(recovery.writes)});
  rows.push_back({"bytes dropped", ReadableCount(recovery.dropped_bytes())});
  std::string text = "Recovery\n" + ReadableTable(rows, 2);
  for (const DroppedLogEnd& end : recovery.dropped) text += "  " + end.Describe() + "\n";
  return text;
}

void WriteRecovery(const RecoveryReport& recovery, JsonWriter* json) {
  json->BeginObject();
  json->Member("logs", recovery.logs);
  json->Member("records", recovery.records);
  json->Member("writes", recovery.writes);
  json->Member("dropped_bytes", recovery.dropped_bytes());
  json->Key("dropped");
  json->BeginArray();
  for (const DroppedLogEnd& end : recovery.dropped) json->Json(end.ToJson());
  json->EndArray();
  json->EndObject();
}

void WriteLevel(const LevelStatistics& level, JsonWriter* json) {
  json->BeginObject();
  for (const LevelField& field : kLevelState) json->Member(field.name, level.*field.member);
  for (const LevelField& field : kLevelCounts) json->Member(field.name, level.*field.member);
  json->Member("target_fpp", level.target_fpp);
  json->Member("predicted_fpp", level.predicted_fpp);
  json->Member("filter_kind", level.filter_kind);
  json->Member("filter_reason", level.filter_reason);
  json->Member("expected_wasted_reads", level.expected_wasted_reads);
  json->Member("observed_fpp", level.observed_fpp());
  json->EndObject();
}

// Whether no counter is smaller than before.  Ignores `lookups`: that of `total` is a difference of
// two counters, which may shrink slightly while lookups are in flight.
bool HasGrownFrom(const LevelStatistics& before, const LevelStatistics& now) {
  return std::all_of(std::begin(kLevelCounts), std::end(kLevelCounts), [&](const auto& field) {
    return field.member == &LevelStatistics::lookups || now.*field.member >= before.*field.member;
  });
}

LevelStatistics CountedSince(const LevelStatistics& before, const LevelStatistics& now) {
  LevelStatistics difference = now;
  for (const LevelField& field : kLevelCounts)
    difference.*field.member = Difference(now.*field.member, before.*field.member);
  return difference;
}

bool HasGrownFrom(const Statistics& before, const Statistics& now) {
  for (size_t i = 0; i < now.levels.size(); ++i) {
    if (!HasGrownFrom(before.levels[i], now.levels[i])) return false;
  }
  for (const StoreField& field : kStoreFields) {
    if (!field.is_state && now.*field.member < before.*field.member) return false;
  }
  return std::all_of(
      std::begin(kTimesFields), std::end(kTimesFields),
      [&](const TimesField& field) { return (now.*field.member).IsAtLeast(before.*field.member); });
}

}  // namespace

double LevelStatistics::observed_fpp() const {
  return Ratio(false_positives, false_positives + reads_avoided);
}

LevelStatistics LevelStatistics::Since(const LevelStatistics& before) const {
  return HasGrownFrom(before, *this) ? CountedSince(before, *this) : *this;
}

Statistics Statistics::Since(const Statistics& before) const {
  Statistics difference = *this;
  if (!HasGrownFrom(before, *this)) return difference;  // the store was opened again in between
  for (size_t i = 0; i < levels.size(); ++i)
    difference.levels[i] = CountedSince(before.levels[i], levels[i]);
  difference.total = CountedSince(before.total, total);
  for (const StoreField& field : kStoreFields) {
    if (!field.is_state)
      difference.*field.member = Difference(this->*field.member, before.*field.member);
  }
  for (const TimesField& field : kTimesFields)
    difference.*field.member = (this->*field.member).Since(before.*field.member);
  return difference;
}

double Statistics::write_amplification() const {
  return Ratio(log_bytes_written + flush_bytes_written + compaction_bytes_written,
               user_bytes_written);
}

double Statistics::wasted_reads_per_lookup() const {
  return Ratio(total.wasted_reads, total.lookups);
}

double Statistics::space_amplification() const {
  if (total.table_bytes > 0 && live_bytes == 0) return std::numeric_limits<double>::infinity();
  return Ratio(total.table_bytes, live_bytes);
}

void Statistics::SumTrees(std::span<const Statistics> of_trees) {
  live_bytes = 0;
  std::vector<TreeLookups> lookups_of_trees;
  for (const Statistics& tree : of_trees) {
    live_bytes += LiveBytesOf(tree.levels);
    TreeLookups& of_tree = lookups_of_trees.emplace_back();
    for (const LevelStatistics& level : tree.levels)
      of_tree.keys += static_cast<double>(level.keys);
    of_tree.lookups = static_cast<double>(tree.lookups);
  }
  const std::vector<double> shares = SharesOfLookups(lookups_of_trees);
  for (size_t i = 0; i < levels.size(); ++i) {
    LevelStatistics& sum = levels[i];
    ClearState(&sum);
    MeanFpp target, predicted;
    for (size_t t = 0; t < of_trees.size(); ++t) {
      const LevelStatistics& level = of_trees[t].levels[i];
      if (level.tables > 0 && sum.tables == 0) {
        sum.filter_kind = level.filter_kind;
        sum.filter_reason = level.filter_reason;
      }
      AddState(level, &sum);
      target.Add(level.target_fpp, level.keys);
      predicted.Add(level.predicted_fpp, level.keys);
      sum.expected_wasted_reads += level.expected_wasted_reads * shares[t];
    }
    sum.target_fpp = target.Get();
    sum.predicted_fpp = predicted.Get();
  }
  ClearState(&total);
  for (const LevelStatistics& level : levels) {
    AddState(level, &total);
    total.expected_wasted_reads += level.expected_wasted_reads;
  }
  total.target_fpp = MeanFppOf(levels, &LevelStatistics::target_fpp);
  total.predicted_fpp = MeanFppOf(levels, &LevelStatistics::predicted_fpp);
}

std::string Statistics::ToText() const {
  return TablesText(*this) + FiltersText(*this) + LookupsText(*this) + ReadsText(*this) +
         WritesText(*this) + TimesText(*this) + RecoveryText(recovery) + ChecksText(*this) +
         SizesText(*this);
}

std::string Statistics::ToJson() const {
  JsonWriter json;
  json.BeginObject();
  for (const StoreField& field : kStoreFields) json.Member(field.name, this->*field.member);
  for (const TimesField& field : kTimesFields) {
    json.Key(field.name);
    WriteTimes(this->*field.member, &json);
  }
  json.Member("write_amplification", write_amplification());
  json.Member("space_amplification", space_amplification());
  json.Member("filter_goal", filter_goal);
  json.Member("wasted_reads_per_lookup", wasted_reads_per_lookup());
  json.Key("recovery");
  WriteRecovery(recovery, &json);
  json.Key("levels");
  json.BeginArray();
  for (const LevelStatistics& level : levels) WriteLevel(level, &json);
  json.EndArray();
  json.Key("total");
  WriteLevel(total, &json);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace lsm
