// The output of commands for tables with range deletes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsm/version/version_edit.h"
#include "tests/tools/commands_fixture.h"
#include "tests/tools/sample_store.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Table 2 has entries and ranges, table 3 has ranges alone.
class RangesTest : public CommandsTest {
 protected:
  RangesTest() {
    auto directory = files_.OpenDirectory("r", true).value();
    lsm::VersionEdit snapshot;
    snapshot.next_file_number = 4;
    snapshot.oldest_log = 4;
    snapshot.last_sequence = 300;
    const std::vector<lsm::RangeDelete> some = {{"key000006", "x", 90}, {"a", "b", 150}},
                                        open = {{"k", {}, 300}};
    snapshot.added = {
        {1, MakeTable(*directory, {.number = 2, .level = 1, .ranges = lsm::RangeMap::Of(some)},
                      NumberedEntries(100, 1))},
        {0, MakeTable(*directory, {.number = 3, .ranges = lsm::RangeMap::Of(open)}, {})}};
    MakeManifest(*directory, snapshot);
    MakeLog(*directory, 4, {}, LogState::kOpen);
  }
};

TEST_F(RangesTest, InfoCountsThem) {
  EXPECT_THAT(Run({"info", "r/000002.table"}).out,
              AllOf(HasSubstr("format 3"), HasSubstr("2 range deletes, "), HasSubstr("a .. x"),
                    HasSubstr("sequence 90 to 150")));
  EXPECT_THAT(Run({"info", "r/000003.table"}).out,
              AllOf(HasSubstr("1 range delete, k .. end"), HasSubstr("none")));
  const json table = Result({"info", "r/000002.table"});
  EXPECT_EQ(table["format_version"], 3);
  EXPECT_EQ(table["range_deletes"], 2);
  EXPECT_EQ(table["entries"], 100);
  EXPECT_EQ(table["largest_sequence"], 100) << "of the entries";
  EXPECT_EQ(Result({"properties", "r/000003.table"})["properties"]["range_deletes"], 1);
}

TEST_F(RangesTest, BlocksListThem) {
  EXPECT_THAT(Run({"blocks", "r/000002.table"}).out, HasSubstr(" ranges "));
  EXPECT_THAT(Run({"blocks", "r/000003.table"}).out,
              AllOf(HasSubstr(" ranges "), HasSubstr("0 data blocks"), Not(HasSubstr("filter"))));
}

TEST_F(RangesTest, ManifestsShowTheirHulls) {
  EXPECT_THAT(Run({"manifest", "r/000001.manifest"}).out,
              AllOf(HasSubstr("2 range deletes, a .. x"), HasSubstr("1 range delete, k .. end")));
  const json added = Result({"manifest", "r/000001.manifest"})["edits"][0]["added"];
  EXPECT_EQ(added[0]["range_deletes"], 2);
  EXPECT_EQ(added[0]["ranges_begin"], "a");
  EXPECT_EQ(added[0]["ranges_end"], "x");
  EXPECT_EQ(added[1]["smallest_key"], "");
  EXPECT_FALSE(added[1].contains("ranges_end"));
}

TEST_F(RangesTest, SoundStoresPassVerify) {
  const RunResult result = Run({"verify", "r"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

}  // namespace
}  // namespace tools
