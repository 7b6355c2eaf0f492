#include "bench/read_amp/report.h"

#include <cstdio>
#include <utility>

#include "bench/read_amp/experiment.h"
#include "bench/read_amp/tables.h"
#include "bench/report/assets.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

// The cell for the headline: absent keys with the smallest measured cache.  Its store has the
// default target and the kind of the upper levels if such a store was measured; otherwise it is the
// last one.
const Cell* HeadlineCell(const Results& results) {
  const lsm::Options defaults;
  const auto is_default = [&](const Cell* cell) {
    if (cell == nullptr) return false;
    const StoreConfig& store = results.stores[cell->store].config;
    return store.filter_kind == "blocked" && store.target_fpp == defaults.target_fpp;
  };
  const Cell* chosen = nullptr;
  for (const Cell& cell : results.cells) {
    if (cell.workload != Workload::kAbsent || cell.store == 0) continue;
    // CacheSize is ordered from the largest to none.
    const CacheSize size = results.caches[cell.cache].size;
    const CacheSize least = chosen == nullptr ? size : results.caches[chosen->cache].size;
    if (size < least || (size == least && is_default(chosen))) continue;
    chosen = &cell;
  }
  return chosen;
}

// The most important figures in a sentence.
std::string Headline(const Results& results) {
  const Cell* cell = HeadlineCell(results);
  if (cell == nullptr || !results.AvoidedIo(*cell).has_value()) return "";
  const Cell& without = *results.Find(0, cell->cache, cell->workload);
  const StoreResult& store = results.stores[cell->store];
  char saved[32];
  std::snprintf(saved, sizeof saved, "%.2f %%", *results.AvoidedIo(*cell));
  const CacheSize cache = results.caches[cell->cache].size;
  // With everything cached nothing is read, so no I/O is avoided either.
  const bool all_cached = cache == CacheSize::kFits;
  return lsm::Concat(
      "A lookup of an absent key ", all_cached ? "looks into " : "reads ",
      lsm::ReadableNumber(results.ComparedBlocks(without)), " data blocks without filters and ",
      lsm::ReadableNumber(results.ComparedBlocks(*cell)), " with ", store.config.name(), ": ",
      saved, all_cached ? " fewer" : " of the I/O is avoided", ", for ",
      lsm::ReadableNumber(store.filter_bits_per_key()),
      " bits per key (block cache: ", all_cached ? "everything fits" : NameOf(cache), ").");
}

Table RunTable(const Results& results) {
  const KeyReport& report = results.key_report;
  Conditions pairs;
  pairs.push_back({"Stored keys", lsm::ReadableCount(results.stored_keys) + ", " + report.source});
  pairs.push_back(
      {"Absent keys", lsm::ReadableCount(results.absent_keys) + ", " + report.absent_source});
  pairs.push_back(
      {"Left out of the keys", lsm::Concat(report.duplicates, " duplicates, ", report.empty_lines,
                                           " empty lines; absent: ", report.absent_duplicates,
                                           " duplicates, ", report.absent_stored, " stored, ",
                                           report.absent_outside, " outside of the stored range")});
  pairs.push_back({"Values", lsm::Concat(results.config.value_bytes,
                                         " bytes each, half of them compressible")});
  pairs.push_back({"Keys and values", lsm::ReadableBytes(results.user_bytes)});
  pairs.push_back({"Shape", results.shape.Describe(" ")});
  for (const CacheResult& cache : results.caches) {
    pairs.push_back({std::string("Cache ") + NameOf(cache.size), cache.note});
  }
  pairs.push_back({"Rounds", std::to_string(results.config.rounds)});
  return ConditionsTable(results.conditions, pairs, results.config, results.seconds);
}

std::string FppText() {
  return lsm::Concat("Stored and absent keys were looked up once (up to ",
                     lsm::ReadableCount(kCheckedKeysMax),
                     " of each). Every query to a filter for a key that its table does not hold "
                     "counts. The bars are Wilson's 95 % intervals for the filters of this run; "
                     "other seeds give filters with slightly higher or lower rates. Filters "
                     "predict their FPP from their layout and their actual number of keys.");
}

std::vector<Section> Sections(const Results& results) {
  return {
      {"Avoided I/O",
       "The share of data blocks avoided, in per cent of those that the store without filters "
       "needs for the same lookups with the same cache. If everything fits into the cache, blocks "
       "touched count instead of blocks read.",
       "avoided",
       {AvoidedTable(results)}},
      {"Data blocks per lookup",
       "Data blocks read from files per lookup; blocks touched if everything fits into the cache.",
       "blocks",
       {BlocksTable(results)}},
      {"Latency",
       "Percentiles of single lookups, as medians of the rounds. With a cache that does not hold "
       "everything, the line of absent keys steps up at the share of lookups that read blocks. Any "
       "line also steps up where the process lost the processor.",
       "latency",
       {LatencyTable(results)}},
      {"False positives", FppText(), "fpp", {FilterTable(results)}},
      {"Throughput",
       "Lookups per second of one thread. If everything fits into the cache, they cost only "
       "processor time.",
       "rate",
       {RateTable(results)}},
      {"Filter memory and wasted reads",
       "Reads of tables that did not hold the key, by filter memory.",
       "memory",
       {MemoryTable(results)}},
      {"The stores",
       "All stores hold the same keys, written in the same order. Except for a table or two, they "
       "differ only in their filters.",
       "",
       {ShapeTable(results)}},
      {"All figures", "bench/README.md explains every column.", "", {FullTable(results)}},
      {"Conditions", "", "", {RunTable(results)}},
  };
}

Page PageOf(const Results& results) {
  Page page;
  page.title = "Trellis read_amp: the effect of filters on point lookups";
  page.lead.push_back(
      lsm::Concat(lsm::ReadableCount(results.stored_keys), " stored keys (",
                  results.key_report.source, "), ", lsm::ReadableCount(results.absent_keys),
                  " absent ones within their range (", results.key_report.absent_source, ")."));
  const std::string headline = Headline(results);
  if (!headline.empty()) page.lead.push_back(headline);
  page.warnings = results.warnings;
  page.sections = Sections(results);
  page.data_name = "read_amp";
  page.data = ToJson(results);
  page.script = kReadAmpJs;
  return page;
}

}  // namespace

Report ReportOf(const Results& results) {
  Report report;
  report.text = RenderText(results);
  report.page = PageOf(results);
  const std::string excerpt = RenderExcerpt(results);
  if (!excerpt.empty()) report.excerpts = {{"demo", excerpt}};
  for (const StoreResult& store : results.stores)
    report.stores.push_back(results.config.out + "/stores/" + store.config.name());
  report.interrupted = results.interrupted;
  return report;
}

absl::StatusOr<Report> Run(const Config& config) {
  TRELLIS_ASSIGN_OR_RETURN(KeySet keys, MakeKeySet(config));
  TRELLIS_ASSIGN_OR_RETURN(const Results results, Experiment(config, std::move(keys)).Run());
  return ReportOf(results);
}

}  // namespace bench
