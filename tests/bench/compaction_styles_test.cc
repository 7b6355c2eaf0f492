#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/compaction_styles/config.h"
#include "bench/compaction_styles/experiment.h"
#include "bench/compaction_styles/report.h"
#include "lsm/bytes/readable.h"
#include "tests/bench/page_with_plots.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench::styles {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class CompactionStylesBenchTest : public testing::Test {
 protected:
  CompactionStylesBenchTest() {
    config_.keys = 3000;
    config_.value_bytes = 600;
    config_.flushes = 64;
    config_.runs = 3;
    config_.overwrites = 3;
    config_.moments = 11;
    config_.lookups = 200;
    config_.out = scratch_.path();
  }

  const testing_support::ScratchDir scratch_;
  Config config_;
};

TEST_F(CompactionStylesBenchTest, StylesHaveThePredictedCost) {
  ASSERT_OK_AND_ASSIGN(const Results results, CompareStyles(config_));
  ASSERT_EQ(results.styles.size(), 6u);
  const StyleResult& leveled = results.styles[0];
  const StyleResult& tiered = results.styles[1];
  const StyleResult& lazy = results.styles[2];
  EXPECT_LT(tiered.write_amplification(), lazy.write_amplification());
  EXPECT_LT(lazy.write_amplification(), leveled.write_amplification());
  EXPECT_LT(leveled.absent.filters_asked, tiered.absent.filters_asked);
  EXPECT_LT(results.SpaceMean(lazy), results.SpaceMean(tiered));
  EXPECT_GT(results.compacted_bytes, 0u);
  for (const StyleResult& style : results.styles) {
    SCOPED_TRACE(NameOf(style.style));
    EXPECT_GT(style.write_amplification(), 0.5);
    EXPECT_GT(style.write_amplification_with_log(), style.write_amplification() + 1);
    EXPECT_EQ(style.user_bytes, 9000u / 46 * 46 * 616);
    EXPECT_EQ(style.present.count, 11u * 200);
    EXPECT_EQ(style.absent.count, 11u * 200);
    EXPECT_EQ(style.table_bytes.size(), 11u);
    EXPECT_GE(style.present.PerLookup(&Lookups::blocks), 1);
    EXPECT_LT(style.absent.PerLookup(&Lookups::blocks), 0.5);
    EXPECT_GE(results.SpaceMean(style), 1);
    EXPECT_GE(results.SpaceMost(style), results.SpaceMean(style));
  }
}

TEST_F(CompactionStylesBenchTest, GoalsUseTheSameMemoryBetter) {
  config_.keys = 10000;
  config_.filter_kind = "standard";
  config_.styles = {lsm::CompactionStyle::kLazyLeveled};
  ASSERT_OK_AND_ASSIGN(const Results results, CompareStyles(config_));
  ASSERT_EQ(results.styles.size(), 2u);
  const StyleResult& uniform = results.styles[0];
  const StyleResult& goal = results.styles[1];
  EXPECT_TRUE(uniform.filter_goal.is_none());
  EXPECT_EQ(goal.filter_goal, lsm::FilterGoal::BitsPerKey(uniform.filter_bits_per_key()));
  EXPECT_LT(goal.filter_bits_per_key(), uniform.filter_bits_per_key() * 1.1);
  EXPECT_LT(goal.absent.blocks, uniform.absent.blocks);
  EXPECT_EQ(goal.runs, uniform.runs);

  config_.keys = 1000;
  config_.overwrites = 1;
  config_.goal_bits = 20;
  ASSERT_OK_AND_ASSIGN(const Results more, CompareStyles(config_));
  EXPECT_EQ(more.styles[1].filter_goal, lsm::FilterGoal::BitsPerKey(20));
  config_.goal_bits = 0;
  config_.filter_kind = "none";
  ASSERT_OK_AND_ASSIGN(const Results none, CompareStyles(config_));
  EXPECT_EQ(none.styles.size(), 1u);
}

TEST_F(CompactionStylesBenchTest, FiguresRepeatWithTheSeed) {
  config_.styles = {lsm::CompactionStyle::kLazyLeveled};
  config_.keys = 1000;
  config_.flushes = 16;
  ASSERT_OK_AND_ASSIGN(const Results first, CompareStyles(config_));
  config_.on_disk = true;
  ASSERT_OK_AND_ASSIGN(const Results second, CompareStyles(config_));
  nlohmann::ordered_json a = ToJson(first)["styles"], b = ToJson(second)["styles"];
  ASSERT_EQ(a.size(), 2u);
  for (nlohmann::ordered_json* styles : {&a, &b}) {
    for (nlohmann::ordered_json& style : *styles) style.erase("seconds");
  }
  EXPECT_EQ(a, b);
  EXPECT_EQ(first.compacted_bytes, second.compacted_bytes);
}

TEST_F(CompactionStylesBenchTest, TextJsonAndPageAgree) {
  config_.overwrites = 1;
  config_.command = "compaction_styles <of a test>";
  ASSERT_OK_AND_ASSIGN(const Results results, CompareStyles(config_));
  const std::string text = ToText(results);
  const Page page = PageWithPlots(ReportOf(results));
  const nlohmann::ordered_json json = ToJson(results);
  ASSERT_EQ(json["styles"].size(), 6u);
  const std::vector<std::string> names = {"leveled", "tiered", "lazy-leveled",
                                          "leveled", "tiered", "lazy-leveled"};
  const Table table = AmplificationTable(results);
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(json["styles"][i]["style"], names[i]);
    EXPECT_EQ(table.rows[i][0], names[i]);
    EXPECT_EQ(table.rows[i][1], i < 3 ? "uniform" : "goal");
    EXPECT_EQ(json["styles"][i]["filters"], table.rows[i][1]);
    EXPECT_EQ(table.rows[i][2], lsm::ReadableNumber(json["styles"][i]["write_amplification"]));
    EXPECT_THAT(text, HasSubstr("\n" + names[i]));
  }
  EXPECT_THAT(text, HasSubstr("the lazily leveled store writes"));
  EXPECT_EQ(page.sections[0].plot, "amplification");
  EXPECT_THAT(page.script, HasSubstr("Plots.start({amplification})"));
  const std::string html = RenderPage(page);
  for (const char* part : {"data-plot=\"amplification\"", "compaction_styles &lt;of a test&gt;"})
    EXPECT_NE(html.find(part), html.npos) << part;  // the page is too long for a message
  ASSERT_OK(WriteReport(ReportOf(results), config_));
  ASSERT_OK_AND_ASSIGN(const std::string written, ReadWhole(config_.out + "/report.json"));
  EXPECT_EQ(nlohmann::ordered_json::parse(written), json);
}

TEST_F(CompactionStylesBenchTest, StopsDuringTheFirstStyle) {
  const std::atomic<bool> stop = true;
  config_.stop = &stop;
  EXPECT_THAT(CompareStyles(config_),
              StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
}

TEST_F(CompactionStylesBenchTest, ReportsImpossibleRequests) {
  config_.filter_kind = "bloomy";
  EXPECT_THAT(CompareStyles(config_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bloomy")));
}

Parsed<Config> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compaction_styles");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
}

TEST(CompactionStylesCommandTest, AcceptsStylesAndNumbers) {
  const Parsed<Config> parsed =
      Parse({"--styles", "lazy-leveled,leveled,lazy-leveled", "--keys", "5000", "--chart-js", ""});
  EXPECT_EQ(parsed.exit_code, std::nullopt);
  EXPECT_EQ(parsed.config.styles,
            (std::vector<lsm::CompactionStyle>{lsm::CompactionStyle::kLazyLeveled,
                                               lsm::CompactionStyle::kLeveled}));
  EXPECT_EQ(parsed.config.keys, 5000u);
  EXPECT_EQ(Parse({}).config.styles.size(), 3u);
}

TEST(CompactionStylesCommandTest, ExitsWithTwoAfterMistakes) {
  EXPECT_EQ(Parse({"--styles", "universal"}).exit_code, 2);
  EXPECT_EQ(Parse({"--keys", "1"}).exit_code, 2);
  EXPECT_EQ(Parse({"--runs", "1"}).exit_code, 2);
  EXPECT_EQ(Parse({"--goal-bits", "65"}).exit_code, 2);
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace bench::styles
