#include "bench/level_filters/report.h"

#include <utility>

#include "bench/level_filters/experiment.h"
#include "bench/report/assets.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::level_filters {
namespace {

Table RunTable(const Results& results) {
  Conditions details = {{"Stores", results.shape.Describe(" ")}};
  for (const StoreResult& store : results.stores)
    details.emplace_back(store.config.name, store.config.how);
  return ConditionsTable(results.conditions, details, results.config, results.seconds);
}

Page PageOf(const Results& results) {
  Page page;
  page.title = "Trellis level_filters: filter memory where it saves the most reads";
  page.lead.push_back(lsm::Concat(
      lsm::ReadableCount(results.config.keys),
      " keys in four levels, written to every store in the same order; ",
      lsm::ReadableNumber(results.config.bits_per_key),
      " bits per key for filters, except in the store whose goal is the first one's waste.  Every "
      "answer was checked."));
  page.sections = {
      {"Wasted reads",
       "Tables that a lookup reads although they do not hold its key, for two kinds of keys: "
       "absent keys, and keys in the deepest level, for which the levels above are asked first.",
       "wasted",
       {StoresTable(results)}},
      {"Filters by level",
       "Small levels get low FPPs, which cost little there. So the sum over the levels is the "
       "smallest that the memory can buy.",
       "levels",
       {LevelsTable(results)}},
      {"Skewed lookups",
       "Lookups of absent keys that prefer some key ranges, while evenly spread writes go on. One "
       "store counts its lookups and sizes new filters accordingly; the other one forgets its "
       "counts. The figures are wasted reads. Half-way the ranges change.",
       "skew",
       {SkewTable(results), RoundsTable(results)}},
      {"Conditions", "", "", {RunTable(results)}},
  };
  page.data_name = "level_filters";
  page.data = ToJson(results);
  page.script = kLevelFiltersJs;
  return page;
}

}  // namespace

Report ReportOf(const Results& results) {
  Report report;
  report.text = ToMarkdown(results) + "\n" +
                TextOf({StoresTable(results), LevelsTable(results), SkewTable(results),
                        RoundsTable(results), RunTable(results)});
  report.page = PageOf(results);
  report.excerpts = {{"levels", "\n" + ToMarkdown(results)}};
  for (const StoreResult& store : results.stores)
    report.stores.push_back(results.config.out + "/stores/" + store.config.name);
  report.interrupted = results.interrupted;
  return report;
}

absl::StatusOr<Report> Run(const Config& config) {
  TRELLIS_ASSIGN_OR_RETURN(const Results results, Measure(config));
  return ReportOf(results);
}

}  // namespace bench::level_filters
