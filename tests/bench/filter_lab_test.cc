// The parts of filter_lab, a whole quick run, and the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/filter_lab/experiment.h"
#include "bench/filter_lab/filters/published.h"
#include "bench/filter_lab/lab.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/streams/source_filters.h"
#include "bench/filter_lab/streams/stream.h"
#include "bench/filter_lab/streams/streaming.h"
#include "bench/filter_lab/variants.h"
#include "bench/filter_lab/vectors/vector_subjects.h"
#include "bench/filter_lab/vectors/vectors.h"
#include "bench/report/assets.h"
#include "bench/report/page.h"
#include "bench/workload.h"
#include "bloom/core/sizing.h"
#include "bloom/parameters.h"
#include "tests/bench/interrupted_run.h"
#include "tests/bench/page_with_plots.h"
#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/source_directory.h"
#include "tests/support/status_matchers.h"

namespace bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::string LabFile(const std::string& path) {
  return testing_support::ReadFile(testing_support::SourceDirectory() / path);
}

// Expects the text in the file.  Does not print the whole file on failure.
void ExpectIn(const std::string& path, const std::string& text) {
  EXPECT_NE(LabFile(path).find(text), std::string::npos) << "not in " << path << ": " << text;
}

// --- rates ---

TEST(LabRateTest, ErrorFollowsFromTheNumberOfQueries) {
  Rate rate{12, 1000, 0.01};
  EXPECT_DOUBLE_EQ(rate.measured(), 0.012);
  EXPECT_NEAR(rate.standard_error(), std::sqrt(0.01 * 0.99 / 1000), 1e-12);
  EXPECT_NEAR(*rate.deviation_percent(), 20, 1e-9);
  rate.predicted.reset();
  EXPECT_NEAR(rate.standard_error(), std::sqrt(0.012 * 0.988 / 1000), 1e-12);
  EXPECT_FALSE(rate.deviation_percent().has_value());
  rate.predicted = 0.0001;  // only a tenth of a hit is expected
  EXPECT_FALSE(rate.deviation_percent().has_value());
  nlohmann::ordered_json row;
  AddRate(Rate{5, 50, 0.2}, &row);
  EXPECT_EQ(row["measured"], 0.1);
  EXPECT_EQ(row["predicted"], 0.2);
  EXPECT_EQ(row["queries"], 50);
  EXPECT_NEAR(row["standard_error"].get<double>(), std::sqrt(0.16 / 50), 1e-12);
}

// --- the published table ---

TEST(LabPublishedTest, EntriesMatchTheFormulaToThreeDigits) {
  std::map<uint32_t, uint32_t> probes_of_row;
  for (const PublishedRate& entry : PublishedTable()) {
    const double formula = bloom::RateInTable(entry.bits_per_key, entry.probes).value();
    EXPECT_NEAR(entry.fpp / formula, 1, 0.005) << entry.bits_per_key << ", " << entry.probes;
    EXPECT_EQ(entry.probes, ++probes_of_row[entry.bits_per_key]);
  }
  EXPECT_EQ(probes_of_row.size(), 19u);
  EXPECT_EQ(probes_of_row.begin()->first, 2u);
  EXPECT_EQ(probes_of_row.rbegin()->first, 20u);
}

TEST(LabPublishedTest, ClickHouseChoicesMatch) {
  const auto choice = [](double fpp) {
    const PublishedRate rate = ClickHouseChoice(fpp);
    return std::vector<uint32_t>{rate.bits_per_key, rate.probes};
  };
  EXPECT_THAT(choice(0.1), ElementsAre(5, 3));
  EXPECT_THAT(choice(0.05), ElementsAre(7, 3));
  EXPECT_THAT(choice(0.025), ElementsAre(8, 4));
  EXPECT_THAT(choice(0.01), ElementsAre(10, 5));
  EXPECT_THAT(choice(0.005), ElementsAre(12, 5));
  EXPECT_THAT(choice(0.001), ElementsAre(15, 7));
  EXPECT_THAT(choice(0.0005), ElementsAre(16, 10));
  EXPECT_THAT(choice(0.0002), ElementsAre(18, 10));
  // The choice never reaches its last row and does not report that.
  EXPECT_THAT(choice(0.0001), ElementsAre(19, 13));
  EXPECT_THAT(choice(1e-9), ElementsAre(19, 13));
  // It does not find a row for which a single probe suffices, either.
  EXPECT_THAT(choice(0.25), ElementsAre(3, 2));
  for (const double fpp : {0.221, 0.23, 0.2369}) EXPECT_THAT(choice(fpp), ElementsAre(19, 13));
  EXPECT_THAT(choice(0.22), ElementsAre(4, 2));
  EXPECT_THAT(choice(0.2829), ElementsAre(3, 2));
  for (const double fpp : {0.283, 0.3, 0.4, 0.9}) {
    EXPECT_THAT(choice(fpp), ElementsAre(2, 2));
    const PublishedRate before = ClickHouseChoice(fpp, bench::ClickHouse::kUnclamped);
    EXPECT_EQ(before.bits_per_key, 19u);
    EXPECT_EQ(before.probes, 13u);
  }
}

// --- vectors ---

std::vector<int32_t> Components(const bloom::VectorList<int32_t>& list, size_t i) {
  return {list[i].begin(), list[i].end()};
}

TEST(LabVectorTest, QueriesAreNewAndDistinct) {
  const VectorSet set = MakeUpVectors(16, 500, 3000, 1);
  std::set<std::vector<int32_t>> seen;
  for (size_t i = 0; i < set.base.size(); ++i) seen.insert(Components(set.base, i));
  EXPECT_EQ(set.base.size(), 500u);
  for (size_t i = 0; i < set.queries.size(); ++i)
    ASSERT_TRUE(seen.insert(Components(set.queries, i)).second) << i;
  EXPECT_EQ(set.queries.size() + set.left_out, 3000u);
  EXPECT_GT(set.left_out, 10u);  // one in a hundred was made to be a stored one
}

// The three files of siftsmall, with a few vectors.
class LabSiftTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::vector<std::vector<float>>& vectors) {
    bloom::VectorList<float> list(static_cast<uint32_t>(vectors.at(0).size()));
    for (const auto& vector : vectors) list.Add(vector);
    ASSERT_THAT(WriteWhole(scratch_.path_of(name), bloom::EncodeVectors(list)),
                testing_support::IsOk());
  }
  void SetUp() override {
    Write("siftsmall_base.fvecs", {{0, 1, 2}, {3, 4, 5}});
    Write("siftsmall_learn.fvecs", {{9, 9, 9}, {3, 4, 5}, {9, 9, 9}});
    Write("siftsmall_query.fvecs", {{0, 1, 2}, {255, 0, 0}});
  }

  const testing_support::ScratchDir scratch_;
};

TEST_F(LabSiftTest, ReadsQueriesWithoutStoredVectors) {
  ASSERT_OK_AND_ASSIGN(const VectorSet set, ReadSift(scratch_.path()));
  ASSERT_EQ(set.base.size(), 2u);
  EXPECT_THAT(Components(set.base, 1), ElementsAre(3, 4, 5));
  ASSERT_EQ(set.queries.size(), 2u);
  EXPECT_THAT(Components(set.queries, 0), ElementsAre(9, 9, 9));
  EXPECT_THAT(Components(set.queries, 1), ElementsAre(255, 0, 0));
  EXPECT_EQ(set.left_out, 3u);
}

TEST_F(LabSiftTest, NamesErrors) {
  const auto refused = [this](const char* what) {
    const absl::StatusOr<VectorSet> set = ReadSift(scratch_.path());
    ASSERT_FALSE(set.ok());
    EXPECT_THAT(std::string(set.status().message()), HasSubstr(what));
  };
  Write("siftsmall_query.fvecs", {{1, 2}});
  refused("siftsmall_query.fvecs: dimension 2");
  Write("siftsmall_query.fvecs", {{1, 2, 0.5}});
  refused("siftsmall_query.fvecs: vector 0: component 2");
  Write("siftsmall_query.fvecs", {{1, 2, std::nanf("")}});
  refused("siftsmall_query.fvecs: vector 0: component 2");
  ASSERT_THAT(WriteWhole(scratch_.path_of("siftsmall_learn.fvecs"), "xy"), testing_support::IsOk());
  refused("siftsmall_learn.fvecs");
  std::filesystem::remove(scratch_.path_of("siftsmall_base.fvecs"));
  refused("siftsmall_base.fvecs: cannot be read");
}

// --- a whole run ---

class LabRunTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    LabConfig config;
    config.effort = Effort::kQuick;
    absl::StatusOr<LabResults> results =
        RunLab(config, [](const std::string& text) { text_ += text; });
    ASSERT_TRUE(results.ok()) << results.status();
    results_ = new LabResults(*std::move(results));
    json_ = Json::parse(ToJson(*results_).dump());
  }
  static void TearDownTestSuite() { delete results_; }

  // Calls `visit` with each object below that has a measured rate.
  static void ForEachRate(const Json& json, const std::function<void(const Json&)>& visit) {
    if (json.is_object() && json.contains("measured")) visit(json);
    if (!json.is_structured()) return;
    for (const Json& item : json) ForEachRate(item, visit);
  }
  // The same without the rates of known-bad baselines.
  static void ForEachSoundRate(const Json& json, const std::function<void(const Json&)>& visit) {
    if (!json.is_structured()) return;
    if (json.is_object() && json.value("hash", "sound") == "source") return;
    if (json.is_object() && json.contains("measured")) visit(json);
    for (const Json& item : json) ForEachSoundRate(item, visit);
  }

  static LabResults* results_;
  static Json json_;
  static std::string text_;
};
LabResults* LabRunTest::results_ = nullptr;
Json LabRunTest::json_;
std::string LabRunTest::text_;

TEST_F(LabRunTest, ShowsEveryExperiment) {
  EXPECT_EQ(json_["benchmark"], "filter_lab");
  EXPECT_EQ(json_["settings"]["effort"], "quick");
  for (const LabExperiment& experiment : LabExperiments()) {
    const std::string name(experiment.name);
    ASSERT_TRUE(json_["experiments"].contains(name)) << name;
    int rates = 0;
    ForEachRate(json_["experiments"][name], [&rates](const Json&) { ++rates; });
    EXPECT_GT(rates, 2) << name;
    EXPECT_THAT(text_, HasSubstr("=== " + name + ": "));
  }
  EXPECT_EQ(json_["experiments"].size(), LabExperiments().size());
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 130u) << line;
}

TEST_F(LabRunTest, RatesHavePredictionQueriesAndError) {
  ForEachRate(json_["experiments"], [](const Json& row) {
    ASSERT_TRUE(row.contains("predicted") && row.contains("queries") &&
                row.contains("standard_error"))
        << row;
    const double measured = row["measured"], queries = row["queries"];
    EXPECT_GE(measured, 0) << row;
    EXPECT_LE(measured, 1) << row;
    const double hits = measured * queries;
    EXPECT_NEAR(hits, std::round(hits), 1e-6) << row;
    if (queries == 0) return;
    const double p = row["predicted"].is_null() ? measured : row["predicted"].get<double>();
    EXPECT_NEAR(row["standard_error"].get<double>(), std::sqrt(p * (1 - p) / queries), 1e-12);
  });
}

TEST_F(LabRunTest, MeasurementsMatchPredictions) {
  int rates = 0;
  ForEachSoundRate(json_["experiments"], [&rates](const Json& row) {
    if (row["predicted"].is_null()) return;
    const double predicted = row["predicted"], queries = row["queries"];
    // Besides, filters differ by a few per cent, more with few keys.  With few hits, the
    // distribution is skewed.
    const double error = 5 * row["standard_error"].get<double>() + 0.05 * predicted;
    EXPECT_NEAR(row["measured"].get<double>(), predicted, error + 3 / (queries + 1)) << row;
    ++rates;
  });
  EXPECT_GT(rates, 200);
}

TEST_F(LabRunTest, PredictionsComeFromTheLibrary) {
  const Json& experiments = json_["experiments"];
  for (const Json& row : experiments["accuracy"]["over_targets"]) {
    if (row["variant"] != "standard") continue;
    const uint64_t keys = row["keys"];
    const bloom::Shape shape = bloom::StandardShapeFor(keys, row["target_fpp"]).value();
    EXPECT_EQ(row["predicted"], bloom::StandardFpp(shape.size, shape.probes, keys));
    EXPECT_EQ(row["bits_per_key"], static_cast<double>(shape.size) / static_cast<double>(keys));
  }
  for (const Json& row : experiments["bits-table"]["rows"]) {
    const double formula = bloom::RateInTable(row["bits_per_key"], row["probes"]).value();
    EXPECT_NEAR(row["predicted"].get<double>() / formula, 1, 0.005) << row;
  }
  const uint64_t planned = experiments["overfill"]["planned_keys"];
  int overfilled = 0;
  for (const Json& row : experiments["overfill"]["rows"]) {
    if (row["variant"] != "standard") continue;
    EXPECT_EQ(row["predicted"],
              bloom::OverfilledFpp(planned, row["target_fpp"], row["times"]).value());
    ++overfilled;
  }
  EXPECT_EQ(overfilled, 20);  // two targets, t from 0.5 to 5
  uint32_t bits = 2;
  for (const Json& row : experiments["bits-table"]["best"]) {
    EXPECT_EQ(row["bits_per_key"], bits);
    EXPECT_NEAR(row["real_probes"].get<double>(), bits * std::log(2.0), 1e-9);
    EXPECT_NEAR(row["real_rate"].get<double>() / std::pow(0.6185, bits), 1, 0.002);
    EXPECT_GE(row["predicted"], row["real_rate"]);
    EXPECT_LT(row["predicted"].get<double>() / row["real_rate"].get<double>(), 1.07) << bits;
    ++bits;
  }
  EXPECT_EQ(bits, 21u);
  for (const Json& row : experiments["clickhouse"]["rows"]) {
    EXPECT_EQ(row["refusal"] != "", row["chooser"] == "table" && row["target_fpp"] < 6.7e-5) << row;
    const double target = row["target_fpp"];
    const bool misses = row["chooser"] == "ClickHouse" && (target < 1.09e-4 || target >= 0.283);
    EXPECT_EQ(row["meets_target"], row["refusal"] == "" && !misses) << row;
  }
}

TEST_F(LabRunTest, CountsTenthsAndPredictsRows) {
  const Json& streaming = json_["experiments"]["streaming"];
  int checked = 0;
  for (const Json& run : streaming["runs"]) {
    ASSERT_EQ(run["tenths"].size(), 10u);
    const Json& last = run["tenths"][9];
    for (const char* member : {"rows", "distinct", "false_positives", "measured", "predicted"})
      EXPECT_EQ(last[member], run[member]) << member;
    uint64_t wrong_before = 0;
    for (const Json& tenth : run["tenths"]) {
      const uint64_t wrong =
          tenth["false_positives"].get<uint64_t>() + tenth["false_negatives"].get<uint64_t>();
      EXPECT_GE(wrong, wrong_before);
      EXPECT_NEAR(tenth["measured"].get<double>() * tenth["rows"].get<double>(),
                  static_cast<double>(wrong), 1e-6);
      wrong_before = wrong;
    }
    if (run["filter"] == "spatial") continue;
    EXPECT_EQ(run["false_negatives"], 0) << run;
    if (run["filter"] != "standard" || run["hash"] != "sound") continue;
    double expected = 0;
    for (uint64_t j = 0; j < run["distinct"].get<uint64_t>(); ++j)
      expected += bloom::StandardFpp(run["cells"], run["probes"], j);
    EXPECT_NEAR(run["predicted"].get<double>() * run["rows"].get<double>(), expected,
                1e-3 * expected);
    ++checked;
  }
  EXPECT_EQ(checked, 3);
}

// A filter that uses one hash k times has the rate 1 - e^(-n/m), whatever k is.
TEST_F(LabRunTest, FiltersOfTheStudyHaveTheRateOfOneProbe) {
  int studied = 0;
  for (const Json& row : json_["experiments"]["vectors"]["rows"]) {
    const double bits_per_key = 8 * row["memory_bytes"].get<double>() / row["keys"].get<double>();
    const bool is_faulty = row["filter"].get<std::string>().ends_with("of the study");
    if (is_faulty) {
      EXPECT_NEAR(row["predicted"].get<double>(), -std::expm1(-1 / bits_per_key), 0.001) << row;
      EXPECT_GT(row["measured"].get<double>(), 0.07) << row;
    } else {
      EXPECT_LE(row["predicted"].get<double>(), 0.0102) << row;
    }
    EXPECT_EQ(row["latency"].size(), 5u);
    studied += is_faulty;
  }
  EXPECT_EQ(studied, 4);  // two filters at two dimensions
}

// This holds for every number of keys and every target.  HDBF is faster, because its hash is.
TEST_F(LabRunTest, BfAndHdbfDifferOnlyInSpeed) {
  const Json& hdbf = json_["experiments"]["hdbf"];
  for (const char* part : {"over_keys", "over_targets"}) {
    std::map<std::string, std::map<std::string, Json>> rows;  // by keys and target, by filter
    for (const Json& row : hdbf[part])
      rows[row["keys"].dump() + " " + row["target_fpp"].dump()][row["filter"]] = row;
    EXPECT_EQ(rows.size(), 2u) << part;
    for (auto& [place, filters] : rows) {
      EXPECT_EQ(filters.size(), 7u);
      const Json &bf = filters[kStudyBf], &of_components = filters[kStudyHdbf];
      for (const char* same : {"memory_bytes", "probes", "predicted"})
        EXPECT_EQ(bf[same], of_components[same]) << place;
      EXPECT_GT(bf["absent_ns"], of_components["absent_ns"]) << place;
      EXPECT_GT(bf["predicted"], filters["vectors, standard"]["predicted"]) << place;
    }
  }
}

TEST_F(LabRunTest, StreamsFollowTheirDistributions) {
  std::map<std::string, Json> rows;
  for (const Json& row : json_["experiments"]["distributions"]["rows"])
    rows[row["distribution"]] = row;
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_NEAR(rows["normal"]["mean"].get<double>(), 0, 0.03);
  EXPECT_NEAR(rows["normal"]["deviation"].get<double>(), 1, 0.03);
  EXPECT_NEAR(rows["uniform"]["mean"].get<double>(), 5, 0.1);
  EXPECT_NEAR(rows["uniform"]["deviation"].get<double>(), 10 / std::sqrt(12.0), 0.1);
  EXPECT_NEAR(rows["exponential"]["mean"].get<double>(), 0.01, 0.0003);
  EXPECT_NEAR(rows["exponential"]["deviation"].get<double>(), 0.01, 0.0005);
  for (const auto& [name, row] : rows) {
    double predicted = 0, measured = 0;
    for (const Json& bin : row["bins"]) {
      predicted += bin["predicted"].get<double>();
      measured += bin["measured"].get<double>();
    }
    EXPECT_NEAR(predicted, 1, 2e-4) << name;
    EXPECT_NEAR(measured, 1, 1e-3) << name;
    ASSERT_EQ(row["tenths"].size(), 10u);
    EXPECT_EQ(row["tenths"][9]["rows"], row["rows"]);
  }
  // The same rows as those of the filters.
  for (const Json& run : json_["experiments"]["streaming"]["runs"])
    EXPECT_EQ(run["distinct"], rows[run["distribution"]]["tenths"][9]["distinct"]);
}

TEST_F(LabRunTest, VariesProbesOnEveryStream) {
  std::map<std::string, std::set<int>> probes;
  for (const Json& run : json_["experiments"]["stream-probes"]["rows"])
    probes[run["distribution"]].insert(run["probes"].get<int>());
  for (const char* stream : {"normal", "uniform", "exponential"})
    EXPECT_THAT(probes[stream], ElementsAre(2, 4, 5)) << stream;
}

// Holds for every stream, not only for the uniform one.
TEST_F(LabRunTest, ShowsTotalTimesOfAllStreams) {
  const size_t at = text_.find("Processor time of all rows of each stream");
  ASSERT_NE(at, text_.npos);
  const std::string table = text_.substr(at, text_.find("\n\n", at) - at);
  for (const char* filter : {"standard", "shifting", "shifting-double", "spatial"}) {
    const size_t line = table.find("\n" + std::string(filter) + " ");
    ASSERT_NE(line, table.npos) << table;
    const std::string cells = table.substr(line, table.find('\n', line + 1) - line);
    EXPECT_EQ(cells.find(" - "), cells.npos) << cells;
  }
}

// The program that the experiment is from found shifting more accurate than standard.
TEST_F(LabRunTest, HashOfTheSourcePassesMoreKeys) {
  std::map<std::string, double> wrong;
  for (const Json& run : json_["experiments"]["streaming"]["runs"]) {
    if (run["distribution"] != "uniform") continue;
    wrong[run["filter"].get<std::string>() + "/" + run["hash"].get<std::string>()] =
        run["measured"];
  }
  EXPECT_GT(wrong["standard/source"], 1.4 * wrong["standard/sound"]);
  EXPECT_LT(wrong["shifting/source"], wrong["standard/source"]);
  EXPECT_LT(wrong["standard, 2 m/sound"], 0.1 * wrong["standard/sound"]);
}

TEST_F(LabRunTest, PageHoldsSectionsTablesAndPlots) {
  const std::string html = RenderPage(PageWithPlots(ReportOf(*results_)));
  const std::string script = kFilterLabJs;
  int plots = 0;
  for (const auto& [name, outcome] : results_->outcomes) {
    for (const Section& section : outcome.sections) {
      EXPECT_THAT(html, HasSubstr("<h2>" + EscapeHtml(section.title) + "</h2>"));
      for (const Table& table : section.tables) {
        EXPECT_THAT(html, HasSubstr("id=\"table-" + table.id + "\""));
        EXPECT_GT(table.rows.size(), 0u) << table.id;
        for (const auto& row : table.rows) {
          if (!row.empty()) {
            ASSERT_EQ(row.size(), table.columns.size()) << table.id;
          }
        }
      }
      if (section.plot.empty()) continue;
      ++plots;
      EXPECT_THAT(html, HasSubstr("data-plot=\"" + section.plot + "\""));
      const std::string start = script.substr(script.find("Plots.start("));
      EXPECT_TRUE(start.find("    " + section.plot + ":") != std::string::npos ||
                  start.find("    " + section.plot + ",") != std::string::npos)
          << section.plot;
    }
  }
  EXPECT_GT(plots, 9);
  EXPECT_THAT(html, HasSubstr("</html>"));
  EXPECT_THAT(html, HasSubstr("this was a quick run"));
}

TEST_F(LabRunTest, JsonPageDescribesTheReport) {
  Json json = json_;
  json.erase("conditions");  // their names are free text
  std::set<std::string> members;
  const std::function<void(const Json&)> collect = [&](const Json& value) {
    for (const auto& item : value.items()) {
      if (value.is_object()) members.insert(item.key());
      if (item.value().is_structured()) collect(item.value());
    }
  };
  collect(json);
  EXPECT_GT(members.size(), 40u);
  for (const std::string& member : members) ExpectIn("bench/report/JSON.md", "`" + member + "`");
}

// --- the table of bloom/README.md ---

TEST(LabFamilyTest, ReadmeRowsAreTrue) {
  ExpectIn("bloom/README.md", std::string(kFamilyTableHead));
  for (const Variant& variant : Variants()) {
    ASSERT_OK_AND_ASSIGN(const FamilyRow row, FamilyRowOf(variant, 0));
    ExpectIn("bloom/README.md", "\n" + row.fixed);
    ExpectIn("bloom/README.md", "`filter_lab --family-rows --variants " + variant.name + "`");
  }
}

// --- the command ---

class LabCommandTest : public testing::Test {
 protected:
  using Outcome = testing_support::ProgramResult;

  static Outcome Run(const std::string& arguments) {
    return testing_support::RunShell(std::string(TRELLIS_FILTER_LAB) + " " + arguments);
  }

  const testing_support::ScratchDir scratch_;
};

TEST_F(LabCommandTest, WritesTheRequestedFiles) {
  const std::string folder = scratch_.path_of("lab");
  const Outcome outcome = Run("--quick --only overfill,clickhouse --out " + folder);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Rates with t times the planned keys"));
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos) << "a pipe is no terminal";
  const Json parsed =
      Json::parse(testing_support::ReadFile(folder + "/report.json"), nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  EXPECT_EQ(parsed["experiments"].size(), 2u);
  EXPECT_EQ(parsed["interrupted"], false);
  EXPECT_THAT(testing_support::ReadFile(folder + "/report.html"), HasSubstr("</html>"));
}

TEST_F(LabCommandTest, SeedsRepeatTheCounts) {
  const auto rows = [this](int seed) {
    const std::string folder = scratch_.path_of("lab");
    EXPECT_EQ(
        Run("--quick --only overfill --seed " + std::to_string(seed) + " --out " + folder).code, 0);
    return Json::parse(testing_support::ReadFile(folder + "/report.json"))["experiments"];
  };
  const Json first = rows(5);
  EXPECT_EQ(first, rows(5));
  EXPECT_NE(first, rows(6));
}

TEST_F(LabCommandTest, NamesWrongArguments) {
  const std::pair<const char*, std::vector<const char*>> wrong[] = {
      {"--only streams", {"--only", "streams"}},
      {"--variants bloomier", {"--variants", "bloomier"}},
      {"--quick --full", {"--full"}},
      {"--sift /no/such/folder", {"--sift", "/no/such/folder"}},
      {"--seed many", {"--seed", "many"}},
      {"--seed -1", {"--seed", "-1"}},
      {"--seed 18446744073709551616", {"--seed", "18446744073709551616"}},
      {"--chart-js /no/such/file", {"--chart-js", "/no/such/file"}},
      {"everything", {"everything"}}};
  for (const auto& [arguments, names] : wrong) {
    const Outcome outcome = Run(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_THAT(outcome.err, testing::StartsWith("filter_lab: ")) << arguments;
    for (const char* name : names) EXPECT_THAT(outcome.err, HasSubstr(name)) << arguments;
  }
  EXPECT_EQ(Run("--chart-js " + std::string(300, 'a')).code, 2);
  const std::string file = scratch_.path_of("file");
  std::ofstream(file) << "x";
  const Outcome no_folder = Run("--quick --only clickhouse --out " + file);
  EXPECT_EQ(no_folder.code, 1);
  EXPECT_THAT(no_folder.err, HasSubstr("--out: " + file));
  EXPECT_EQ(Run("--help").code, 0);
}

TEST_F(LabCommandTest, PrintsARowOfTheFamily) {
  const Outcome outcome = Run("--family-rows --variants standard");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith(std::string(kFamilyTableHead)));
  EXPECT_THAT(outcome.out, HasSubstr("| standard | 2 | 9.59 | 0.01000 | 0.0"));
  // The measured rows are the README's.
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) ExpectIn("bloom/README.md", line + "\n");
}

TEST_F(LabCommandTest, InterruptInFirstExperimentWritesNoFiles) {
  const std::string err = scratch_.path_of("stderr"), out = scratch_.path_of("lab");
  EXPECT_EQ(RunInterrupted(TRELLIS_FILTER_LAB, {"--only", "accuracy,shifting", "--out", out},
                           "accuracy: ", err),
            130);
  EXPECT_THAT(testing_support::ReadFile(err), HasSubstr("interrupted"));
  EXPECT_TRUE(std::filesystem::is_empty(out));
}

TEST_F(LabCommandTest, InterruptReportsFinishedExperiments) {
  const std::string err = scratch_.path_of("stderr"), out = scratch_.path_of("lab");
  // Shifting takes half a minute.
  EXPECT_EQ(RunInterrupted(TRELLIS_FILTER_LAB, {"--only", "clickhouse,shifting", "--out", out},
                           "shifting: ", err),
            130);
  const Json parsed = Json::parse(testing_support::ReadFile(out + "/report.json"), nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  EXPECT_EQ(parsed["interrupted"], true);
  EXPECT_EQ(parsed["experiments"].size(), 1u);
  EXPECT_THAT(testing_support::ReadFile(out + "/report.html"),
              HasSubstr("the run was interrupted"));
}

}  // namespace
}  // namespace bench
