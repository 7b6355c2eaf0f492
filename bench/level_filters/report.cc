#include "bench/level_filters/report.h"

#include <utility>

#include "bench/report/assets.h"
#include "lsm/bytes/status.h"

namespace bench::level_filters {
namespace {

Table ConditionsTable(const Results& results) {
  Conditions pairs = {{"command", results.config.command}, {"stores", results.shape.Describe(" ")}};
  for (const StoreResult& store : results.stores)
    pairs.emplace_back(store.config.name, store.config.how);
  pairs.insert(pairs.end(), results.conditions.begin(), results.conditions.end());
  return PairsTable("conditions", "Conditions", pairs);
}

}  // namespace

Page ReportPage(const Results& results, std::string chart_js) {
  Page page;
  page.title = "Trellis level_filters: filter memory where it spares the most reads";
  page.lead.push_back(lsm::Concat(
      Grouped(results.config.keys), " keys of four levels, written alike into every store; ",
      Digits3(results.config.bits_per_key),
      " bits a key for filters, but for the store whose goal is the first one's waste.  Every "
      "answer was checked."));
  page.sections = {
      {"Wasted reads",
       "Tables that a lookup reads although they do not have its key: of keys that are not there, "
       "and of keys that the deepest level holds, which the levels above are asked for first.",
       "wasted",
       {StoresTable(results)}},
      {"What the levels got",
       "Small levels get low FPPs, which cost little there, so that the sum over the levels is the "
       "least that the memory buys.",
       "levels",
       {LevelsTable(results)}},
      {"Where lookups ask",
       "Keys that are not there, asked for in some ranges of keys more than in others, while the "
       "store goes on being written, everywhere alike: wasted reads of a store that counts them "
       "and "
       "gives what it writes its filters by that, and of one that forgets.  At half-time the "
       "ranges "
       "change.",
       "skew",
       {SkewTable(results), RoundsTable(results)}},
      {"Conditions", "", "", {ConditionsTable(results)}},
  };
  page.data_name = "level_filters";
  page.data = ToJson(results);
  page.script = kLevelFiltersJs;
  page.chart_js = std::move(chart_js);
  return page;
}

absl::Status WriteReports(const Results& results) {
  return WriteReport(ReportPage(results, ""), results.config.out, results.config.chart_js);
}

}  // namespace bench::level_filters
