#include "bench/level_filters/results.h"

#include <algorithm>
#include <cmath>

#include "bench/experiment/run.h"
#include "lsm/bytes/readable.h"
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

std::string OrDash(double value) { return value == 0 ? "-" : lsm::ReadableNumber(value); }

double BitsPerKey(uint64_t bytes, uint64_t keys) {
  return keys == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(keys);
}

std::string Times(double times) { return times == 0 ? "-" : lsm::ReadableNumber(times) + "x"; }

std::string PercentOrDash(const std::optional<double>& part) {
  return part.has_value() ? lsm::Concat(std::lround(100 * *part), " %") : "-";
}

ordered_json ToJson(const SkewResult& skew) {
  ordered_json rounds = ordered_json::array();
  for (const SkewRound& round : skew.rounds) {
    rounds.push_back({{"written", round.written},
                      {"learning", round.learning},
                      {"forgetful", round.forgetful},
                      {"learning_bits", round.learning_bits},
                      {"forgetful_bits", round.forgetful_bits}});
  }
  return {{"name", skew.name},
          {"how", skew.how},
          {"best", skew.best},
          {"times_fewer", skew.TimesFewer()},
          {"learned", OrNull(skew.Learned())},
          {"worst", skew.Worst()},
          {"learned_again", OrNull(skew.LearnedAgain())},
          {"rounds", std::move(rounds)}};
}

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
  ordered_json json =
      ReportJson("level_filters", 1, results.config, results.conditions, results.seconds);
  json["settings"] = {{"keys", results.config.keys},
                      {"value_bytes", results.config.value_bytes},
                      {"bits_per_key", results.config.bits_per_key},
                      {"skewed_lookups", results.config.skewed_lookups},
                      {"written_a_round", results.config.written_a_round},
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
  json["skew"] = ordered_json::array();
  for (const SkewResult& skew : results.skew) json["skew"].push_back(ToJson(skew));
  return json;
}

double SkewResult::MeanOf(double SkewRound::*member, size_t first, size_t last) const {
  double sum = 0;
  for (size_t i = first; i < last; ++i) sum += rounds[i].*member;
  return first >= last ? 0 : sum / static_cast<double>(last - first);
}

double SkewResult::TimesFewer() const {
  const size_t from = rounds.size() / 4, to = rounds.size() / 2;
  const double learning = MeanOf(&SkewRound::learning, from, to);
  return learning == 0 ? 0 : MeanOf(&SkewRound::forgetful, from, to) / learning;
}

std::optional<double> SkewResult::Learned() const {
  for (size_t i = 0; i < rounds.size() / 2; ++i) {
    if (rounds[i].learning * kLearned <= rounds[i].forgetful) return rounds[i].written;
  }
  return std::nullopt;
}

double SkewResult::Worst() const {
  double worst = 0;
  for (size_t i = rounds.size() / 2; i < rounds.size(); ++i) {
    if (rounds[i].forgetful > 0) worst = std::max(worst, rounds[i].learning / rounds[i].forgetful);
  }
  return worst;
}

std::optional<double> SkewResult::LearnedAgain() const {
  const size_t half = rounds.size() / 2;
  for (size_t i = half; i < rounds.size(); ++i) {
    if (rounds[i].learning * kLearned <= rounds[i].forgetful)
      return rounds[i].written - rounds[half].written;
  }
  return std::nullopt;
}

Table SkewTable(const Results& results) {
  Table table{"skew",
              "Skewed lookups of absent keys",
              {{"lookups", "", false},
               {"forgetful", "wasted reads per lookup, store that forgets its counts"},
               {"learning", "wasted reads per lookup, store that learns"},
               {"fewer", "times fewer, before the ranges change"},
               {"at best", "times fewer, limit of theory"},
               {"bits/key", "bits per key of the store that learns, mean of the rounds"},
               {"learned", "share of the keys written until it wasted 1.5 times fewer"},
               {"worst", "its most wasted reads after the change, divided by the other's"},
               {"again", "share written from the change until 1.5 times fewer again"}},
              {}};
  for (const SkewResult& skew : results.skew) {
    const size_t from = skew.rounds.size() / 4, to = skew.rounds.size() / 2;
    table.rows.push_back(
        {skew.name, lsm::ReadableNumber(skew.MeanOf(&SkewRound::forgetful, from, to)),
         lsm::ReadableNumber(skew.MeanOf(&SkewRound::learning, from, to)), Times(skew.TimesFewer()),
         Times(skew.best),
         lsm::ReadableNumber(skew.MeanOf(&SkewRound::learning_bits, 0, skew.rounds.size())),
         PercentOrDash(skew.Learned()), Times(skew.Worst()), PercentOrDash(skew.LearnedAgain())});
  }
  return table;
}

Table RoundsTable(const Results& results) {
  Table table{"rounds",
              "Round by round",
              {{"lookups", "", false},
               {"written", "keys written since the load, divided by all keys"},
               {"forgetful", "wasted reads per lookup"},
               {"learning", "wasted reads per lookup"},
               {"fewer", "times fewer in the store that learns"},
               {"bits/key", "of the store that forgets"},
               {"bits/key", "of the store that learns"}},
              {}};
  for (const SkewResult& skew : results.skew) {
    if (!table.rows.empty()) table.rows.emplace_back();
    for (const SkewRound& round : skew.rounds) {
      table.rows.push_back(
          {skew.name, PercentOrDash(round.written), lsm::ReadableNumber(round.forgetful),
           lsm::ReadableNumber(round.learning),
           Times(round.learning == 0 ? 0 : round.forgetful / round.learning),
           lsm::ReadableNumber(round.forgetful_bits), lsm::ReadableNumber(round.learning_bits)});
    }
  }
  return table;
}

Table StoresTable(const Results& results) {
  Table table{"stores",
              "Wasted reads at the same memory",
              {{"store", "", false},
               {"filters", "filters in memory"},
               {"bits/key", "filter bits per key, all tables"},
               {"expected", "expected wasted reads per absent key"},
               {"absent", "wasted reads per lookup of an absent key"},
               {"fewer", "times fewer than the first store, absent keys"},
               {"bottom", "wasted reads per lookup of a key in the deepest level"},
               {"fewer", "times fewer than the first store, keys in the deepest level"},
               {"most", "most memory while loading, divided by the limit"},
               {"load s", "seconds to load"}},
              {}};
  for (const StoreResult& store : results.stores) {
    table.rows.push_back({store.config.name, lsm::ReadableBytes(store.filter_bytes()),
                          lsm::ReadableNumber(store.bits_per_key()),
                          OrDash(store.expected_wasted_reads()),
                          lsm::ReadableNumber(store.absent.per_lookup()),
                          Times(results.TimesFewer(store, &StoreResult::absent)),
                          lsm::ReadableNumber(store.bottom.per_lookup()),
                          Times(results.TimesFewer(store, &StoreResult::bottom)),
                          OrDash(store.most_of_budget), lsm::ReadableNumber(store.load_seconds)});
  }
  return table;
}

Table LevelsTable(const Results& results) {
  Table table{"levels",
              "Filters of each level, and why",
              {{"store", "", false},
               {"level", ""},
               {"tables", ""},
               {"keys", "keys in all its tables"},
               {"kind", "kind of the newest table's filter", false},
               {"bits/key", "bits per key"},
               {"target", "target FPP, mean weighted by keys"},
               {"expected", "expected wasted reads per absent key"},
               {"why", "why the newest table has that filter", false}},
              {}};
  for (const StoreResult& store : results.stores) {
    if (!table.rows.empty()) table.rows.emplace_back();
    for (const LevelRow& level : store.levels) {
      table.rows.push_back({store.config.name, std::to_string(level.level),
                            lsm::ReadableCount(level.tables), lsm::ReadableCount(level.keys),
                            level.kind, OrDash(BitsPerKey(level.filter_bytes, level.keys)),
                            OrDash(level.target_fpp.value_or(0)),
                            OrDash(level.expected_wasted_reads.value_or(0)),
                            level.reason.empty() ? "-" : level.reason});
    }
  }
  return table;
}

std::string ToMarkdown(const Results& results) {
  std::string text =
      lsm::Concat(lsm::ReadableCount(results.config.keys), " keys, ",
                  lsm::ReadableNumber(results.config.bits_per_key), " bits per key, ",
                  lsm::ReadableCount(results.stores.empty() ? 0 : results.stores[0].absent.lookups),
                  " absent keys:\n\n| store | how | bits/key | absent | times fewer "
                  "| bottom | times fewer | most memory |\n"
                  "|---|---|---|---|---|---|---|---|\n");
  for (const StoreResult& store : results.stores) {
    text += lsm::Concat("| ", store.config.name, " | ", store.config.how, " | ",
                        lsm::ReadableNumber(store.bits_per_key()), " | ",
                        lsm::ReadableNumber(store.absent.per_lookup()), " | ",
                        Times(results.TimesFewer(store, &StoreResult::absent)), " | ",
                        lsm::ReadableNumber(store.bottom.per_lookup()), " | ",
                        Times(results.TimesFewer(store, &StoreResult::bottom)), " | ",
                        OrDash(store.most_of_budget), " |\n");
  }
  if (results.skew.empty()) return text;
  text += lsm::Concat(
      "\n", lsm::ReadableCount(results.config.skewed_lookups), " absent keys per round, ",
      PercentOrDash(results.config.written_a_round),
      " of the keys written between two rounds, wasted reads per lookup:\n\n"
      "| lookups | how | forgetful | learning | times fewer | at best | learned after | worst "
      "after a change | learned again after |\n|---|---|---|---|---|---|---|---|---|\n");
  const Table table = SkewTable(results);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<std::string>& row = table.rows[i];
    text += lsm::Concat("| ", row[0], " | ", results.skew[i].how);
    for (const size_t column : {1, 2, 3, 4, 6, 7, 8}) text += lsm::Concat(" | ", row[column]);
    text += " |\n";
  }
  return text;
}

}  // namespace bench::level_filters
