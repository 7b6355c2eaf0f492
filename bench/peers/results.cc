#include "bench/peers/results.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "bench/experiment/run.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

const char* const kNone = "-";

std::string Text(const std::optional<double>& value) {
  return value ? lsm::ReadableNumber(*value) : std::string(kNone);
}

std::string LabelOf(const Cell& cell) {
  return lsm::Concat(cell.task->name, cell.threads > 1 ? lsm::Concat(", ", cell.threads, " threads")
                                                       : std::string());
}

std::string PlaceOf(const Cell& cell) {
  return lsm::Concat(cell.size.name(), ", ", NameOf(cell.state), ", cache ", NameOf(cell.cache));
}

// Adds a column for each store.
void AddStores(const Results& results, const char* unit, bool with_spread, Table* table) {
  for (const auto& [name, details] : results.stores) {
    table->columns.push_back({name, lsm::Concat(name, ", ", unit), true});
    if (with_spread)
      table->columns.push_back({"+-%", name + ", half the range of the rounds, %", true});
  }
}

nlohmann::ordered_json SettingsJson(const Results& results) {
  using Json = nlohmann::ordered_json;
  return {
      {"rounds", results.rounds},
      {"single_round_bytes",
       results.single_round_bytes == UINT64_MAX ? Json(nullptr) : Json(results.single_round_bytes)},
      {"seconds_per_measurement", results.seconds_per_measurement},
      {"seed", results.options.seed},
      {"write_buffer_bytes", results.settings.write_buffer_bytes},
      {"block_bytes", results.settings.block_bytes},
      {"bits_per_key", results.settings.bits_per_key},
      {"target_fpp", results.settings.target_fpp}};
}

nlohmann::ordered_json DeletesJson(const Results& results) {
  using Json = nlohmann::ordered_json;
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json = Json::array();
  for (const DeletionResult& result : results.deletions) {
    for (size_t store = 0; store < results.stores.size(); ++store) {
      for (size_t i = 0; i < result.figures[store].size(); ++i) {
        const DeletionFigure& figure = result.figures[store][i];
        json.push_back(
            {{"workload", result.deletion->name},
             {"store", results.stores[store].first},
             {"figure", figure.name},
             {"value", std::isfinite(figure.value) ? Json(figure.value) : Json(nullptr)},
             {"goal", number(figure.goal)},
             {"share", figure.share_goal && store == 0 ? number(result.Share(i)) : Json(nullptr)},
             {"share_goal", number(figure.share_goal)}});
      }
    }
  }
  return json;
}

}  // namespace

Spread CellResult::Micros(size_t store) const {
  std::vector<double> values;
  for (const Sample& sample : samples[store]) values.push_back(sample.micros);
  return SpreadOf(std::move(values));
}

template <typename Value>
std::optional<double> CellResult::Median(size_t store, Value Sample::*member) const {
  std::vector<double> values;
  for (const Sample& sample : samples[store]) {
    const std::optional<double> value = sample.*member;
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return SpreadOf(std::move(values)).median;
}

std::optional<Spread> CellResult::Ratio() const {
  std::vector<double> ratios;
  for (size_t round = 0; round < samples[0].size(); ++round) {
    std::optional<double> best;
    for (size_t store = 1; store < std::min(samples.size(), rivals); ++store) {
      if (round >= samples[store].size()) continue;
      const double micros = samples[store][round].micros;
      best = best ? std::min(*best, micros) : micros;
    }
    if (!best) return std::nullopt;
    ratios.push_back(samples[0][round].micros / *best);
  }
  if (ratios.empty()) return std::nullopt;
  return SpreadOf(std::move(ratios));
}

std::optional<double> DeletionResult::Share(size_t figure) const {
  std::optional<double> best;
  for (size_t store = 1; store < figures.size(); ++store) {
    if (figure >= figures[store].size()) continue;
    const double value = figures[store][figure].value;
    best = best ? std::min(*best, value) : value;
  }
  if (!best) return std::nullopt;
  return figures.front()[figure].value / *best;
}

const CellResult* Results::Find(const Cell& cell) const {
  for (const CellResult& result : cells) {
    if (result.cell == cell) return &result;
  }
  return nullptr;
}

std::vector<Place> PlacesOf(const Results& results) {
  std::vector<Place> places;
  for (const CellResult& result : results.cells) {
    const Place place{result.cell.size, result.cell.state, result.cell.cache};
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  return places;
}

Table GoalsTable(const Results& results) {
  Table table{"goals", "Goals: the first store's time divided by the best other's", {}, {}};
  table.columns = {{"us/op", "", false}, {"stores", "", false}};
  AddStores(results, "us", false, &table);
  table.columns.push_back({"ratio", "first store / best other, median of the rounds", true});
  table.columns.push_back({"+-%", "half the range of the ratio, %", true});
  table.columns.push_back({"goal", "", true});
  table.columns.push_back({"", "reached", false});
  std::vector<std::pair<double, std::vector<std::string>>> rows;
  for (const CellResult& result : results.cells) {
    const Goal* goal = GoalOf(result.cell);
    const std::optional<Spread> ratio = result.Ratio();
    if (goal == nullptr || !ratio) continue;
    std::vector<std::string> row = {LabelOf(result.cell), PlaceOf(result.cell)};
    for (size_t store = 0; store < results.stores.size(); ++store)
      row.push_back(result.has(store) ? lsm::ReadableNumber(result.Micros(store).median) : kNone);
    row.push_back(lsm::ReadableNumber(ratio->median));
    row.push_back(lsm::ReadableNumber(ratio->percent()));
    row.push_back(goal->text);
    row.push_back(ratio->median <= goal->ratio ? "reached" : "missed");
    rows.emplace_back(ratio->median / goal->ratio, std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [by, row] : rows) table.rows.push_back(std::move(row));
  return table;
}

Table TimesTable(const Results& results, const DataSize& size, State state, Cache cache) {
  const std::string place =
      lsm::Concat(size.name(), ", ", NameOf(state), ", cache ", NameOf(cache));
  std::string id = lsm::Concat("times-", size.keys, "-", size.value_bytes, "-", NameOf(state), "-",
                               NameOf(cache));
  Table table{std::move(id), place, {{"us/op", "", false}}, {}};
  AddStores(results, "us", true, &table);
  table.columns.push_back({"ratio", "first store / best other, median of the rounds", true});
  const auto add = [&](const CellResult& result, const std::string& label,
                       std::optional<double> Sample::*member) {
    std::vector<std::string> row = {label};
    for (size_t store = 0; store < results.stores.size(); ++store) {
      row.push_back(Text(result.Median(store, member)));
      row.push_back("");
    }
    row.push_back("");
    table.rows.push_back(std::move(row));
  };
  for (const CellResult& result : results.cells) {
    if (result.cell.size != size || result.cell.state != state || result.cell.cache != cache)
      continue;
    std::vector<std::string> row = {LabelOf(result.cell)};
    for (size_t store = 0; store < results.stores.size(); ++store) {
      row.push_back(result.has(store) ? lsm::ReadableNumber(result.Micros(store).median) : kNone);
      row.push_back(result.has(store) ? lsm::ReadableNumber(result.Micros(store).percent())
                                      : kNone);
    }
    const std::optional<Spread> ratio = result.Ratio();
    row.push_back(ratio ? lsm::ReadableNumber(ratio->median) : kNone);
    table.rows.push_back(std::move(row));
    if (!result.has(0) || !result.samples[0][0].quiet_micros) continue;
    add(result, "  until quiet", &Sample::quiet_micros);
    add(result, "  until quiet, CPU", &Sample::quiet_cpu_micros);
    add(result, "  write amplification", &Sample::write_amplification);
  }
  return table;
}

Table ReadsTable(const Results& results) {
  Table table{"reads", "Data blocks read from files per operation, and KiB from devices", {}, {}};
  table.columns = {{"operation", "", false}, {"stores", "", false}};
  for (const auto& [name, details] : results.stores) {
    table.columns.push_back({name, name + ", data blocks", true});
    table.columns.push_back({"KiB", name + ", KiB from devices", true});
  }
  for (const CellResult& result : results.cells) {
    if (!result.cell.task->reads() || result.cell.cache == Cache::kAll || result.cell.threads > 1)
      continue;
    std::vector<std::string> row = {LabelOf(result.cell), PlaceOf(result.cell)};
    for (size_t store = 0; store < results.stores.size(); ++store) {
      const std::optional<double> bytes = result.Median(store, &Sample::device_bytes);
      row.push_back(Text(result.Median(store, &Sample::block_reads)));
      row.push_back(bytes ? lsm::ReadableNumber(*bytes / 1024) : kNone);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table OpeningsTable(const Results& results) {
  Table table{
      "openings",
      "Openings of a store of many tables, ms, and MiB read (as counted, and from devices)",
      {{"operation", "", false},
       {"stores", "", false},
       {"store", "", false},
       {"tables", "", true},
       {"ms", "", true},
       {"+-%", "half the range of the rounds, %", true},
       {"CPU ms", "of all threads", true},
       {"read", "MiB by read calls; for stores that use io_uring, table bytes by their own count",
        true},
       {"device", "MiB from devices", true},
       {"ratio", "first store's time / this one's, median of the rounds", true}},
      {}};
  for (const CellResult& result : results.cells) {
    if (!result.cell.task->opens()) continue;
    const Shape* shape = nullptr;
    for (const Shape& each : results.shapes) {
      if (each.size == result.cell.size && each.state == result.cell.state) shape = &each;
    }
    for (size_t store = 0; store < results.stores.size(); ++store) {
      if (!result.has(store)) continue;
      const auto scaled = [&](std::optional<double> value, double by) {
        return value ? lsm::ReadableNumber(*value / by) : std::string(kNone);
      };
      const Spread micros = result.Micros(store);
      std::vector<double> ratios;
      for (size_t round = 0; round < result.samples[store].size(); ++round)
        ratios.push_back(result.samples[0][round].micros / result.samples[store][round].micros);
      const bool is_counted = shape != nullptr && shape->figures[store].tables.has_value();
      table.rows.push_back(
          {result.cell.task->name, result.cell.size.name(), results.stores[store].first,
           is_counted ? lsm::ReadableCount(*shape->figures[store].tables) : kNone,
           lsm::ReadableNumber(micros.median / 1000), lsm::ReadableNumber(micros.percent()),
           scaled(result.Median(store, &Sample::cpu_micros), 1000),
           scaled(result.Median(store, &Sample::read_bytes), 1 << 20),
           scaled(result.Median(store, &Sample::device_bytes), 1 << 20),
           store == 0 ? "" : lsm::ReadableNumber(SpreadOf(std::move(ratios)).median)});
    }
  }
  return table;
}

Table FiltersTable(const Results& results) {
  Table table{
      "filters",
      "Filters of the fresh stores: the same bits per key; the variant spreads them by level",
      {{"stores", "", false},
       {"store", "", false},
       {"filters", "bytes of filters", true},
       {"bits/key", "filter bits per key", true},
       {"blocks -", "data blocks read from files, absent key, no cache", true},
       {"direct us", "get absent, no cache, us", true},
       {"all us", "get absent, all cached, us", true},
       {"present us", "get present, all cached, us", true}},
      {}};
  for (const Shape& shape : results.shapes) {
    if (shape.state != State::kFresh) continue;
    for (size_t store = 0; store < results.stores.size(); ++store) {
      if (!shape.figures[store].filter_bytes) continue;
      const auto find = [&](const char* task, Cache cache) -> const CellResult* {
        for (const CellResult& result : results.cells) {
          if (result.cell.size == shape.size && result.cell.state == shape.state &&
              result.cell.cache == cache && result.cell.threads == 1 &&
              std::string_view(result.cell.task->name) == task && result.has(store))
            return &result;
        }
        return nullptr;
      };
      const auto micros = [&](const CellResult* result) {
        return result != nullptr ? lsm::ReadableNumber(result->Micros(store).median)
                                 : std::string(kNone);
      };
      const CellResult* direct = find("get absent", Cache::kDirect);
      const CellResult* all = find("get absent", Cache::kAll);
      if (direct == nullptr && all == nullptr) continue;
      const auto bytes = static_cast<double>(*shape.figures[store].filter_bytes);
      table.rows.push_back(
          {shape.size.name(), results.stores[store].first,
           lsm::ReadableBytes(*shape.figures[store].filter_bytes),
           lsm::ReadableNumber(8 * bytes / static_cast<double>(shape.size.keys)),
           direct != nullptr ? Text(direct->Median(store, &Sample::block_reads)) : kNone,
           micros(direct), micros(all), micros(find("get present", Cache::kAll))});
    }
  }
  return table;
}

Table DeletionsTable(const Results& results, bool goals_only) {
  Table table{"deletes", "Deletes: what they cost, and what they leave", {}, {}};
  table.columns = {{"workload", "", false}, {"figure", "", false}};
  // A variant takes part in none.
  const auto has_column = [&](size_t store) {
    return std::any_of(
        results.deletions.begin(), results.deletions.end(),
        [&](const DeletionResult& result) { return !result.figures[store].empty(); });
  };
  for (size_t store = 0; store < results.stores.size(); ++store) {
    if (has_column(store)) table.columns.push_back({results.stores[store].first, "", true});
  }
  table.columns.push_back({"goal", "the first store's value is at most this", true});
  table.columns.push_back({"", "reached", false});
  const auto add = [&](std::vector<std::string> row, double value,
                       const std::optional<double>& goal) {
    row.push_back(goal ? lsm::ReadableNumber(*goal) : "");
    row.push_back(!goal ? "" : value <= *goal ? "reached" : "missed");
    table.rows.push_back(std::move(row));
  };
  for (const DeletionResult& result : results.deletions) {
    const std::vector<DeletionFigure>& first = result.figures.front();
    const char* workload = result.deletion->name;  // stands in its first row
    for (size_t i = 0; i < first.size(); ++i) {
      if (goals_only && !first[i].goal && !first[i].share_goal) continue;
      std::vector<std::string> row = {std::exchange(workload, ""), first[i].name};
      for (size_t store = 0; store < result.figures.size(); ++store) {
        if (!has_column(store)) continue;
        const std::vector<DeletionFigure>& figures = result.figures[store];
        const bool has_value = i < figures.size() && std::isfinite(figures[i].value);
        row.push_back(has_value ? lsm::ReadableNumber(figures[i].value) : kNone);
      }
      add(std::move(row), first[i].value, first[i].goal);
      const std::optional<double> share = result.Share(i);
      if (!first[i].share_goal || !share) continue;
      row = {"", lsm::Concat(first[i].name, ", part of the best other's"),
             lsm::ReadableNumber(*share)};
      row.resize(table.columns.size() - 2);
      add(std::move(row), *share, first[i].share_goal);
    }
  }
  return table;
}

Table LatencyTable(const Results& results) {
  Table table{"latency", "Single puts under full load, us, medians of the rounds", {}, {}};
  table.columns = {{"stores", "", false}, {"store", "", false}, {"p50", "", true},
                   {"p99", "", true},     {"p99.9", "", true},  {"p99.99", "", true},
                   {"longest", "", true}};
  for (const CellResult& result : results.cells) {
    for (size_t store = 0; store < results.stores.size(); ++store) {
      if (!result.has(store) || result.samples[store][0].latencies.empty()) continue;
      std::vector<std::string> row = {PlaceOf(result.cell), results.stores[store].first};
      for (size_t i = 0; i < std::size(kLatencyShares); ++i) {
        std::vector<double> values;
        for (const Sample& sample : result.samples[store]) values.push_back(sample.latencies[i]);
        row.push_back(lsm::ReadableNumber(SpreadOf(std::move(values)).median));
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table ThreadsTable(const Results& results) {
  Table table{"threads", "Operations per second of two threads, divided by those of one", {}, {}};
  table.columns = {{"operation", "", false}, {"stores", "", false}};
  AddStores(results, "times as many", false, &table);
  for (const CellResult& result : results.cells) {
    if (result.cell.threads != 2) continue;
    Cell alone = result.cell;
    alone.threads = 1;
    const CellResult* one = results.Find(alone);
    if (one == nullptr) continue;
    std::vector<std::string> row = {result.cell.task->name, PlaceOf(result.cell)};
    for (size_t store = 0; store < results.stores.size(); ++store) {
      row.push_back(
          result.has(store) && one->has(store)
              ? lsm::ReadableNumber(one->Micros(store).median / result.Micros(store).median)
              : kNone);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table ShapesTable(const Results& results) {
  Table table{"shapes", "Shapes of the stores during the reads", {}, {}};
  table.columns = {{"stores", "", false},
                   {"store", "", false},
                   {"sorted runs", "", true},
                   {"after", "sorted runs after all measurements", true},
                   {"files", "tables", true},
                   {"tables", "bytes of tables", true},
                   {"filters", "bytes of filters", true},
                   {"bits/key", "filter bits per key", true}};
  for (const Shape& shape : results.shapes) {
    for (size_t store = 0; store < results.stores.size(); ++store) {
      const PeerFigures& figures = shape.figures[store];
      if (!figures.sorted_runs && !figures.table_bytes) continue;  // an absent variant
      const auto bytes = [](const std::optional<uint64_t>& value) {
        return value ? lsm::ReadableBytes(*value) : std::string(kNone);
      };
      table.rows.push_back(
          {lsm::Concat(shape.size.name(), ", ", NameOf(shape.state)), results.stores[store].first,
           figures.sorted_runs ? lsm::ReadableCount(*figures.sorted_runs) : kNone,
           shape.RunsAfter(store) ? lsm::ReadableCount(*shape.RunsAfter(store)) : kNone,
           figures.tables ? lsm::ReadableCount(*figures.tables) : kNone, bytes(figures.table_bytes),
           bytes(figures.filter_bytes),
           figures.filter_bytes
               ? lsm::ReadableNumber(8 * static_cast<double>(*figures.filter_bytes) /
                                     static_cast<double>(shape.size.keys))
               : kNone});
    }
  }
  return table;
}

Table ConditionsTable(const Results& results) {
  Conditions pairs = results.stores;
  pairs.push_back(
      {"Equal for all",
       lsm::Concat("write buffer ", lsm::ReadableBytes(results.settings.write_buffer_bytes),
                   ", blocks of ", lsm::ReadableBytes(results.settings.block_bytes),
                   "; filters: ", results.settings.bits_per_key, " bits per key, or target FPP ",
                   lsm::ReadableNumber(results.settings.target_fpp),
                   "; the log written, not synced")});
  const bool has_single = results.single_round_bytes != UINT64_MAX;
  pairs.push_back(
      {"Rounds", std::to_string(results.rounds) +
                     (has_single ? "; one for tasks that visit all keys of " +
                                       lsm::ReadableBytes(results.single_round_bytes) + " or more"
                                 : "")});
  for (const auto& [name, micros] : results.loop_micros) {
    pairs.push_back(
        {"Loop of " + name, lsm::ReadableNumber(micros) + " us of each figure are the loop's own"});
  }
  return bench::ConditionsTable(results.conditions, pairs, results.options, results.seconds);
}

std::string ToText(const Results& results) {
  std::vector<Table> tables;
  for (const Place& place : PlacesOf(results))
    tables.push_back(TimesTable(results, place.size, place.state, place.cache));
  for (Table& table :
       std::vector<Table>{ReadsTable(results), FiltersTable(results), OpeningsTable(results),
                          LatencyTable(results), ThreadsTable(results), ShapesTable(results),
                          DeletionsTable(results), ConditionsTable(results), GoalsTable(results)})
    tables.push_back(std::move(table));
  return TextOf(tables);
}

nlohmann::ordered_json ToJson(const Results& results) {
  using Json = nlohmann::ordered_json;
  Json json = ReportJson("peers_bench", 2, results.options, results.conditions, results.seconds);
  json["settings"] = SettingsJson(results);
  for (const char* member : {"stores", "shapes", "cells"}) json[member] = Json::array();
  json["loop_us"] = Json::object();
  for (const auto& [name, details] : results.stores)
    json["stores"].push_back({{"name", name}, {"details", details}});
  for (const auto& [name, micros] : results.loop_micros) json["loop_us"][name] = micros;
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const auto count = [](const std::optional<uint64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  for (const Shape& shape : results.shapes) {
    for (size_t store = 0; store < results.stores.size(); ++store) {
      const PeerFigures& figures = shape.figures[store];
      json["shapes"].push_back({{"size", shape.size.name()},
                                {"state", NameOf(shape.state)},
                                {"store", results.stores[store].first},
                                {"sorted_runs", count(figures.sorted_runs)},
                                {"sorted_runs_after", count(shape.RunsAfter(store))},
                                {"tables", count(figures.tables)},
                                {"table_bytes", count(figures.table_bytes)},
                                {"filter_bytes", count(figures.filter_bytes)}});
    }
  }
  for (const CellResult& result : results.cells) {
    const Cell& cell = result.cell;
    const Goal* goal = GoalOf(cell);
    const std::optional<Spread> ratio = result.Ratio();
    Json row = {
        {"size", cell.size.name()},
        {"keys", cell.size.keys},
        {"value_bytes", cell.size.value_bytes},
        {"state", NameOf(cell.state)},
        {"cache", NameOf(cell.cache)},
        {"threads", cell.threads},
        {"workload", cell.task->name},
        {"ratio", ratio ? Json{{"median", ratio->median}, {"min", ratio->min}, {"max", ratio->max}}
                        : Json(nullptr)},
        {"goal", goal != nullptr ? Json(goal->ratio) : Json(nullptr)},
        {"figures", Json::array()}};
    for (size_t store = 0; store < results.stores.size(); ++store) {
      if (!result.has(store)) continue;
      const Spread micros = result.Micros(store);
      Json figures = {
          {"store", results.stores[store].first},
          {"us", {{"median", micros.median}, {"min", micros.min}, {"max", micros.max}}},
          {"cpu_us", number(result.Median(store, &Sample::cpu_micros))},
          {"quiet_us", number(result.Median(store, &Sample::quiet_micros))},
          {"quiet_cpu_us", number(result.Median(store, &Sample::quiet_cpu_micros))},
          {"write_amplification", number(result.Median(store, &Sample::write_amplification))},
          {"block_reads", number(result.Median(store, &Sample::block_reads))},
          {"device_bytes", number(result.Median(store, &Sample::device_bytes))},
          {"read_bytes", number(result.Median(store, &Sample::read_bytes))},
          {"put_us", Json::array()}};
      for (const Sample& sample : result.samples[store]) {
        if (!sample.latencies.empty()) figures["put_us"].push_back(sample.latencies);
      }
      row["figures"].push_back(std::move(figures));
    }
    json["cells"].push_back(std::move(row));
  }
  json["deletes"] = DeletesJson(results);
  return json;
}

}  // namespace bench::peers
