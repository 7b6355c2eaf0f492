// The command as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/bench/interrupted_run.h"
#include "tests/support/read_file.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"

namespace bench {
namespace {

using testing::HasSubstr;
using testing_support::ReadFile;

class ReadAmpCommandTest : public testing::Test {
 protected:
  using Outcome = testing_support::ProgramResult;

  static Outcome Run(const std::string& arguments) {
    return testing_support::RunShell(std::string(TRELLIS_READ_AMP) + " " + arguments);
  }

  const testing_support::ScratchDir scratch_{testing_support::FastFolder()};
  const std::string out_ = scratch_.path_of("out");
};

TEST_F(ReadAmpCommandTest, SmallRunsWriteReportsAndATable) {
  const Outcome outcome =
      Run("--synthetic 3000 --lookups 2000 --rounds 2 --fpp 0.01 --out " + out_);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Avoided I/O"));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(out_) == std::string::npos) {
      EXPECT_LE(line.size(), 120u) << line;
    }
  }
  EXPECT_THAT(outcome.err, HasSubstr("round 2 of 2"));
  EXPECT_EQ(outcome.err.find('\r'), std::string::npos) << "a pipe is no terminal";

  const nlohmann::json json =
      nlohmann::json::parse(ReadFile(out_ + "/report.json"), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["keys"]["stored"], 3000);
  EXPECT_EQ(json["stores"].size(), 3u);  // none, standard, blocked
  EXPECT_EQ(json["cells"].size(), 27u);  // x 3 caches x 3 workloads
  ASSERT_EQ(json["caches"].size(), 3u);
  int tenths = 0;
  for (const auto& cache : json["caches"]) {
    if (cache["name"] != "tenth") continue;
    ++tenths;
    EXPECT_GT(cache["least_fill"], 0.5);  // it holds some blocks only
    EXPECT_THAT(cache["note"], HasSubstr("% full or more at the start"));
  }
  EXPECT_EQ(tenths, 1);
  for (const auto& cell : json["cells"]) {
    if (cell["store"] == "none" || cell["workload"] != "absent") continue;
    EXPECT_GT(cell["avoided_io_percent"], 90) << cell;
  }
  EXPECT_THAT(ReadFile(out_ + "/report.html"), HasSubstr("</html>"));
}

// The same seed gives the same keys, lookups and filters.  Only the times differ.
TEST_F(ReadAmpCommandTest, SeedsRepeatTheCounts) {
  const auto counts = [this](const std::string& name, int seed) {
    const std::string out = scratch_.path_of(name);
    const Outcome outcome =
        Run("--synthetic 5000 --lookups 3000 --rounds 1 --fpp 0.1 --filters blocked --seed " +
            std::to_string(seed) + " --out " + out);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const nlohmann::json json = nlohmann::json::parse(ReadFile(out + "/report.json"));
    nlohmann::json counted;
    for (nlohmann::json store : json["stores"]) {
      store.erase("load_seconds");
      counted.push_back(store);
    }
    for (const auto& cell : json["cells"]) {
      counted.push_back({cell["store"], cell["cache"], cell["workload"], cell["lookups"],
                         cell["per_lookup"], cell["avoided_io_percent"]});
    }
    return counted;
  };
  const nlohmann::json first = counts("first", 5);
  EXPECT_EQ(first, counts("second", 5));
  EXPECT_NE(first, counts("third", 6));
}

TEST_F(ReadAmpCommandTest, WrongUsageExitsWithTwo) {
  EXPECT_EQ(Run("").code, 2);
  EXPECT_EQ(Run("--synthetic 1000 --fpp 0.9").code, 2);
  EXPECT_EQ(Run("--synthetic 1000 --filters bloomier").code, 2);
  const Outcome missing = Run("--keys /no/such/file");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.err, HasSubstr("/no/such/file"));
  EXPECT_EQ(Run("--help").code, 0);
}

TEST_F(ReadAmpCommandTest, NamesOutputsThatCannotBeCreated) {
  std::ofstream(scratch_.path_of("file")) << "x";
  const Outcome outcome = Run("--synthetic 1000 --out " + scratch_.path_of("file"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr(scratch_.path_of("file")));
}

// The first byte of /proc/self/mem cannot be read, not even by root.
TEST_F(ReadAmpCommandTest, FailedPagesKeepTheFigures) {
  const Outcome outcome =
      Run("--synthetic 1000 --lookups 100 --rounds 1 --filters none --caches fits "
          "--chart-js /proc/self/mem --out " +
          out_);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("/proc/self/mem: cannot be read"));
  EXPECT_THAT(outcome.out, HasSubstr("Avoided I/O"));
  EXPECT_TRUE(nlohmann::json::accept(ReadFile(out_ + "/report.json")));
  EXPECT_FALSE(std::filesystem::exists(out_ + "/report.html"));
}

TEST_F(ReadAmpCommandTest, InterruptBeforeMeasurementsWritesNoReport) {
  const std::string err = scratch_.path_of("stderr");
  EXPECT_EQ(
      RunInterrupted(TRELLIS_READ_AMP, {"--synthetic", "20000", "--seconds", "100", "--out", out_},
                     "load none", err),
      130);
  EXPECT_THAT(ReadFile(err), HasSubstr("interrupted"));
  EXPECT_FALSE(std::filesystem::exists(out_ + "/report.json"));
  EXPECT_FALSE(std::filesystem::exists(out_ + "/report.html"));
}

TEST_F(ReadAmpCommandTest, InterruptReportsFinishedMeasurements) {
  const std::string err = scratch_.path_of("stderr");
  EXPECT_EQ(
      RunInterrupted(TRELLIS_READ_AMP,
                     {"--synthetic", "1000", "--filters", "blocked", "--fpp", "0.01", "--caches",
                      "fits,none", "--seconds", "0.05", "--rounds", "1000", "--out", out_},
                     "round 1 of 1000, cache none", err),
      130);
  const nlohmann::json json =
      nlohmann::json::parse(ReadFile(out_ + "/report.json"), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["interrupted"], true);
  // The cache `fits` was measured: two stores, three workloads.
  EXPECT_GE(json["cells"].size(), 6u);
  EXPECT_THAT(ReadFile(out_ + "/report.html"), HasSubstr("the run was interrupted"));
}

}  // namespace
}  // namespace bench
