#include "bench/scale/report.h"

#include <cmath>
#include <utility>

#include "bench/count.h"
#include "bench/report/assets.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench::scale {
namespace {

using Json = nlohmann::ordered_json;

const char* const kNone = "-";

std::string PerCent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.0f", 100 * share);
  return text;
}

// "1G", "10G".
std::string PaperName(double keys) { return lsm::Concat(std::llround(keys / 1e9), "G"); }

const Curve* Find(const std::vector<Curve>& curves, const std::string& id) {
  for (const Curve& curve : curves) {
    if (curve.id == id) return &curve;
  }
  return nullptr;
}

// From the smallest to the largest size, if both were measured.
std::string GrowthOf(const std::vector<Curve>& curves, const std::string& id) {
  const Curve* curve = Find(curves, id);
  if (curve == nullptr || !curve->measured.front() || !curve->measured.back()) return "";
  return lsm::Concat("from ", lsm::ReadableNumber(*curve->measured.front()), " to ",
                     lsm::ReadableNumber(*curve->measured.back()));
}

// The most important figures in a sentence; empty with a single size.
std::string Headline(const Results& results, const std::vector<Curve>& curves) {
  if (results.points.size() < 2) return "";
  const uint64_t first = results.points.front().keys, last = results.points.back().keys;
  std::string text =
      lsm::Concat("From ", ShortCount(first), " to ", ShortCount(last), " keys, ",
                  lsm::ReadableNumber(static_cast<double>(last) / static_cast<double>(first)),
                  " times as many");
  const auto add = [&](const char* what, const char* id, const char* unit) {
    const std::string growth = GrowthOf(curves, id);
    if (!growth.empty()) text += lsm::Concat("; ", what, " ", growth, unit);
  };
  add("a lookup of an absent key goes", "get_absent_tenth_us", " us");
  add("a lookup of a present key", "get_present_tenth_us", " us, with a tenth of the data cached");
  add("wasted reads go", "wasted_reads", " per absent key");
  add("filter memory goes", "filter_bits", " bits per key");
  add("an opening goes", "open_ms", " ms");
  add("write amplification goes", "write_amplification", "");
  return text + ".";
}

Table RunTable(const Results& results) {
  const Config& config = results.config;
  const Design design = DesignOf(results);
  Conditions pairs;
  pairs.push_back({"Keys", lsm::Concat("of 16 bytes, in random order, each once; values of ",
                                       config.value_bytes, ", half compressible")});
  pairs.push_back(
      {"Options", lsm::Concat("write buffer ", lsm::ReadableBytes(config.write_buffer_bytes),
                              ", level 1 ", lsm::ReadableBytes(config.level1_bytes), ", tables ",
                              lsm::ReadableBytes(config.table_bytes), ", target FPP ",
                              lsm::ReadableNumber(config.target_fpp), ", all else default")});
  pairs.push_back(
      {"Lookups", lsm::Concat("uniformly random, one thread, ", lsm::ReadableNumber(config.seconds),
                              " s each; medians of groups of ", kGroup)});
  pairs.push_back(
      {"Openings", lsm::Concat(config.openings, " of each kind, read and write; medians")});
  pairs.push_back(
      {"Parameters of the laws",
       lsm::Concat("e = ", lsm::ReadableNumber(design.key_bytes),
                   " and u = ", lsm::ReadableNumber(design.user_key_bytes), " bytes per key, f = ",
                   lsm::ReadableBytes(static_cast<uint64_t>(design.flush_bytes)), ", filters of ",
                   lsm::ReadableNumber(design.upper_bits), " (blocked) and ",
                   lsm::ReadableNumber(design.lower_bits), " (ribbon) bits, C = ",
                   lsm::ReadableBytes(static_cast<uint64_t>(design.cpu_cache_bytes)))});
  return ConditionsTable(results.conditions, pairs, config, results.seconds);
}

Table CacheTable(const Results& results) {
  Table table{"cached",
              "Caches during the lookups",
              {{"keys", "", true},
               {"state", "", false},
               {"block cache", "capacity in bytes", true},
               {"used", "bytes in use", true},
               {"blocks +", "data blocks read from files, present key", true},
               {"device +", "bytes from devices, present key", true},
               {"filters +", "filters asked, present key", true},
               {"min +", "us, least group, present key", true},
               {"max +", "us, largest group, present key", true}},
              {}};
  for (const Point& point : results.points) {
    const auto add = [&](const char* state, const Cached& cached) {
      table.rows.push_back({ShortCount(point.keys), state,
                            lsm::ReadableBytes(cached.capacity_bytes),
                            lsm::ReadableBytes(cached.used_bytes),
                            lsm::ReadableNumber(cached.present.blocks_from_file),
                            lsm::ReadableNumber(cached.present.device_bytes),
                            lsm::ReadableNumber(cached.present.runs_asked),
                            lsm::ReadableNumber(cached.present.micros.min),
                            lsm::ReadableNumber(cached.present.micros.max)});
    };
    if (point.all) {
      add("all", *point.all);
    } else {
      table.rows.push_back({ShortCount(point.keys), "all", "no room in memory", kNone, kNone, kNone,
                            kNone, kNone, kNone});
    }
    add("tenth", point.tenth);
  }
  return table;
}

Json JsonOf(const Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

Json JsonOf(const Lookups& lookups) {
  return {{"us", JsonOf(lookups.micros)},
          {"lookups", lookups.count},
          {"runs_asked", lookups.runs_asked},
          {"wasted_reads", lookups.wasted_reads},
          {"blocks_from_file", lookups.blocks_from_file},
          {"device_bytes", lookups.device_bytes}};
}

Json JsonOf(const Cached& cached) {
  return {{"cache_bytes", cached.capacity_bytes},
          {"used_bytes", cached.used_bytes},
          {"absent", JsonOf(cached.absent)},
          {"present", JsonOf(cached.present)}};
}

Json JsonOf(const Openings& openings) {
  return {{"ms", JsonOf(openings.millis)},
          {"read_bytes", openings.read_bytes},
          {"device_bytes", openings.device_bytes}};
}

Json PointJson(const Point& point) {
  Json levels = Json::array();
  for (size_t i = 0; i < point.shape.levels.size(); ++i) {
    const lsm::LevelStatistics& level = point.shape.levels[i];
    if (level.tables == 0) continue;
    levels.push_back({{"level", i},
                      {"runs", level.runs},
                      {"tables", level.tables},
                      {"table_bytes", level.table_bytes},
                      {"keys", level.keys},
                      {"filter_bytes", level.filter_bytes},
                      {"index_bytes", level.index_bytes}});
  }
  return {{"keys", point.keys},
          {"fill_seconds", point.fill_seconds},
          {"user_bytes", point.user_bytes},
          {"log_bytes", point.log_bytes},
          {"flush_bytes", point.flush_bytes},
          {"compaction_bytes", point.compaction_bytes},
          {"flushes", point.flushes},
          {"compactions", point.compactions},
          {"moves", point.moves},
          {"stored_bytes", point.stored_bytes},
          {"levels", std::move(levels)},
          {"opening", JsonOf(point.warm_opening)},
          {"opening_cold", JsonOf(point.cold_opening)},
          {"all", point.all ? JsonOf(*point.all) : Json(nullptr)},
          {"tenth", JsonOf(point.tenth)}};
}

Json CurveJson(const Results& results, const Curve& curve) {
  Json measured = Json::array(), law = Json::array();
  for (size_t i = 0; i < results.points.size(); ++i) {
    const std::optional<double> deviation = curve.Deviation(results, i);
    measured.push_back({{"keys", results.points[i].keys},
                        {"value", curve.measured[i] ? Json(*curve.measured[i]) : Json(nullptr)},
                        {"deviation", deviation ? Json(*deviation) : Json(nullptr)}});
  }
  constexpr int kPerDecade = 24;
  const auto first = static_cast<double>(results.points.front().keys);
  const double last = std::max(kPaperKeys[1], static_cast<double>(results.points.back().keys));
  const int steps = static_cast<int>(std::ceil(std::log10(last / first) * kPerDecade));
  for (int i = 0; i <= steps; ++i) {
    const double keys = first * std::pow(last / first, i / static_cast<double>(std::max(1, steps)));
    law.push_back({{"keys", keys}, {"value", curve.Law(keys)}});
  }
  return {{"id", curve.id},
          {"name", curve.name},
          {"formula", curve.formula},
          {"source", NameOf(curve.source)},
          {"a", curve.line.a},
          {"b", curve.line.b},
          {"measured", std::move(measured)},
          {"law", std::move(law)}};
}

Page PageOf(const Results& results, const std::vector<Curve>& curves) {
  Page page;
  page.title = "Trellis scale: costs by number of keys";
  page.lead.push_back(
      "One growing store, measured at each size, and the law that its design predicts. Marks are "
      "measured; lines are the law, dashed beyond the largest size (computed on paper). Every "
      "answer was checked.");
  const std::string headline = Headline(results, curves);
  if (!headline.empty()) page.lead.push_back(headline);
  page.sections = {
      {"Lookups",
       "Microseconds per lookup of one thread: with all blocks in the block cache, and with a "
       "tenth of the data there and the files in the page cache.",
       "lookups",
       {CacheTable(results)}},
      {"Reads",
       "The runs whose filters an absent key asks, and the tables read for it that do not hold it.",
       "reads",
       {}},
      {"Memory", "Resident memory of an open store.", "memory", {}},
      {"Opening", "Opening a closed store to read and write.", "opening", {}},
      {"Amplification",
       "Table bytes written by flushes and compactions since the store was empty, and bytes of the "
       "store's files, both per byte of keys and values.",
       "amplification",
       {}},
      {"All figures",
       "Starred sizes were not measured; their figures come from the laws.",
       "",
       {MeasuredTable(results, curves), DeviationTable(results, curves), LawTable(curves)}},
      {"The store at each size", "", "", {ShapeTable(results)}},
      {"Conditions", "", "", {RunTable(results)}}};
  page.data_name = "scale";
  page.data = ToJson(results);
  page.script = kScaleJs;
  return page;
}

// The excerpt for bench/README.md.
std::string ExcerptOf(const Results& results, const std::vector<Curve>& curves) {
  return Fenced(ToRows(RowsNamed(RunTable(results), {"CPU", "Took"})) + "\n" +
                TextOf({MeasuredTable(results, curves)}));
}

}  // namespace

Table MeasuredTable(const Results& results, const std::vector<Curve>& curves) {
  Table table{
      "measured", "Measured; starred sizes are computed from the laws", {{"", "cost", false}}, {}};
  for (const Point& point : results.points)
    table.columns.push_back({ShortCount(point.keys), "", true});
  for (const double keys : kPaperKeys) {
    table.columns.push_back({PaperName(keys) + " *", PaperName(keys) + " keys, computed", true});
  }
  for (const Curve& curve : curves) {
    std::vector<std::string> row = {curve.name};
    const bool is_bytes = curve.name.ends_with(", bytes");
    const auto text = [&](double value) {
      return is_bytes ? lsm::ReadableBytes(static_cast<uint64_t>(value))
                      : lsm::ReadableNumber(value);
    };
    for (const std::optional<double>& value : curve.measured)
      row.push_back(value ? text(*value) : kNone);
    for (const double keys : kPaperKeys) row.push_back(text(curve.Law(keys)));
    if (is_bytes) row[0].resize(row[0].size() - std::string(", bytes").size());
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table DeviationTable(const Results& results, const std::vector<Curve>& curves) {
  Table table{"deviation", "Measured divided by the law, minus 1, in %", {{"", "cost", false}}, {}};
  for (const Point& point : results.points)
    table.columns.push_back({ShortCount(point.keys), "", true});
  table.columns.push_back({"worst", "", true});
  for (const Curve& curve : curves) {
    std::vector<std::string> row = {curve.name};
    for (size_t i = 0; i < results.points.size(); ++i) {
      const std::optional<double> deviation = curve.Deviation(results, i);
      row.push_back(deviation ? PerCent(*deviation) : kNone);
    }
    row.push_back(PerCent(curve.WorstDeviation(results)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table LawTable(const std::vector<Curve>& curves) {
  Table table{"laws",
              "The laws",
              {{"", "cost", false}, {"law", "", false}, {"from", "", false}, {"a", ""}, {"b", ""}},
              {}};
  for (const Curve& curve : curves) {
    const bool has_a = curve.source == Source::kFitted, has_b = curve.source != Source::kComputed;
    table.rows.push_back({curve.name, curve.formula, NameOf(curve.source),
                          has_a ? lsm::ReadableNumber(curve.line.a) : kNone,
                          has_b ? lsm::ReadableNumber(curve.line.b) : kNone});
  }
  return table;
}

Table ShapeTable(const Results& results) {
  Table table{"shape",
              "The store at each size",
              {{"keys", ""},
               {"level", ""},
               {"runs", ""},
               {"tables", ""},
               {"size", ""},
               {"law", "bytes of the level according to the law"},
               {"keys there", ""},
               {"filter", "kind of the newest table's filter", false},
               {"b/key", "filter bits per key"}},
              {}};
  const Design design = DesignOf(results);
  for (const Point& point : results.points) {
    if (!table.rows.empty()) table.rows.emplace_back();
    const std::vector<double> law = LevelBytes(design, static_cast<double>(point.keys));
    for (size_t i = 0; i < point.shape.levels.size(); ++i) {
      const lsm::LevelStatistics& level = point.shape.levels[i];
      if (level.tables == 0) continue;
      table.rows.push_back(
          {ShortCount(point.keys), std::to_string(i), lsm::ReadableCount(level.runs),
           lsm::ReadableCount(level.tables), lsm::ReadableBytes(level.table_bytes),
           i < law.size() ? lsm::ReadableBytes(static_cast<uint64_t>(law[i])) : kNone,
           Short(static_cast<double>(level.keys)), level.filter_kind,
           lsm::ReadableNumber(8 * static_cast<double>(level.filter_bytes) /
                               static_cast<double>(level.keys))});
    }
  }
  return table;
}

std::string ToText(const Results& results) {
  const std::vector<Curve> curves = CurvesOf(results);
  return TextOf({RunTable(results), ShapeTable(results), CacheTable(results), LawTable(curves),
                 MeasuredTable(results, curves), DeviationTable(results, curves)}) +
         Headline(results, curves);
}

Json ToJson(const Results& results) {
  const Config& config = results.config;
  Json json = ReportJson("scale", 1, config, results.conditions, results.seconds);
  json["settings"] = {{"sizes", config.sizes},
                      {"value_bytes", config.value_bytes},
                      {"write_buffer_bytes", config.write_buffer_bytes},
                      {"level1_bytes", config.level1_bytes},
                      {"table_bytes", config.table_bytes},
                      {"target_fpp", config.target_fpp},
                      {"seconds", config.seconds},
                      {"openings", config.openings},
                      {"seed", config.seed}};
  json["points"] = Json::array();
  for (const Point& point : results.points) json["points"].push_back(PointJson(point));
  json["curves"] = Json::array();
  for (const Curve& curve : CurvesOf(results)) json["curves"].push_back(CurveJson(results, curve));
  return json;
}

Report ReportOf(const Results& results) {
  const std::vector<Curve> curves = CurvesOf(results);
  Report report;
  report.text = ToText(results);
  report.page = PageOf(results, curves);
  report.excerpts = {{"scale", ExcerptOf(results, curves)}};
  if (results.config.keep) report.stores = {results.config.out + "/store"};
  report.interrupted = results.interrupted;
  return report;
}

absl::StatusOr<Report> Run(const Config& config) {
  TRELLIS_ASSIGN_OR_RETURN(const Results results, Grow(config));
  return ReportOf(results);
}

}  // namespace bench::scale
