#include "bench/read_amp/tables.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <sstream>
#include <utility>

#include "bench/experiment/run.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/bytes/wilson_interval.h"

namespace bench {
namespace {

using Counted = lsm::LevelStatistics;

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[96];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string OrDash(const std::optional<double>& value, const char* format) {
  return value.has_value() ? Format(format, *value) : "-";
}

// A percentile, or a dash if too few lookups were timed for it.
std::string LatencyOf(const Cell& cell, size_t percentile, std::string (*text_of)(double)) {
  const std::optional<Spread> spread = cell.latency_us(percentile);
  return spread.has_value() ? text_of(spread->median) : "-";
}

bool HasFilter(const StoreResult& store) { return store.config.filter_kind != "none"; }

// "2 + 4 + 13 + 45": tables by level, from level 0.
std::string LevelsOf(const StoreResult& store) {
  std::string out;
  uint64_t left = store.shape.total.tables;
  for (const Counted& level : store.shape.levels) {
    if (left == 0) break;
    out += (out.empty() ? "" : " + ") + std::to_string(level.tables);
    left -= std::min(left, level.tables);
  }
  return out;
}

// A row for each store, a column for each cache and workload.
Table Pivot(const Results& results, std::string id, std::string title,
            const std::function<std::string(const Cell&)>& text_of) {
  Table table;
  table.id = std::move(id);
  table.title = std::move(title);
  table.columns.push_back({"filter", "", false});
  for (const CacheResult& cache : results.caches) {
    for (const Workload workload : results.config.workloads) {
      const std::string size = NameOf(cache.size);
      table.columns.push_back({size + "/" + std::string(NameOf(workload)).substr(0, 3),
                               lsm::Concat("cache ", size, ", ", NameOf(workload)), true});
    }
  }
  for (size_t store = 0; store < results.stores.size(); ++store) {
    std::vector<std::string> row = {results.stores[store].config.name()};
    for (size_t cache = 0; cache < results.caches.size(); ++cache) {
      for (const Workload workload : results.config.workloads) {
        const Cell* cell = results.Find(store, cache, workload);
        row.push_back(cell == nullptr ? "-" : text_of(*cell));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The rows of one cache and workload, for the terminal.
Table CellTable(const Results& results, size_t cache, Workload workload) {
  Table table;
  table.columns = {{"filter", "", false}, {"lookups/s", "", true}, {"+-%", "", true},
                   {"p50 us", "", true},  {"p95", "", true},       {"p99", "", true},
                   {"p99.9", "", true},   {"blocks", "", true},    {"KiB", "", true},
                   {"tables", "", true},  {"avoided", "", true},   {"wasted", "", true},
                   {"saved%", "", true}};
  for (size_t store = 0; store < results.stores.size(); ++store) {
    const Cell* cell = results.Find(store, cache, workload);
    if (cell == nullptr) continue;
    const Spread rate = cell->lookups_per_second();
    std::vector<std::string> row = {results.stores[store].config.name(), Short(rate.median),
                                    Format("%.0f", rate.percent())};
    for (size_t p = 0; p < kPercentiles.size(); ++p) {
      row.push_back(LatencyOf(*cell, p, &Short));
    }
    row.push_back(lsm::ReadableNumber(results.ComparedBlocks(*cell)));
    row.push_back(lsm::ReadableNumber(cell->bytes_from_file() / 1024));
    row.push_back(lsm::ReadableNumber(cell->PerLookup(&Counted::tables_considered)));
    row.push_back(lsm::ReadableNumber(cell->PerLookup(&Counted::reads_avoided)));
    row.push_back(lsm::ReadableNumber(cell->PerLookup(&Counted::wasted_reads)));
    row.push_back(OrDash(results.AvoidedIo(*cell), "%.2f"));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// A row for each cell, with gaps between groups.
void AddCellRows(const Results& results, Table* table,
                 const std::function<std::vector<std::string>(const Cell&)>& figures_of) {
  for (const Cell& cell : results.cells) {
    if (cell.store == 0 && !table->rows.empty()) table->rows.emplace_back();
    std::vector<std::string> row = {NameOf(results.caches[cell.cache].size), NameOf(cell.workload),
                                    results.stores[cell.store].config.name()};
    for (std::string& figure : figures_of(cell)) row.push_back(std::move(figure));
    table->rows.push_back(std::move(row));
  }
}

// Breaks text into lines of at most 112 columns; all but the first begin with `indent` blanks.
std::string Wrapped(const std::string& text, std::string line, size_t indent) {
  constexpr size_t kWidth = 112;
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      out += std::exchange(line, std::string(indent - 1, ' ')) + "\n";
    }
    line += " " + word;
  }
  return out + line + "\n";
}

std::string ConditionsText(const Results& results) {
  std::string out;
  for (const auto& [name, value] : results.conditions) {
    out += Wrapped(value, Format("  %-24s", name.c_str()), 27);
  }
  return out;
}

std::string KeysText(const Results& results) {
  const KeyReport& report = results.key_report;
  std::string out = lsm::Concat("Keys    ", lsm::ReadableCount(results.stored_keys), " stored (",
                                report.source, "), ", lsm::ReadableBytes(results.user_bytes),
                                " with their values of ", results.config.value_bytes, " bytes\n");
  out += lsm::Concat("        ", lsm::ReadableCount(results.absent_keys), " absent (",
                     report.absent_source, "), all within the stored range\n");
  const uint64_t left_out = report.duplicates + report.empty_lines + report.absent_duplicates +
                            report.absent_stored + report.absent_outside;
  if (left_out > 0) {
    out +=
        lsm::Concat("        left out: ", lsm::ReadableCount(report.duplicates), " duplicates, ",
                    lsm::ReadableCount(report.empty_lines),
                    " empty lines; absent ones: ", lsm::ReadableCount(report.absent_duplicates),
                    " duplicates, ", lsm::ReadableCount(report.absent_stored), " that are stored, ",
                    lsm::ReadableCount(report.absent_outside), " outside of the range\n");
  }
  return out;
}

std::string CacheHead(const Results& results, size_t cache) {
  const CacheResult& cached = results.caches[cache];
  return lsm::Concat("=== Block cache ", NameOf(cached.size), ": ", cached.note, "\n");
}

std::string WorkloadText(const Results& results, size_t cache, Workload workload) {
  std::string what = NameOf(workload);
  if (workload == Workload::kMixed) what += Format(" (%g present)", results.config.mix);
  return "Keys: " + what + "\n" + ToText(CellTable(results, cache, workload));
}

std::string AvoidedText(const Results& results) {
  return "Avoided I/O, per cent of the data blocks that the store without filters needs\n" +
         ToText(AvoidedTable(results));
}

}  // namespace

Table FilterTable(const Results& results) {
  Table table{"fpp", "Filters: target, predicted and observed false-positive probability", {}, {}};
  table.columns = {{"filter", "", false},
                   {"target", "target FPP", true},
                   {"predicted", "predicted FPP", true},
                   {"observed", "observed FPP", true},
                   {"95% interval", "95 % interval of the observed FPP", true},
                   {"questions", "filter queries for absent keys", true},
                   {"bits/key", "filter bits per key", true},
                   {"in memory", "filter bytes in memory", true}};
  for (const StoreResult& store : results.stores) {
    if (!HasFilter(store)) continue;
    const lsm::Interval interval = lsm::WilsonInterval(store.false_positives, store.questions);
    table.rows.push_back(
        {store.config.name(), lsm::ReadablePercent(store.config.target_fpp),
         lsm::ReadablePercent(store.shape.total.predicted_fpp),
         lsm::ReadablePercent(store.observed_fpp()),
         lsm::ReadableNumber(100 * interval.low) + " - " + lsm::ReadablePercent(interval.high),
         lsm::ReadableCount(store.questions), Format("%.2f", store.filter_bits_per_key()),
         lsm::ReadableBytes(store.shape.total.filter_bytes)});
  }
  return table;
}

Table ShapeTable(const Results& results) {
  Table table{"stores", "The stores", {}, {}};
  table.columns = {{"filter", "", false},
                   {"tables by level", "tables by level, from level 0", false},
                   {"in files", "bytes of tables", true},
                   {"filters", "filter bytes in memory", true},
                   {"indexes", "index bytes in memory", true},
                   {"loaded in s", "seconds to load", true}};
  for (const StoreResult& store : results.stores) {
    const Counted& total = store.shape.total;
    table.rows.push_back(
        {store.config.name(), LevelsOf(store), lsm::ReadableBytes(total.table_bytes),
         lsm::ReadableBytes(total.filter_bytes), lsm::ReadableBytes(total.index_bytes),
         lsm::ReadableNumber(store.load_seconds)});
  }
  return table;
}

Table AvoidedTable(const Results& results) {
  Table table = Pivot(results, "avoided", "Avoided I/O, per cent",
                      [&](const Cell& cell) { return OrDash(results.AvoidedIo(cell), "%.2f"); });
  if (!table.rows.empty()) table.rows.erase(table.rows.begin());  // the store compared with
  return table;
}

Table BlocksTable(const Results& results) {
  return Pivot(results, "blocks", "Data blocks per lookup",
               [&](const Cell& cell) { return lsm::ReadableNumber(results.ComparedBlocks(cell)); });
}

Table RateTable(const Results& results) {
  return Pivot(results, "rate", "Lookups per second: median of the rounds, and half their range",
               [](const Cell& cell) {
                 const Spread rate = cell.lookups_per_second();
                 return Short(rate.median) + Format(" \u00b1%.0f %%", rate.percent());
               });
}

Table MemoryTable(const Results& results) {
  Table table{"memory", "Filter memory and wasted reads", {}, {}};
  table.columns = {{"filter", "", false},
                   {"bits/key", "filter bits per key", true},
                   {"bytes", "filter bytes in memory", true}};
  for (const Workload workload : results.config.workloads) {
    table.columns.push_back(
        {NameOf(workload), lsm::Concat("wasted reads per lookup, ", NameOf(workload)), true});
  }
  for (size_t i = 0; i < results.stores.size(); ++i) {
    const StoreResult& store = results.stores[i];
    std::vector<std::string> row = {store.config.name(),
                                    Format("%.2f", store.filter_bits_per_key()),
                                    lsm::ReadableCount(store.shape.total.filter_bytes)};
    for (const Workload workload : results.config.workloads) {
      const Cell* cell = results.Find(i, 0, workload);
      row.push_back(cell == nullptr ? "-"
                                    : lsm::ReadableNumber(cell->PerLookup(&Counted::wasted_reads)));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table LatencyTable(const Results& results) {
  Table table{"latency", "Latency, microseconds: medians of the rounds", {}, {}};
  table.columns = {{"cache", "", false},  {"keys", "", false},
                   {"filter", "", false}, {"p50", "", true},
                   {"p95", "", true},     {"p99", "", true},
                   {"p99.9", "", true},   {"timed", "timed lookups, lowest round", true}};
  AddCellRows(results, &table, [](const Cell& cell) {
    std::vector<std::string> figures;
    for (size_t p = 0; p < kPercentiles.size(); ++p) {
      figures.push_back(LatencyOf(cell, p, &lsm::ReadableNumber));
    }
    figures.push_back(lsm::ReadableCount(cell.timed_lookups()));
    return figures;
  });
  return table;
}

Table FullTable(const Results& results) {
  Table table{"all", "All figures", {}, {}};
  table.columns = {{"cache", "", false},
                   {"keys", "", false},
                   {"filter", "", false},
                   {"lookups", "", true},
                   {"lookups/s", "lookups/s, median", true},
                   {"least", "lookups/s, slowest round", true},
                   {"most", "lookups/s, fastest round", true},
                   {"p50", "p50, us", true},
                   {"p95", "p95, us", true},
                   {"p99", "p99, us", true},
                   {"p99.9", "p99.9, us", true},
                   {"touched", "blocks touched per lookup", true},
                   {"read", "blocks read from files per lookup", true},
                   {"bytes", "bytes read from files per lookup", true},
                   {"tables", "tables considered per lookup", true},
                   {"avoided", "reads avoided per lookup", true},
                   {"wasted", "wasted reads per lookup", true},
                   {"useful", "useful reads per lookup", true},
                   {"saved", "avoided I/O, %", true}};
  AddCellRows(results, &table, [&](const Cell& cell) {
    const Spread rate = cell.lookups_per_second();
    std::vector<std::string> figures = {lsm::ReadableCount(cell.lookups()),
                                        Format("%.0f", rate.median), Format("%.0f", rate.min),
                                        Format("%.0f", rate.max)};
    for (size_t p = 0; p < kPercentiles.size(); ++p) {
      figures.push_back(LatencyOf(cell, p, &lsm::ReadableNumber));
    }
    figures.push_back(lsm::ReadableNumber(cell.blocks_touched()));
    figures.push_back(lsm::ReadableNumber(cell.blocks_from_file()));
    figures.push_back(lsm::ReadableNumber(cell.bytes_from_file()));
    for (const auto field : {&Counted::tables_considered, &Counted::reads_avoided,
                             &Counted::wasted_reads, &Counted::useful_reads}) {
      figures.push_back(lsm::ReadableNumber(cell.PerLookup(field)));
    }
    figures.push_back(OrDash(results.AvoidedIo(cell), "%.3f"));
    return figures;
  });
  return table;
}

std::string RenderText(const Results& results) {
  const Config& config = results.config;
  std::string out = "\nread_amp: the effect of filters on point lookups\n\n" + KeysText(results) +
                    "Shape   " + results.shape.Describe("\n        ") + "\n";
  out += lsm::Concat("Rounds  ", config.rounds, ", medians of them; +-% is half their range; ",
                     config.lookups > 0 ? lsm::ReadableCount(config.lookups) + " lookups"
                                        : lsm::ReadableNumber(config.seconds) + " s",
                     " a measurement; seed ", config.seed, "\n");
  out += "\nStores\n" + ToText(ShapeTable(results));
  out += "\nFilters\n" + ToText(FilterTable(results));
  for (size_t cache = 0; cache < results.caches.size(); ++cache) {
    out += "\n" + CacheHead(results, cache);
    for (const Workload workload : config.workloads)
      out += "\n" + WorkloadText(results, cache, workload);
  }
  out += "\nFigures are per lookup.  blocks: data blocks ";
  out += "read from files (cache fits: touched); tables: considered;\n";
  out +=
      "avoided, wasted: reads of tables; saved%: blocks, compared with the store without "
      "filters.\n";
  out += "\nConditions\n" + ConditionsText(results);
  out += "\n" + AvoidedText(results);
  for (const std::string& warning : results.warnings) out += "\n" + Wrapped(warning, "Note:", 6);
  return out;
}

std::string RenderExcerpt(const Results& results) {
  const auto smallest =
      std::max_element(results.caches.begin(), results.caches.end(),
                       [](const CacheResult& a, const CacheResult& b) { return a.size < b.size; });
  if (smallest == results.caches.end()) return "";
  const auto cache = static_cast<size_t>(smallest - results.caches.begin());
  if (results.Find(0, cache, Workload::kAbsent) == nullptr) return "";
  return Fenced(CacheHead(results, cache) + "\n" + WorkloadText(results, cache, Workload::kAbsent) +
                "\n" + AvoidedText(results));
}

}  // namespace bench
