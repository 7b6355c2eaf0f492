#include "bench/compaction_styles/report.h"

#include <numeric>
#include <utility>
#include <vector>

#include "bench/report/assets.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::styles {
namespace {

using Json = nlohmann::ordered_json;

double MeanRuns(const StyleResult& style) {
  if (style.runs.empty()) return 0;
  const auto sum =
      static_cast<double>(std::accumulate(style.runs.begin(), style.runs.end(), uint64_t{0}));
  return sum / static_cast<double>(style.runs.size());
}

const StyleResult* Find(const Results& results, lsm::CompactionStyle style, bool with_goal) {
  for (const StyleResult& each : results.styles) {
    if (each.style == style && each.filter_goal.is_none() != with_goal) return &each;
  }
  return nullptr;
}

// How a filter goal changes the lazily leveled store; empty without one.
std::string GoalClause(const StyleResult* lazy) {
  if (lazy == nullptr) return "";
  return lsm::Concat(", or ", lsm::ReadableNumber(lazy->absent.PerLookup(&Lookups::blocks)),
                     " where a goal of ", lazy->filter_goal.ToText(),
                     " spreads its filter memory over its runs");
}

// The most important figures in a sentence; empty if one of the two styles is missing.
std::string Headline(const Results& results) {
  const StyleResult* leveled = Find(results, lsm::CompactionStyle::kLeveled, false);
  const StyleResult* lazy = Find(results, lsm::CompactionStyle::kLazyLeveled, false);
  const StyleResult* lazy_goal = Find(results, lsm::CompactionStyle::kLazyLeveled, true);
  if (leveled == nullptr || lazy == nullptr) return "";
  return lsm::Concat(
      "Per user byte the lazily leveled store writes ",
      lsm::ReadableNumber(lazy->write_amplification()), " table bytes, the leveled one ",
      lsm::ReadableNumber(leveled->write_amplification()), "; a lookup of a present key reads ",
      lsm::ReadableNumber(lazy->present.PerLookup(&Lookups::blocks)), " data blocks instead of ",
      lsm::ReadableNumber(leveled->present.PerLookup(&Lookups::blocks)),
      ", a lookup of an absent key ", lsm::ReadableNumber(lazy->absent.PerLookup(&Lookups::blocks)),
      " instead of ", lsm::ReadableNumber(leveled->absent.PerLookup(&Lookups::blocks)),
      GoalClause(lazy_goal), "; its tables take ", lsm::ReadableNumber(results.SpaceMean(*lazy)),
      " times the bytes without old versions, instead of ",
      lsm::ReadableNumber(results.SpaceMean(*leveled)), ".");
}

Table RunTable(const Results& results) {
  const Config& config = results.config;
  Conditions pairs;
  pairs.push_back({"Keys", lsm::Concat(lsm::ReadableCount(config.keys), " of 16 bytes, values of ",
                                       config.value_bytes, ", half compressible")});
  pairs.push_back({"Overwrites", lsm::Concat(lsm::ReadableNumber(config.overwrites),
                                             " times the keys, at random; flushed every ",
                                             lsm::ReadableCount(results.flush_entries),
                                             ", each time followed by all due compactions")});
  pairs.push_back({"Lookups", lsm::Concat(lsm::ReadableCount(config.lookups),
                                          " present and as many absent keys at ", config.moments,
                                          " moments, no block cache")});
  pairs.push_back(
      {"Settings",
       lsm::Concat("a level is compacted into the next at ", config.runs,
                   " tables or runs; tables of ", lsm::ReadableBytes(results.table_bytes),
                   ", level 1 of ", lsm::ReadableBytes(results.level1_bytes), "; filters ",
                   config.filter_kind, " at ", lsm::ReadableNumber(config.target_fpp))});
  if (!results.styles.empty() && !results.styles.back().filter_goal.is_none())
    pairs.push_back({"Filter goal", results.styles.back().filter_goal.ToText()});
  pairs.push_back({"Where", config.on_disk ? "on disk" : "in memory"});
  pairs.push_back({"Tables without old versions", lsm::ReadableBytes(results.compacted_bytes)});
  return ConditionsTable(results.conditions, pairs, config, results.seconds);
}

Json JsonOf(const Lookups& lookups) {
  return {{"lookups", lookups.count},
          {"filters_asked", lookups.PerLookup(&Lookups::filters_asked)},
          {"blocks", lookups.PerLookup(&Lookups::blocks)},
          {"wasted_reads", lookups.PerLookup(&Lookups::wasted_reads)}};
}

Json LevelsJson(const StyleResult& style) {
  Json levels = Json::array();
  for (const lsm::LevelStatistics& level : style.last.levels) {
    levels.push_back({{"runs", level.runs},
                      {"tables", level.tables},
                      {"table_bytes", level.table_bytes},
                      {"keys", level.keys},
                      {"filter_bytes", level.filter_bytes}});
  }
  return levels;
}

Json StyleJson(const Results& results, const StyleResult& style) {
  return {{"style", NameOf(style.style)},
          {"filters", style.filters()},
          {"filter_goal", style.filter_goal.ToText()},
          {"write_amplification", style.write_amplification()},
          {"write_amplification_with_log", style.write_amplification_with_log()},
          {"user_bytes", style.user_bytes},
          {"flush_bytes", style.flush_bytes},
          {"compaction_bytes", style.compaction_bytes},
          {"log_bytes", style.log_bytes},
          {"compactions", style.compactions},
          {"moves", style.moves},
          {"seconds", style.seconds},
          {"present", JsonOf(style.present)},
          {"absent", JsonOf(style.absent)},
          {"space_amplification", results.SpaceMean(style)},
          {"space_amplification_most", results.SpaceMost(style)},
          {"runs", MeanRuns(style)},
          {"filter_bits_per_key", style.filter_bits_per_key()},
          {"table_bytes_at_moments", style.table_bytes},
          {"runs_at_moments", style.runs},
          {"levels_at_the_end", LevelsJson(style)}};
}

Page PageOf(const Results& results) {
  Page page;
  page.title = "Trellis compaction_styles: write, read and space costs of each style";
  page.lead.push_back(lsm::Concat(
      "The same random overwrites to two stores of each compaction style with the same settings: "
      "one with the same target FPP for all filters, one with a goal for all filters together. "
      "Every answer was checked. All figures but the seconds repeat with the seed."));
  const std::string headline = Headline(results);
  if (!headline.empty()) page.lead.push_back(headline);
  page.sections = {{"Amplification",
                    "Write: table bytes written per byte of keys and values. Read: filters asked "
                    "and data blocks read per lookup, means over moments between the writes. "
                    "Space: table bytes per byte of tables without old versions.",
                    "amplification",
                    {AmplificationTable(results)}},
                   {"The stores at the end", "", "", {ShapeTable(results)}},
                   {"Conditions", "", "", {RunTable(results)}}};
  page.data_name = "compaction_styles";
  page.data = ToJson(results);
  page.script = kCompactionStylesJs;
  return page;
}

}  // namespace

Table AmplificationTable(const Results& results) {
  Table table{"amplification",
              "Costs of each style",
              {{"style", "", false},
               {"filters", "", false},
               {"write", "table bytes written per user byte"},
               {"+ log", "the same with the log"},
               {"filters +", "filters asked, present key"},
               {"blocks +", "data blocks read, present key"},
               {"filters -", "filters asked, absent key"},
               {"blocks -", "data blocks read, absent key"},
               {"space", "table bytes per byte without old versions, mean"},
               {"most", "the same, most"},
               {"runs", "runs, mean"},
               {"b/key", "filter bits per key"},
               {"s", "seconds of flushes and compactions"}},
              {}};
  for (const StyleResult& style : results.styles) {
    table.rows.push_back(
        {NameOf(style.style), style.filters(), lsm::ReadableNumber(style.write_amplification()),
         lsm::ReadableNumber(style.write_amplification_with_log()),
         lsm::ReadableNumber(style.present.PerLookup(&Lookups::filters_asked)),
         lsm::ReadableNumber(style.present.PerLookup(&Lookups::blocks)),
         lsm::ReadableNumber(style.absent.PerLookup(&Lookups::filters_asked)),
         lsm::ReadableNumber(style.absent.PerLookup(&Lookups::blocks)),
         lsm::ReadableNumber(results.SpaceMean(style)),
         lsm::ReadableNumber(results.SpaceMost(style)), lsm::ReadableNumber(MeanRuns(style)),
         lsm::ReadableNumber(style.filter_bits_per_key()), lsm::ReadableNumber(style.seconds)});
  }
  return table;
}

Table ShapeTable(const Results& results) {
  Table table{"shape",
              "The stores at the end",
              {{"style", "", false},
               {"filters", "", false},
               {"level", ""},
               {"runs", ""},
               {"tables", ""},
               {"size", ""},
               {"keys", ""},
               {"b/key", "filter bits per key"}},
              {}};
  for (const StyleResult& style : results.styles) {
    if (!table.rows.empty()) table.rows.emplace_back();
    for (size_t i = 0; i < style.last.levels.size(); ++i) {
      const lsm::LevelStatistics& level = style.last.levels[i];
      if (level.tables == 0) continue;
      const double bits = level.keys == 0 ? 0
                                          : 8 * static_cast<double>(level.filter_bytes) /
                                                static_cast<double>(level.keys);
      table.rows.push_back({NameOf(style.style), style.filters(), std::to_string(i),
                            lsm::ReadableCount(level.runs), lsm::ReadableCount(level.tables),
                            lsm::ReadableBytes(level.table_bytes),
                            Short(static_cast<double>(level.keys)), lsm::ReadableNumber(bits)});
    }
  }
  return table;
}

std::string ToText(const Results& results) {
  return TextOf({RunTable(results), ShapeTable(results), AmplificationTable(results)}) +
         Headline(results);
}

Json ToJson(const Results& results) {
  const Config& config = results.config;
  Json json = ReportJson("compaction_styles", 1, config, results.conditions, results.seconds);
  json["settings"] = {{"keys", config.keys},
                      {"value_bytes", config.value_bytes},
                      {"runs", config.runs},
                      {"flush_entries", results.flush_entries},
                      {"table_bytes", results.table_bytes},
                      {"level1_bytes", results.level1_bytes},
                      {"filter_kind", config.filter_kind},
                      {"target_fpp", config.target_fpp},
                      {"goal_bits", config.goal_bits},
                      {"overwrites", config.overwrites},
                      {"moments", config.moments},
                      {"lookups", config.lookups},
                      {"seed", config.seed}};
  json["compacted_bytes"] = results.compacted_bytes;
  json["styles"] = Json::array();
  for (const StyleResult& style : results.styles)
    json["styles"].push_back(StyleJson(results, style));
  return json;
}

Report ReportOf(const Results& results) {
  Report report;
  report.text = ToText(results);
  report.page = PageOf(results);
  report.excerpts = {{"styles", Fenced(ToText(AmplificationTable(results)))}};
  if (results.config.on_disk) {
    for (const StyleResult& style : results.styles)
      report.stores.push_back(results.config.out + "/stores/" + style.name());
  }
  report.interrupted = results.interrupted;
  return report;
}

absl::StatusOr<Report> Run(const Config& config) {
  TRELLIS_ASSIGN_OR_RETURN(const Results results, CompareStyles(config));
  return ReportOf(results);
}

}  // namespace bench::styles
