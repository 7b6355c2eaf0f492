#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>

#include "tests/examples/programs.h"

namespace {

using testing::HasSubstr;

// A line of the program's output.
struct Row {
  uint64_t lookups = 0, reached = 0, for_nothing = 0, blocks = 0, wrong = 0;
};

class PenetrationGuardTest : public testing_support::ProgramsTest {
 protected:
  static Row RowOf(const std::string& out, const std::string& name) {
    Row row;
    const size_t at = out.find("\n" + name + " ");
    EXPECT_NE(at, out.npos) << out;
    if (at == out.npos) return row;
    std::istringstream line(out.substr(at + 1 + name.size()));
    line >> row.lookups >> row.reached >> row.for_nothing >> row.blocks >> row.wrong;
    EXPECT_TRUE(line) << out;
    return row;
  }
};

TEST_F(PenetrationGuardTest, StopsAbsentIdsBeforeTheStore) {
  const std::string out =
      OutputOf("penetration_guard store --ids 20000 --lookups 200000 --new 0 --seed 5");
  EXPECT_THAT(out, testing::StartsWith("20000 ids; filter rebuilt, 24"));
  const Row without = RowOf(out, "without guard"), with = RowOf(out, "with guard");
  EXPECT_EQ(without.lookups, 200'000u);
  EXPECT_EQ(without.reached, 200'000u);
  EXPECT_NEAR(static_cast<double>(without.for_nothing), 180'000, 600);
  // The lookups are the same.  Those of existing ids and one in a hundred of the others reach the
  // store.
  EXPECT_EQ(with.lookups, 200'000u);
  EXPECT_EQ(with.reached - with.for_nothing, without.reached - without.for_nothing);
  EXPECT_NEAR(static_cast<double>(with.for_nothing), 1800, 180);
  // Without the guard one absent id in a hundred costs a block, with the guard one in a hundred of
  // those.
  EXPECT_NEAR(static_cast<double>(without.blocks), 20'000 + 1800, 1000);
  EXPECT_NEAR(static_cast<double>(with.blocks), 20'000 + 18, 620);
  EXPECT_EQ(without.wrong + with.wrong, 0u);
  EXPECT_THAT(out, HasSubstr("0 ids written meanwhile, 0 of them denied\n"));

  EXPECT_EQ(OutputOf("penetration_guard again --ids 20000 --lookups 200000 --new 0 --seed 5"), out);
}

TEST_F(PenetrationGuardTest, AvoidsBlockReadsWithoutTableFilters) {
  const std::string out = OutputOf(
      "penetration_guard store --ids 5000 --lookups 50000 --absent 100 --new 0 --seed 5 "
      "--fpp 0.001 --table-filters none");
  EXPECT_EQ(RowOf(out, "without guard").blocks, 50'000u);
  const Row with = RowOf(out, "with guard");
  EXPECT_LT(with.blocks, 110u);
  EXPECT_EQ(with.blocks, with.reached);
  EXPECT_EQ(with.for_nothing, with.reached);
}

TEST_F(PenetrationGuardTest, NeverDeniesNewIds) {
  const std::string first =
      OutputOf("penetration_guard store --ids 1000 --lookups 1000 --new 20000");
  EXPECT_THAT(first, HasSubstr("\n20000 ids written meanwhile, 0 of them denied\n"));
  const std::string second =
      OutputOf("penetration_guard store --lookups 50000 --absent 50 --new 0");
  EXPECT_THAT(second, testing::StartsWith("21000 ids; filter as saved, "));
  EXPECT_EQ(RowOf(second, "with guard").wrong, 0u);
}

// The store's log cannot grow beyond a limit.  So a write fails, and the run ends without saving
// its filter, although the run before saved one.
TEST_F(PenetrationGuardTest, NeverUsesIncompleteFilters) {
  OutputOf("penetration_guard store --ids 1000 --lookups 10 --new 10");
  const Outcome failed = Shell(
      "trap '' XFSZ; ulimit -f 64; penetration_guard store --lookups 1000 --new 5000 "
      "--table-filters "
      "none");
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.out, testing::StartsWith("1010 ids; filter as saved, "));
  EXPECT_THAT(failed.err, HasSubstr("File too large"));
  const std::string out = OutputOf("penetration_guard store --lookups 50000 --absent 0 --new 0");
  EXPECT_THAT(out, HasSubstr(" ids; filter rebuilt, "));
  EXPECT_GT(std::stoul(out), 1500u);  // more than the filter of 1010 ids holds
  const Row with = RowOf(out, "with guard");
  EXPECT_EQ(with.wrong, 0u);
  EXPECT_EQ(with.reached, 50'000u);
}

TEST_F(PenetrationGuardTest, ReportsImpossibleRequests) {
  const auto expect = [this](const std::string& command, int code, const std::string& message) {
    const Outcome outcome = Shell(command);
    EXPECT_EQ(outcome.code, code) << command;
    EXPECT_THAT(outcome.err, HasSubstr("penetration_guard: " + message)) << command;
  };
  expect("penetration_guard", 2, "a word is missing");
  expect("penetration_guard store --absent 101", 2, "--absent is no number from 0 to 100: \"101\"");
  expect("penetration_guard store --ids -1", 2, "--ids is no number from 1 to");
  expect("penetration_guard store --table-filters no", 2,
         "Options::filter_kind: no filter kind is called \"no\"");
  expect("penetration_guard /dev/null/store", 2, "/dev/null/store");
  // A store of another program.
  ASSERT_EQ(Shell("exactly_once other <<< 'abc,1'").code, 0);
  expect("penetration_guard other", 1, "the store holds ids that are not of this program");
  ASSERT_EQ(Shell("exactly_once other <<< 'user,1'").code, 0);
  expect("penetration_guard other", 1, "the store holds ids that are not of this program");
}

}  // namespace
