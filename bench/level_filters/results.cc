#include "bench/level_filters/results.h"

#include "lsm/bytes/status.h"

namespace bench::level_filters {
namespace {

using nlohmann::ordered_json;

ordered_json OrNull(const std::optional<double>& value) {
  return value.has_value() ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json ToJson(const Reads& reads) {
  return {{"lookups", reads.lookups}, {"wasted", reads.wasted}, {"per_lookup", reads.per_lookup()}};
}

ordered_json ToJson(const LevelRow& level) {
  return {{"level", level.level},
          {"tables", level.tables},
          {"keys", level.keys},
          {"filter_bytes", level.filter_bytes},
          {"target_fpp", OrNull(level.target_fpp)},
          {"expected_wasted_reads", OrNull(level.expected_wasted_reads)},
          {"kind", level.kind},
          {"reason", level.reason}};
}

std::string OrDash(double value) { return value == 0 ? "-" : Digits3(value); }

double BitsPerKey(uint64_t bytes, uint64_t keys) {
  return keys == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(keys);
}

std::string Times(double times) { return times == 0 ? "-" : Digits3(times) + "x"; }

}  // namespace

uint64_t StoreResult::keys() const {
  uint64_t sum = 0;
  for (const LevelRow& level : levels) sum += level.keys;
  return sum;
}

uint64_t StoreResult::filter_bytes() const {
  uint64_t sum = 0;
  for (const LevelRow& level : levels) sum += level.filter_bytes;
  return sum;
}

double StoreResult::bits_per_key() const { return BitsPerKey(filter_bytes(), keys()); }

double StoreResult::expected_wasted_reads() const {
  double sum = 0;
  for (const LevelRow& level : levels) sum += level.expected_wasted_reads.value_or(0);
  return sum;
}

double Results::TimesFewer(const StoreResult& store, Reads StoreResult::*reads) const {
  const double here = (store.*reads).per_lookup();
  return stores.empty() || here == 0 ? 0 : (stores[0].*reads).per_lookup() / here;
}

ordered_json ToJson(const Results& results) {
  ordered_json json;
  json["benchmark"] = "level_filters";
  json["schema"] = 1;
  json["command"] = results.config.command;
  json["seconds"] = results.seconds;
  for (const auto& [name, value] : results.conditions) json["conditions"][name] = value;
  json["settings"] = {{"keys", results.config.keys},
                      {"value_bytes", results.config.value_bytes},
                      {"bits_per_key", results.config.bits_per_key},
                      {"seed", results.config.seed}};
  json["shape"] = results.shape.Describe(" ");
  json["stores"] = ordered_json::array();
  for (const StoreResult& store : results.stores) {
    ordered_json levels = ordered_json::array();
    for (const LevelRow& level : store.levels) levels.push_back(ToJson(level));
    json["stores"].push_back(
        {{"name", store.config.name},
         {"how", store.config.how},
         {"load_seconds", store.load_seconds},
         {"keys", store.keys()},
         {"filter_bytes", store.filter_bytes()},
         {"bits_per_key", store.bits_per_key()},
         {"most_of_budget", store.most_of_budget},
         {"expected_wasted_reads", store.expected_wasted_reads()},
         {"absent", ToJson(store.absent)},
         {"bottom", ToJson(store.bottom)},
         {"absent_times_fewer", results.TimesFewer(store, &StoreResult::absent)},
         {"bottom_times_fewer", results.TimesFewer(store, &StoreResult::bottom)},
         {"levels", std::move(levels)}});
  }
  return json;
}

Table StoresTable(const Results& results) {
  Table table{"stores",
              "Reads in vain at the same memory",
              {{"store", "", false},
               {"filters", "filters in memory"},
               {"bits/key", "bits a key of all tables"},
               {"expected", "wasted reads to expect of an absent key"},
               {"absent", "wasted reads a lookup of an absent key"},
               {"fewer", "times fewer than the first store, absent keys"},
               {"bottom", "wasted reads a lookup of a key that the deepest level holds"},
               {"fewer", "times fewer than the first store, keys of the deepest level"},
               {"most", "most memory while loading, by what was allowed"},
               {"load s", "seconds to load"}},
              {}};
  for (const StoreResult& store : results.stores) {
    table.rows.push_back(
        {store.config.name, Bytes(store.filter_bytes()), Digits3(store.bits_per_key()),
         OrDash(store.expected_wasted_reads()), Digits3(store.absent.per_lookup()),
         Times(results.TimesFewer(store, &StoreResult::absent)), Digits3(store.bottom.per_lookup()),
         Times(results.TimesFewer(store, &StoreResult::bottom)), OrDash(store.most_of_budget),
         Digits3(store.load_seconds)});
  }
  return table;
}

Table LevelsTable(const Results& results) {
  Table table{"levels",
              "What each level got, and why",
              {{"store", "", false},
               {"level", ""},
               {"tables", ""},
               {"keys", "keys of all its tables"},
               {"kind", "kind of the newest table's filter", false},
               {"bits/key", "bits a key"},
               {"target", "target FPP, mean by keys"},
               {"expected", "wasted reads to expect of an absent key"},
               {"why", "why the newest table has that filter", false}},
              {}};
  for (const StoreResult& store : results.stores) {
    if (!table.rows.empty()) table.rows.emplace_back();
    for (const LevelRow& level : store.levels) {
      table.rows.push_back(
          {store.config.name, std::to_string(level.level), Grouped(level.tables),
           Grouped(level.keys), level.kind, OrDash(BitsPerKey(level.filter_bytes, level.keys)),
           OrDash(level.target_fpp.value_or(0)), OrDash(level.expected_wasted_reads.value_or(0)),
           level.reason.empty() ? "-" : level.reason});
    }
  }
  return table;
}

std::string ToMarkdown(const Results& results) {
  std::string text = lsm::Concat(
      Grouped(results.config.keys), " keys, ", Digits3(results.config.bits_per_key),
      " bits a key, ", Grouped(results.stores.empty() ? 0 : results.stores[0].absent.lookups),
      " absent keys:\n\n| store | how | bits/key | absent | times fewer "
      "| bottom | times fewer | most memory |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const StoreResult& store : results.stores) {
    text += lsm::Concat("| ", store.config.name, " | ", store.config.how, " | ",
                        Digits3(store.bits_per_key()), " | ", Digits3(store.absent.per_lookup()),
                        " | ", Times(results.TimesFewer(store, &StoreResult::absent)), " | ",
                        Digits3(store.bottom.per_lookup()), " | ",
                        Times(results.TimesFewer(store, &StoreResult::bottom)), " | ",
                        OrDash(store.most_of_budget), " |\n");
  }
  return text;
}

}  // namespace bench::level_filters
