#include "bench/compaction_styles/report.h"

#include <numeric>
#include <utility>
#include <vector>

#include "bench/report/assets.h"
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

// What a goal for its filters makes of the lazily leveled store; empty if there is none.
std::string GoalClause(const StyleResult* lazy) {
  if (lazy == nullptr) return "";
  return lsm::Concat(", or ", Digits3(lazy->absent.PerLookup(&Lookups::blocks)),
                     " where a goal of ", lazy->filter_goal.ToText(),
                     " spreads the filters' memory over its runs");
}

// The figures that most readers come for, in a sentence; empty if one of the two is not there.
std::string Headline(const Results& results) {
  const StyleResult* leveled = Find(results, lsm::CompactionStyle::kLeveled, false);
  const StyleResult* lazy = Find(results, lsm::CompactionStyle::kLazyLeveled, false);
  const StyleResult* lazy_goal = Find(results, lsm::CompactionStyle::kLazyLeveled, true);
  if (leveled == nullptr || lazy == nullptr) return "";
  return lsm::Concat("For a byte of the user's, the lazily leveled store writes ",
                     Digits3(lazy->write_amplification()), " bytes of tables and the leveled one ",
                     Digits3(leveled->write_amplification()), "; a lookup of a present key reads ",
                     Digits3(lazy->present.PerLookup(&Lookups::blocks)), " data blocks against ",
                     Digits3(leveled->present.PerLookup(&Lookups::blocks)),
                     ", one of an absent key ", Digits3(lazy->absent.PerLookup(&Lookups::blocks)),
                     " against ", Digits3(leveled->absent.PerLookup(&Lookups::blocks)),
                     GoalClause(lazy_goal), "; the tables take ", Digits3(results.SpaceMean(*lazy)),
                     " times the bytes that are needed, against ",
                     Digits3(results.SpaceMean(*leveled)), ".");
}

Table ConditionsTable(const Results& results) {
  const Config& config = results.config;
  Conditions pairs = results.conditions;
  pairs.push_back({"Command", config.command});
  pairs.push_back({"Keys", lsm::Concat(Grouped(config.keys), " of 16 bytes, values of ",
                                       config.value_bytes, ", of which a compressor finds half")});
  pairs.push_back(
      {"Overwrites",
       lsm::Concat(Digits3(config.overwrites), " times the keys, at random; flushed every ",
                   Grouped(results.flush_entries), ", each time until no compaction is due")});
  pairs.push_back(
      {"Lookups", lsm::Concat(Grouped(config.lookups), " present and as many absent at ",
                              config.moments, " moments, no block cache")});
  pairs.push_back(
      {"Settings",
       lsm::Concat("a level goes down at ", config.runs, " tables or runs; tables of ",
                   Bytes(results.table_bytes), ", level 1 of ", Bytes(results.level1_bytes),
                   "; filters ", config.filter_kind, " at ", Digits3(config.target_fpp))});
  if (!results.styles.empty() && !results.styles.back().filter_goal.is_none())
    pairs.push_back({"Filter goal", results.styles.back().filter_goal.ToText()});
  pairs.push_back({"Where", config.on_disk ? "on disk" : "in memory"});
  pairs.push_back({"Tables without old versions", Bytes(results.compacted_bytes)});
  pairs.push_back({"Seed", std::to_string(config.seed)});
  pairs.push_back({"Took", Digits3(results.seconds) + " s"});
  return PairsTable("conditions", "Conditions", pairs);
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

}  // namespace

Table AmplificationTable(const Results& results) {
  Table table{"amplification",
              "What each style writes, reads and takes",
              {{"style", "", false},
               {"filters", "", false},
               {"write", "bytes of tables written for a byte of the user's"},
               {"+ log", "the same with the log"},
               {"filters +", "filters asked, present key"},
               {"blocks +", "data blocks read, present key"},
               {"filters -", "filters asked, absent key"},
               {"blocks -", "data blocks read, absent key"},
               {"space", "bytes of tables for a byte without old versions, mean"},
               {"most", "the same, most"},
               {"runs", "runs, mean"},
               {"b/key", "filter bits a key"},
               {"s", "seconds of flushes and compactions"}},
              {}};
  for (const StyleResult& style : results.styles) {
    table.rows.push_back(
        {NameOf(style.style), style.filters(), Digits3(style.write_amplification()),
         Digits3(style.write_amplification_with_log()),
         Digits3(style.present.PerLookup(&Lookups::filters_asked)),
         Digits3(style.present.PerLookup(&Lookups::blocks)),
         Digits3(style.absent.PerLookup(&Lookups::filters_asked)),
         Digits3(style.absent.PerLookup(&Lookups::blocks)), Digits3(results.SpaceMean(style)),
         Digits3(results.SpaceMost(style)), Digits3(MeanRuns(style)),
         Digits3(style.filter_bits_per_key()), Digits3(style.seconds)});
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
               {"b/key", "filter bits a key"}},
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
                            Grouped(level.runs), Grouped(level.tables), Bytes(level.table_bytes),
                            Short(static_cast<double>(level.keys)), Digits3(bits)});
    }
  }
  return table;
}

std::string ToText(const Results& results) {
  std::string text;
  for (const Table& table :
       {ConditionsTable(results), ShapeTable(results), AmplificationTable(results)})
    text += table.title + "\n" + ToText(table) + "\n";
  const std::string headline = Headline(results);
  return headline.empty() ? text : text + headline + "\n";
}

Json ToJson(const Results& results) {
  const Config& config = results.config;
  Json json = {{"benchmark", "compaction_styles"},
               {"schema", 1},
               {"settings",
                {{"keys", config.keys},
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
                 {"seed", config.seed}}},
               {"compacted_bytes", results.compacted_bytes},
               {"styles", Json::array()}};
  for (const StyleResult& style : results.styles)
    json["styles"].push_back(StyleJson(results, style));
  json["conditions"] = Json::object();
  for (const auto& [name, value] : results.conditions) json["conditions"][name] = value;
  json["command"] = config.command;
  json["seconds"] = results.seconds;
  return json;
}

Page ReportPage(const Results& results, std::string chart_js) {
  Page page;
  page.title = "Trellis compaction_styles: what each style writes, reads and takes";
  page.lead.push_back(lsm::Concat(
      "The same random overwrites to two stores of each style of compaction, at the same settings: "
      "one with the same target FPP for all filters, and one with a goal for all of them together. "
      "Every answer was checked; all figures but the seconds repeat with the seed."));
  const std::string headline = Headline(results);
  if (!headline.empty()) page.lead.push_back(headline);
  page.sections = {
      {"Amplification",
       "Write: bytes of tables written for a byte of keys and values. Read: filters asked and data "
       "blocks read for a lookup, means over moments between the writes. Space: bytes of tables "
       "for a byte of tables without old versions.",
       "amplification",
       {AmplificationTable(results)}},
      {"The stores at the end", "", "", {ShapeTable(results)}},
      {"Conditions", "", "", {ConditionsTable(results)}}};
  page.data_name = "compaction_styles";
  page.data = ToJson(results);
  page.script = kCompactionStylesJs;
  page.chart_js = std::move(chart_js);
  return page;
}

absl::Status WriteReports(const Results& results) {
  return WriteReport(ReportPage(results, ""), results.config.out, results.config.chart_js);
}

}  // namespace bench::styles
