#include "bench/peers/report.h"

#include <utility>
#include <vector>

#include "bench/report/assets.h"
#include "lsm/bytes/status.h"

namespace bench::peers {
namespace {

std::vector<Section> Sections(const Results& results) {
  std::vector<Section> sections;
  const auto add = [&](std::string title, std::string text, std::string plot,
                       std::vector<Table> tables) {
    std::erase_if(tables, [](const Table& table) { return table.rows.empty(); });
    if (!tables.empty())
      sections.push_back({std::move(title), std::move(text), std::move(plot), std::move(tables)});
  };
  add("Goals",
      "The first store's time divided by the best other store's in the same round. Cells that miss "
      "their goal by most come first.",
      "goals", {GoalsTable(results)});
  std::vector<Table> times;
  for (const Place& place : PlacesOf(results))
    times.push_back(TimesTable(results, place.size, place.state, place.cache));
  add("Times",
      "Microseconds per operation of one thread, or of two together; for a scan, per entry. Until "
      "quiet: until no background work was running or due.",
      "times", std::move(times));
  add("Reads",
      "Per operation, for caches that do not hold everything: data blocks read from files, and "
      "bytes from devices.",
      "reads", {ReadsTable(results)});
  add("Filters",
      "Filter memory of the fresh stores, and the reads that it saves. The variant has as much "
      "memory as RocksDB, spread over its levels.",
      "", {FiltersTable(results)});
  add("Openings",
      "A store of about a thousand tables in one run, with its files in the page cache or (cold) "
      "not. LevelDB opens tables when they are first read.",
      "openings", {OpeningsTable(results)});
  add("Deletes",
      "What deletes cost, and what they leave. The store is idle after deletes of everything; a "
      "dash means that it did not get that far.",
      "", {DeletionsTable(results)});
  add("Stalls", "Latency of single puts under full load: each follows the previous one at once.",
      "latency", {LatencyTable(results)});
  add("Two threads", "Operations per second of two threads, divided by those of one.", "",
      {ThreadsTable(results)});
  add("The stores", "", "", {ShapesTable(results)});
  add("Conditions", "", "", {ConditionsTable(results)});
  return sections;
}

Page PageOf(const Results& results) {
  Page page;
  page.title = "Trellis peers_bench: the same work on several stores";
  std::string names;
  for (const auto& [name, details] : results.stores) names += (names.empty() ? "" : ", ") + name;
  page.lead.push_back(
      lsm::Concat(names, ": medians of ", results.rounds,
                  results.rounds == 1 ? " round" : " rounds; the stores took turns in each",
                  ". Every answer was checked."));
  page.sections = Sections(results);
  page.data_name = "peers";
  page.data = ToJson(results);
  page.script = kPeersJs;
  return page;
}

// The excerpts for bench/README.md.
std::string ExcerptOf(const Results& results) {
  return Fenced(TextOf({GoalsTable(results)}) +
                ToRows(RowsNamed(ConditionsTable(results), {"CPU", "Took"})));
}
std::string ExcerptOfDeletes(const Results& results) {
  return Fenced(ToText(DeletionsTable(results, /*goals_only=*/true)) + "\n" +
                ToRows(RowsNamed(ConditionsTable(results), {"CPU"})));
}

}  // namespace

Report ReportOf(const Results& results) {
  Report report;
  report.text = ToText(results);
  report.page = PageOf(results);
  report.excerpts = {{"peers", ExcerptOf(results)},
                     {"deletes", ExcerptOfDeletes(results)},
                     {"goals", Fenced(ToText(GoalsTable(results)))}};  // for README.md
  report.interrupted = results.interrupted;
  return report;
}

}  // namespace bench::peers
