#include "bench/read_amp/results.h"

#include <algorithm>

#include "bench/experiment/run.h"
#include "lsm/bytes/wilson_interval.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

Json JsonOf(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

Json SettingsJson(const Results& results) {
  const Config& config = results.config;
  return {{"rounds", config.rounds},
          {"seconds_per_measurement", config.lookups > 0 ? Json() : Json(config.seconds)},
          {"lookups_per_measurement", config.lookups > 0 ? Json(config.lookups) : Json()},
          {"present_share_of_mixed", config.mix},
          {"value_bytes", config.value_bytes},
          {"seed", config.seed}};
}

Json KeysJson(const Results& results) {
  const KeyReport& report = results.key_report;
  return {{"stored", results.stored_keys},
          {"absent", results.absent_keys},
          {"key_bytes", results.key_bytes},
          {"user_bytes", results.user_bytes},
          {"source", report.source},
          {"absent_source", report.absent_source},
          {"left_out",
           {{"empty_lines", report.empty_lines},
            {"duplicates", report.duplicates},
            {"absent_duplicates", report.absent_duplicates},
            {"absent_stored", report.absent_stored},
            {"absent_outside_of_range", report.absent_outside}}}};
}

Json ShapeJson(const StoreShape& shape) {
  return {{"flushes", shape.flushes},
          {"entries_per_flush", shape.entries_per_flush},
          {"table_bytes", shape.table_bytes},
          {"level1_bytes", shape.level1_bytes},
          {"how", shape.Describe(" ")}};
}

Json StoreJson(const StoreResult& store) {
  const bool filtered = store.config.filter_kind != "none";
  const lsm::LevelStatistics& total = store.shape.total;
  const lsm::Interval interval = lsm::WilsonInterval(store.false_positives, store.questions);
  Json json = {{"name", store.config.name()},
               {"filter", store.config.filter_kind},
               {"target_fpp", filtered ? Json(store.config.target_fpp) : Json()},
               {"predicted_fpp", filtered ? Json(total.predicted_fpp) : Json()},
               {"observed_fpp", filtered ? Json(store.observed_fpp()) : Json()},
               {"observed_fpp_low", filtered ? Json(interval.low) : Json()},
               {"observed_fpp_high", filtered ? Json(interval.high) : Json()},
               {"fpp_questions", store.questions},
               {"fpp_false_positives", store.false_positives},
               {"filter_bits_per_key", store.filter_bits_per_key()},
               {"filter_bytes", total.filter_bytes},
               {"index_bytes", total.index_bytes},
               {"table_bytes", total.table_bytes},
               {"tables", total.tables},
               {"entries", total.entries},
               {"load_seconds", store.load_seconds},
               {"levels", Json::array()}};
  for (size_t level = 0; level < store.shape.levels.size(); ++level) {
    const lsm::LevelStatistics& at = store.shape.levels[level];
    if (at.tables == 0) continue;
    json["levels"].push_back({{"level", level},
                              {"tables", at.tables},
                              {"table_bytes", at.table_bytes},
                              {"entries", at.entries},
                              {"filter_bytes", at.filter_bytes}});
  }
  return json;
}

Json CellJson(const Results& results, const Cell& cell) {
  Json latency = Json::object();
  for (size_t i = 0; i < kPercentiles.size(); ++i) {
    static constexpr const char* kNames[] = {"p50", "p95", "p99", "p99.9"};
    const std::optional<Spread> spread = cell.latency_us(i);
    latency[kNames[i]] = spread.has_value() ? JsonOf(*spread) : Json();
  }
  using Counted = lsm::LevelStatistics;
  const std::optional<double> avoided = results.AvoidedIo(cell);
  return {{"store", results.stores[cell.store].config.name()},
          {"cache", NameOf(results.caches[cell.cache].size)},
          {"workload", NameOf(cell.workload)},
          {"lookups", cell.lookups()},
          {"lookups_per_second", JsonOf(cell.lookups_per_second())},
          {"timed_lookups_least", cell.timed_lookups()},
          {"latency_us", std::move(latency)},
          {"per_lookup",
           {{"tables_considered", cell.PerLookup(&Counted::tables_considered)},
            {"reads_avoided", cell.PerLookup(&Counted::reads_avoided)},
            {"wasted_reads", cell.PerLookup(&Counted::wasted_reads)},
            {"useful_reads", cell.PerLookup(&Counted::useful_reads)},
            {"false_positives", cell.PerLookup(&Counted::false_positives)},
            {"blocks_touched", cell.blocks_touched()},
            {"blocks_from_file", cell.blocks_from_file()},
            {"bytes_from_file", cell.PerLookup(&Counted::bytes_from_file)},
            {"partitions_from_file", cell.PerLookup(&Counted::partitions_from_file)},
            {"partition_bytes_from_file", cell.PerLookup(&Counted::partition_bytes_from_file)}}},
          {"compared_blocks", results.ComparedBlocks(cell)},
          {"avoided_io_percent", avoided.has_value() ? Json(*avoided) : Json()}};
}

}  // namespace

double StoreResult::observed_fpp() const {
  return questions == 0 ? 0 : static_cast<double>(false_positives) / static_cast<double>(questions);
}

double StoreResult::filter_bits_per_key() const {
  const double entries = static_cast<double>(shape.total.entries);
  return entries == 0 ? 0 : 8 * static_cast<double>(shape.total.filter_bytes) / entries;
}

uint64_t Cell::lookups() const {
  uint64_t sum = 0;
  for (const Measurement& round : rounds) sum += round.lookups;
  return sum;
}

uint64_t Cell::timed_lookups() const {
  uint64_t least = rounds.empty() ? 0 : UINT64_MAX;
  for (const Measurement& round : rounds) least = std::min(least, round.timed_lookups);
  return least;
}

Spread Cell::lookups_per_second() const {
  std::vector<double> rates;
  for (const Measurement& round : rounds) rates.push_back(round.lookups_per_second);
  return SpreadOf(std::move(rates));
}

std::optional<Spread> Cell::latency_us(size_t percentile) const {
  if (timed_lookups() < TimedLookupsFor(kPercentiles[percentile])) return std::nullopt;
  std::vector<double> values;
  for (const Measurement& round : rounds) values.push_back(round.latency_us[percentile]);
  return SpreadOf(std::move(values));
}

uint64_t Cell::Sum(uint64_t lsm::LevelStatistics::*field) const {
  uint64_t sum = 0;
  for (const Measurement& round : rounds) sum += round.counted.*field;
  return sum;
}

double Cell::PerLookup(uint64_t lsm::LevelStatistics::*field) const {
  return static_cast<double>(Sum(field)) / static_cast<double>(std::max<uint64_t>(1, lookups()));
}

double Cell::bytes_from_file() const {
  return PerLookup(&lsm::LevelStatistics::bytes_from_file) +
         PerLookup(&lsm::LevelStatistics::partition_bytes_from_file);
}

double Cell::blocks_from_file() const { return PerLookup(&lsm::LevelStatistics::blocks_from_file); }

double Cell::blocks_touched() const {
  return PerLookup(&lsm::LevelStatistics::blocks_from_cache) + blocks_from_file();
}

const Cell* Results::Find(size_t store, size_t cache, Workload workload) const {
  for (const Cell& cell : cells) {
    if (cell.store == store && cell.cache == cache && cell.workload == workload) return &cell;
  }
  return nullptr;
}

double Results::ComparedBlocks(const Cell& cell) const {
  const bool all_cached = caches[cell.cache].size == CacheSize::kFits;
  return all_cached ? cell.blocks_touched() : cell.blocks_from_file();
}

std::optional<double> Results::AvoidedIo(const Cell& cell) const {
  const Cell* unfiltered = Find(0, cell.cache, cell.workload);
  if (cell.store == 0 || unfiltered == nullptr) return std::nullopt;
  const double without = ComparedBlocks(*unfiltered);
  if (without <= 0) return std::nullopt;
  return 100 * (1 - ComparedBlocks(cell) / without);
}

nlohmann::ordered_json ToJson(const Results& results) {
  Json json = ReportJson("read_amp", 1, results.config, results.conditions, results.seconds);
  json["warnings"] = results.warnings;
  json["settings"] = SettingsJson(results);
  json["keys"] = KeysJson(results);
  json["shape"] = ShapeJson(results.shape);
  for (const CacheResult& cache : results.caches) {
    json["caches"].push_back({{"name", NameOf(cache.size)},
                              {"bytes", cache.bytes},
                              {"direct_io", cache.direct},
                              {"least_fill", cache.least_fill},
                              {"note", cache.note}});
  }
  for (const Workload workload : results.config.workloads) {
    json["workloads"].push_back(NameOf(workload));
  }
  for (const StoreResult& store : results.stores) json["stores"].push_back(StoreJson(store));
  for (const Cell& cell : results.cells) json["cells"].push_back(CellJson(results, cell));
  return json;
}

}  // namespace bench
