#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/scale/config.h"
#include "bench/scale/curve.h"
#include "bench/scale/experiment.h"
#include "bench/scale/law.h"
#include "bench/scale/report.h"
#include "lsm/bytes/readable.h"
#include "tests/bench/page_with_plots.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench::scale {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

Design SmallDesign() {
  Design design;
  design.key_bytes = 100;
  design.user_key_bytes = 200;
  design.flush_bytes = 1000;
  design.level0_tables = 4;
  design.level1_bytes = 10000;
  design.table_bytes = 500;
  design.upper_bits = 10;
  design.upper_fpp = 0.01;
  design.lower_bits = 7;
  design.lower_fpp = 0.008;
  design.index_bits = 8;
  design.cpu_cache_bytes = 1000;
  return design;
}

TEST(ScaleLawTest, LevelsFillFromAbove) {
  const Design design = SmallDesign();
  EXPECT_THAT(LevelBytes(design, 20), ElementsAre(2000));
  EXPECT_THAT(LevelBytes(design, 90), ElementsAre(1500, 9000));
  EXPECT_THAT(LevelBytes(design, 1000), ElementsAre(1500, 10000, 90000));
  EXPECT_THAT(LevelBytes(design, 2000), ElementsAre(1500, 10000, 100000, 90000));
  EXPECT_DOUBLE_EQ(Runs(design, 20), 2);
  EXPECT_DOUBLE_EQ(Runs(design, 90), 2.5);
  // Level 1 has moved down 1/6 of its range, and level 2 is past its first turn.
  EXPECT_DOUBLE_EQ(Runs(design, 1000), 1.5 + 5.0 / 6 + 1);
  EXPECT_DOUBLE_EQ(Runs(design, 2000), 1.5 + 5.0 / 6 + 1 + 0.45);
}

TEST(ScaleLawTest, WritesSumOverAllLevels) {
  const Design design = SmallDesign();
  for (const double keys : {30.0, 90.0, 150.0, 500.0, 1500.0, 40000.0}) {
    // Byte by byte, as the header derives it.
    const double all = keys * design.key_bytes;
    double written = 0;
    constexpr double kStep = 10;
    for (double came = kStep / 2; came < all; came += kStep) {
      written += kStep;
      double above = 0, limit = 10000, density = 4000;
      for (int level = 1; all >= 4000 && came > above; ++level) {
        const double there = std::min(limit, came - above);
        if (level == 1 || there > density) written += kStep * (1 + there / density);
        above += limit;
        density = 2 * limit + (level == 1 ? 4000 : 0);
        limit *= 10;
      }
    }
    EXPECT_NEAR(WriteAmplification(design, keys) / (written / (keys * 200)), 1, 0.01) << keys;
  }
}

TEST(ScaleLawTest, MemoryIsLinearAndCacheWaitsGrow) {
  const Design design = SmallDesign();
  EXPECT_DOUBLE_EQ(FilterBytes(design, 20), 25);
  EXPECT_DOUBLE_EQ(FilterBytes(design, 1000), (115 * 10 + 885 * 7) / 8.0);
  EXPECT_NEAR(FilterBitsPerKey(design, 1e9), 7, 0.001);
  EXPECT_DOUBLE_EQ(IndexBytes(design, 1000), 1000);
  EXPECT_DOUBLE_EQ(WastedReads(design, 1000), (1.5 + 5.0 / 6) * 0.01 + 0.008);
  EXPECT_GT(Tables(design, 2000), 380);
  EXPECT_LT(Tables(design, 2000), 410);
  // First all bytes are within the processor's cache, then nearly none.
  EXPECT_DOUBLE_EQ(AbsentWaits(design, 20, 1), 0.1 * 2 + 0.02 * 4 * (1 - 1000 / 4045.0));
  EXPECT_NEAR(AbsentWaits(design, 1e9, 1),
              1 + 0.1 * Runs(design, 1e9) + 4 * WastedReads(design, 1e9), 0.001);
  EXPECT_NEAR(PresentWaits(design, 1e9, 0.1) - AbsentWaits(design, 1e9, 0.1), 4 + 9, 0.001);
}

TEST(ScaleLawTest, FitsLines) {
  const Line exact = FitLine({{1, 5}, {2, 7}, {10, 23}}, false);
  EXPECT_THAT(exact.a, DoubleNear(3, 1e-9));
  EXPECT_THAT(exact.b, DoubleNear(2, 1e-9));
  EXPECT_THAT(FitLine({{1, 2}, {10, 20}}, true).b, DoubleNear(2, 1e-9));
  // Neither coefficient is below 0.
  const Line falling = FitLine({{1, 10}, {2, 5}}, false);
  EXPECT_EQ(falling.b, 0);
  EXPECT_GT(falling.a, 5);
  EXPECT_EQ(FitLine({{1, 1}, {2, 10}}, false).a, 0);
  EXPECT_EQ(FitLine({{3, 7}}, false).a, 7);
  EXPECT_EQ(FitLine({{3, 7}, {3, 7}}, false).b, 0);
}

class ScaleBenchTest : public testing::Test {
 protected:
  ScaleBenchTest() {
    config_.sizes = {2000, 5000, 20000};
    config_.value_bytes = 100;
    config_.write_buffer_bytes = 128 << 10;
    config_.level1_bytes = 128 << 10;
    config_.table_bytes = 64 << 10;
    config_.seconds = 0.01;
    config_.openings = 2;
    config_.command = "scale <of a test>";
    config_.out = scratch_.path();
  }

  const testing_support::ScratchDir scratch_;
  Config config_;
};

TEST_F(ScaleBenchTest, OneStoreGrows) {
  ASSERT_OK_AND_ASSIGN(const Results results, Grow(config_));
  ASSERT_EQ(results.points.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const Point& point = results.points[i];
    SCOPED_TRACE(point.keys);
    EXPECT_EQ(point.keys, config_.sizes[i]);
    EXPECT_EQ(point.user_bytes, point.keys * 116);
    EXPECT_GT(point.log_bytes, point.user_bytes);
    EXPECT_EQ(point.shape.total.keys, point.keys);
    EXPECT_GE(point.stored_bytes, point.shape.total.table_bytes);
    EXPECT_GT(point.warm_opening.millis.min, 0);
    EXPECT_GE(point.warm_opening.read_bytes, static_cast<double>(point.shape.total.filter_bytes));
    // Opening a table reads only its filter, its index and its properties, plus the end of the
    // file, which is read before the positions are known.
    EXPECT_LT(
        point.warm_opening.read_bytes,
        2 * static_cast<double>(point.shape.total.filter_bytes + point.shape.total.index_bytes) +
            4200 * static_cast<double>(point.shape.total.tables) + 8192);
    ASSERT_TRUE(point.all.has_value());
    EXPECT_EQ(point.all->present.blocks_from_file, 0);
    EXPECT_LE(point.all->used_bytes, point.all->capacity_bytes);
    EXPECT_GT(point.tenth.present.blocks_from_file, 0.5);
    EXPECT_LT(point.tenth.absent.wasted_reads, 0.5);
    EXPECT_GT(point.tenth.absent.micros.median, 0);
    if (i == 0) continue;
    EXPECT_GE(point.flush_bytes, results.points[i - 1].flush_bytes);
    EXPECT_GE(point.compactions, results.points[i - 1].compactions);
  }
  EXPECT_GT(results.points[2].write_amplification(), results.points[0].write_amplification());
  EXPECT_FALSE(std::filesystem::exists(config_.out + "/store/CURRENT"));
}

TEST_F(ScaleBenchTest, LawIsNearTheStore) {
  ASSERT_OK_AND_ASSIGN(const Results results, Grow(config_));
  const std::vector<Curve> curves = CurvesOf(results);
  for (const Curve& curve : curves) {
    SCOPED_TRACE(curve.id);
    ASSERT_EQ(curve.measured.size(), 3u);
    EXPECT_GT(curve.Law(20000), 0);
    EXPECT_GE(curve.Law(1e10), curve.id == "filter_bits" ? 6 : curve.Law(20000));
    if (curve.id == "index_bytes" || curve.id == "space_amplification") {
      EXPECT_LT(std::fabs(curve.WorstDeviation(results)), 0.15);
    }
    if (curve.id == "filter_bytes") {
      ASSERT_TRUE(curve.Deviation(results, 2).has_value());
      EXPECT_LT(std::fabs(*curve.Deviation(results, 2)), 0.3);
    }
  }
  EXPECT_EQ(curves.size(), 14u);
}

TEST_F(ScaleBenchTest, TextJsonAndPageAgree) {
  ASSERT_OK_AND_ASSIGN(Results results, Grow(config_));
  results.points[2].all.reset();  // as if there was not enough memory
  const std::string text = ToText(results);
  const nlohmann::ordered_json json = ToJson(results);
  const std::vector<Curve> curves = CurvesOf(results);
  const Table measured = MeasuredTable(results, curves);
  ASSERT_EQ(json["curves"].size(), curves.size());
  for (size_t i = 0; i < curves.size(); ++i) {
    EXPECT_EQ(json["curves"][i]["id"], curves[i].id);
    EXPECT_EQ(json["curves"][i]["measured"][1]["value"], *curves[i].measured[1]);
    if (!curves[i].name.ends_with(", bytes")) {
      EXPECT_EQ(measured.rows[i][2], lsm::ReadableNumber(*curves[i].measured[1]));
      EXPECT_EQ(measured.rows[i].back(), lsm::ReadableNumber(curves[i].Law(1e10)));
      EXPECT_NEAR(json["curves"][i]["law"].back()["value"].get<double>(), curves[i].Law(1e10),
                  1e-6);
    }
  }
  EXPECT_EQ(measured.rows[0][3], "-");
  EXPECT_TRUE(json["curves"][0]["measured"][2]["value"].is_null());
  EXPECT_TRUE(json["points"][2]["all"].is_null());
  EXPECT_EQ(measured.columns[4].name, "1G *");
  EXPECT_THAT(text, HasSubstr("From 2k to 20k keys, 10.0 times as many"));
  EXPECT_THAT(text, HasSubstr("no room in memory"));
  const Page page = PageWithPlots(ReportOf(results));
  const std::string html = RenderPage(page);
  for (const Section& section : page.sections) {
    if (section.plot.empty()) continue;
    EXPECT_THAT(page.script, HasSubstr(section.plot));
    EXPECT_NE(html.find("data-plot=\"" + section.plot + "\""), html.npos) << section.plot;
  }
  EXPECT_NE(html.find("scale &lt;of a test&gt;"), html.npos);
  ASSERT_OK(WriteReport(ReportOf(results), config_));
  ASSERT_OK_AND_ASSIGN(const std::string written, ReadWhole(config_.out + "/report.json"));
  EXPECT_EQ(nlohmann::ordered_json::parse(written), json);
}

TEST_F(ScaleBenchTest, InterruptKeepsMeasurements) {
  config_.sizes = {1000, 20000000};
  std::atomic<bool> stop = false;
  config_.stop = &stop;
  // Interrupts while the second size is being filled.
  std::thread interrupter([&] {
    for (bool is_large = false; !is_large && !stop; std::this_thread::yield()) {
      std::error_code error;
      uint64_t bytes = 0;
      for (const auto& entry : std::filesystem::directory_iterator(config_.out + "/store", error))
        bytes += entry.file_size(error);
      is_large = !error && bytes > (1 << 20) && bytes < (uint64_t{1} << 60);
    }
    stop = true;
  });
  config_.value_bytes = 1;
  const absl::StatusOr<Results> results = Grow(config_);
  stop = true;
  interrupter.join();
  ASSERT_OK(results.status());
  EXPECT_TRUE(results->interrupted);
  ASSERT_EQ(results->points.size(), 1u);
  EXPECT_THAT(ToText(*results), HasSubstr("Interrupted"));
  EXPECT_FALSE(std::filesystem::exists(config_.out + "/store/CURRENT"));

  EXPECT_THAT(Grow(config_), StatusIs(absl::StatusCode::kCancelled, HasSubstr("interrupted")));
}

TEST_F(ScaleBenchTest, ReportsImpossibleRequests) {
  config_.sizes = {1000, 1000000000000};
  EXPECT_THAT(Grow(config_), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--out")));
  config_.out = "/proc/nothing";
  EXPECT_THAT(Grow(config_), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/proc/nothing")));
}

Parsed<Config> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "scale");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return ParseCommandLine(static_cast<int>(pointers.size()), pointers.data());
}

TEST(ScaleCommandTest, AcceptsSizesInOrder) {
  EXPECT_THAT(Parse({"--sizes", "2M,1k,2M"}).config.sizes, ElementsAre(1000u, 2000000u));
  EXPECT_EQ(Parse({}).config.sizes.back(), 50000000u);
  EXPECT_EQ(Parse({"--full"}).config.sizes.back(), 100000000u);
  EXPECT_EQ(Parse({"--note", "all is quiet"}).config.note, "all is quiet");
}

TEST(ScaleCommandTest, ExitsWithTwoAfterMistakes) {
  EXPECT_EQ(Parse({"--sizes", "10"}).exit_code, 2);
  EXPECT_EQ(Parse({"--sizes", "many"}).exit_code, 2);
  EXPECT_EQ(Parse({"--full", "--sizes", "1M"}).exit_code, 2);
  EXPECT_EQ(Parse({"--openings", "0"}).exit_code, 2);
  EXPECT_EQ(Parse({"--level1-bytes", "1"}).exit_code, 2);
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace bench::scale
