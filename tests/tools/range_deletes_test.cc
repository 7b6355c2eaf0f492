// Range deletes in tables, as sstdump shows, applies and checks them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lsm/base/range_map.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version_edit.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/support/range_maps.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/commands_fixture.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RangeDeletesTest : public CommandsTest {
 protected:
  RangeDeletesTest() { MakeStoreOfRanges(files_, "r"); }

  lsm::StoreForger Forger() { return {&files_, "r"}; }
  std::unique_ptr<lsm::Directory> Directory() {
    return files_.OpenDirectory("r", /*create=*/false).value();
  }

  // Returns the offset of the table's range deletes, one bit of which is other than it was.
  uint64_t DamageRanges(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    auto file = Directory()->OpenRead(name, lsm::ReadMode::kBuffered).value();
    const uint64_t offset = lsm::Table::Open(std::move(file), {}).value()->footer().ranges.offset;
    std::string bytes = files_.FileBytes(path);
    bytes[offset] ^= 4;
    files_.SetFileBytes(path, bytes);
    return offset;
  }
};

TEST_F(RangeDeletesTest, ScanShowsThemAsRows) {
  EXPECT_THAT(Lines(Run({"scan", "r/000003.table"}).out),
              ElementsAre("c\t9\trange delete\tf", "d\t8\tput\td8", "e\t10\tput\te10"));
  // After the last entry, and without an end.
  EXPECT_EQ(Lines(Run({"scan", "r/000002.table"}).out).back(), "x\t7\trange delete\t");
  EXPECT_THAT(Lines(Run({"scan", "r/000004.table"}).out),
              ElementsAre("a\t12\trange delete\tb", "e\t11\trange delete\th"));
  const json entries = Result({"scan", "r/000002.table"})["entries"];
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(
      entries[6],
      (json{{"file", "r/000002.table"}, {"from", "x"}, {"sequence", 7}, {"kind", "range delete"}}));
  EXPECT_EQ(Result({"scan", "r/000003.table"})["entries"][0]["to"], "f");
}

TEST_F(RangeDeletesTest, ScanShowsEachSequence) {
  const std::vector<lsm::RangeDelete> ranges = {{"b", "f", 5}, {"d", "h", 9}};
  const std::vector<lsm::Sequence> snapshots = {5};  // so both stay where they overlap
  MakeTable(*Directory(), {.number = 9, .ranges = testing_support::RangesOf(ranges, snapshots)},
            {{"e", 7, false, "v"}});
  EXPECT_THAT(Lines(Run({"scan", "r/000009.table"}).out),
              ElementsAre("b\t5\trange delete\td", "d\t9\trange delete\tf", "d\t5\trange delete\tf",
                          "e\t7\tput\tv", "f\t9\trange delete\th"));
}

TEST_F(RangeDeletesTest, ScanKeepsToItsBounds) {
  const auto scan = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"scan", "r/000003.table"});
    return Lines(Run(options).out);
  };
  // A range that begins before the bounds reaches into them.
  EXPECT_THAT(scan({"--from", "e"}), ElementsAre("c\t9\trange delete\tf", "e\t10\tput\te10"));
  EXPECT_THAT(scan({"--from", "f"}), ElementsAre());
  EXPECT_THAT(scan({"--to", "d"}), ElementsAre("c\t9\trange delete\tf"));
  EXPECT_THAT(scan({"--to", "c"}), ElementsAre());
  EXPECT_THAT(scan({"--limit", "1"}), ElementsAre("c\t9\trange delete\tf"));
  EXPECT_THAT(scan({"--limit", "2"}), ElementsAre("c\t9\trange delete\tf", "d\t8\tput\td8"));
  EXPECT_THAT(scan({"--keys-only"}), ElementsAre("d", "e"));
  EXPECT_THAT(Lines(Run({"scan", "r/000004.table", "--limit", "1"}).out),
              ElementsAre("a\t12\trange delete\tb"));
  EXPECT_THAT(Lines(Run({"scan", "r/000002.table", "--from", "y"}).out),
              ElementsAre("x\t7\trange delete\t"));
}

TEST_F(RangeDeletesTest, DumpAppliesThem) {
  // a, e and g are hidden by level 0, c and d by level 1, of which the log has a newer c; i by the
  // log.
  EXPECT_THAT(Lines(Run({"dump", "r"}).out), ElementsAre("c\tc13", "k\tk6"));
  EXPECT_THAT(Lines(Run({"dump", "r", "--from", "d", "--to", "k"}).out), ElementsAre());
  EXPECT_THAT(Lines(Run({"dump", "r", "--from", "j"}).out), ElementsAre("k\tk6"));
}

TEST_F(RangeDeletesTest, ExplainAppliesThem) {
  for (const std::string key : {"a", "b", "d", "e", "g", "i", "x"}) {
    EXPECT_EQ(Result({"explain", "r", key})["explanation"]["found"], false) << key;
    EXPECT_EQ(Run({"get", "--raw", "r", key}).out, "") << key;
  }
  EXPECT_EQ(Run({"get", "--raw", "r", "c"}).out, "c13");
  EXPECT_EQ(Run({"get", "--raw", "r", "k"}).out, "k6");
  EXPECT_THAT(Run({"explain", "r", "g"}).out,
              AllOf(HasSubstr("range delete"), HasSubstr("sequence 11")));
  EXPECT_THAT(Run({"explain", "r", "i"}).out, HasSubstr("000005.log: range delete"));
}

// A missing table below a range delete does not matter; one above it does.
TEST_F(RangeDeletesTest, ExplainNeedsNoTableBelowThem) {
  ASSERT_OK(Directory()->Remove("000003.table"));
  EXPECT_FALSE(Result({"explain", "r", "e"}, 1)["explanation"].contains("error"));
  EXPECT_THAT(Result({"explain", "r", "d"}, 1)["explanation"]["error"].get<std::string>(),
              HasSubstr("000003.table"));
  ASSERT_OK(Directory()->Remove("000004.table"));
  EXPECT_THAT(Result({"explain", "r", "e"}, 1)["explanation"]["error"].get<std::string>(),
              HasSubstr("000004.table"));
}

TEST_F(RangeDeletesTest, TablesMayHoldTheKeysOfTheirSpans) {
  std::map<uint64_t, PlacedTable> tables;
  for (const PlacedTable& table : TablesInOrder(lsm::ReadManifest(*Directory()).value().state))
    tables[table.meta.number] = table;
  const auto holds = [&](uint64_t number, const std::vector<std::string>& keys) {
    std::string shown;
    for (const std::string& key : keys) shown += tables.at(number).MayHold(key) ? '1' : '0';
    return shown;
  };
  EXPECT_EQ(holds(2, {"", "a", "b", "k", "x", "z"}), "011111") << "the range has no end";
  EXPECT_EQ(holds(3, {"b", "c", "e", "ez", "f", "g"}), "011100") << "the end is excluded";
  EXPECT_EQ(holds(4, {"", "a", "c", "g", "h"}), "01110") << "it has no entries";
  // The last key of this one is an entry's, so the span ends after it.
  const lsm::TableMeta meta = MakeTable(*Directory(), {.number = 9}, {{"d", 1}, {"k", 2}});
  tables[9] = {0, meta, "000009.table"};
  EXPECT_EQ(holds(9, {"c", "d", "e", "k", std::string("k\0", 2), "l"}), "011100");
}

TEST_F(RangeDeletesTest, GetHasThemAmongTheVersions) {
  const json newest = Result({"get", "r/000003.table", "d"});
  EXPECT_EQ(newest["answer"], "range delete");
  EXPECT_EQ(newest["versions"],
            json::array({{{"sequence", 9}, {"kind", "range delete"}, {"value_bytes", 0}},
                         {{"sequence", 8}, {"kind", "put"}, {"value_bytes", 2}}}));
  EXPECT_FALSE(newest.contains("value"));
  const json older = Result({"get", "r/000003.table", "e"});
  EXPECT_EQ(older["answer"], "put");
  EXPECT_EQ(older["value"], "e10");
  EXPECT_EQ(older["versions"].size(), 2u);
  EXPECT_EQ(Result({"get", "r/000004.table", "a"})["answer"], "range delete");
  EXPECT_EQ(Result({"get", "r/000004.table", "b"})["answer"], "absent");
  EXPECT_THAT(Run({"get", "r/000003.table", "d"}).out,
              AllOf(HasSubstr("  answer  range delete at sequence 9\n"),
                    HasSubstr("  older   put at sequence 8, 2 bytes\n")));
  EXPECT_EQ(Run({"get", "--raw", "r/000003.table", "d"}).out, "");
  EXPECT_EQ(Run({"get", "--raw", "r/000003.table", "e"}).out, "e10");
}

TEST_F(RangeDeletesTest, GetCountsVersionsThatItDoesNotShow) {
  std::vector<SampleEntry> entries;
  for (uint64_t i = 30; i > 0; --i) entries.push_back({"k", 2 * i, false, std::to_string(i)});
  std::vector<lsm::RangeDelete> ranges;
  std::vector<lsm::Sequence> snapshots;
  for (uint64_t i = 1; i <= 30; ++i) {
    ranges.push_back({"a", "z", 2 * i + 1});
    snapshots.push_back(2 * i + 1);
  }
  MakeTable(*Directory(), {.number = 9, .ranges = testing_support::RangesOf(ranges, snapshots)},
            entries);
  const RunResult result = Run({"get", "r/000009.table", "k"});
  EXPECT_THAT(result.out, AllOf(HasSubstr("  answer  range delete at sequence 61\n"),
                                HasSubstr("  older   put at sequence 60"),
                                HasSubstr("  older   put at sequence 42"),
                                Not(HasSubstr("sequence 41")), HasSubstr("  older   40 more\n")));
}

TEST_F(RangeDeletesTest, InfoShowsHullAndCounts) {
  EXPECT_THAT(Run({"info", "r/000003.table"}).out,
              AllOf(HasSubstr("  ranges   1 range delete, c .. f; sequence 9 to 9, "),
                    HasSubstr("  checked  footer, index, filter, ranges, properties")));
  const RunResult alone = Run({"info", "r/000004.table"});
  EXPECT_THAT(alone.out, AllOf(HasSubstr("  entries  none: the table has range deletes alone\n"),
                               HasSubstr("  ranges   2 range deletes, a .. h; sequence 11 to 12"),
                               HasSubstr("  filter   none\n"), Not(HasSubstr("  keys "))));
  const json table = Result({"info", "r/000004.table"});
  EXPECT_EQ(table["entries"], 0);
  EXPECT_EQ(table["range_deletes"], 2);
  EXPECT_EQ(table["ranges_begin"], "a");
  EXPECT_EQ(table["ranges_end"], "h");
  EXPECT_EQ(table["ranges_smallest_sequence"], 11);
  EXPECT_EQ(table["ranges_largest_sequence"], 12);
  EXPECT_THAT(Run({"info", "r/000002.table"}).out,
              AllOf(HasSubstr("format 3"), HasSubstr("  entries  6 "),
                    HasSubstr("  ranges   1 range delete, x .. end; sequence 7 to 7, ")));
  const json open = Result({"info", "r/000002.table"});
  EXPECT_EQ(open["ranges_begin"], "x");
  EXPECT_FALSE(open.contains("ranges_end"));
  EXPECT_EQ(open["format_version"], 3);
  EXPECT_EQ(open["entries"], 6);
  EXPECT_EQ(open["range_deletes"], 1);
  EXPECT_EQ(open["largest_sequence"], 6) << "of the entries";
  EXPECT_THAT(Run({"info", "r"}).out,
              AllOf(HasSubstr("8 entries, 4 range deletes (sstdump levels)"), HasSubstr("a .. k")));
  EXPECT_EQ(Result({"info", "r"})["range_deletes"], 4);
  EXPECT_EQ(Result({"info", "r"})["smallest_key"], "a");
}

TEST_F(RangeDeletesTest, PropertiesBlocksAndManifestShowThem) {
  EXPECT_EQ(Result({"properties", "r/000004.table"})["properties"]["range_deletes"], 2);
  const json blocks = Result({"blocks", "r/000004.table"});
  EXPECT_EQ(blocks["data_blocks"], 0);
  EXPECT_EQ(blocks["other_blocks"][1]["name"], "ranges");
  EXPECT_EQ(blocks["other_blocks"][1]["sound"], true);
  EXPECT_THAT(Run({"blocks", "r/000004.table"}).out,
              AllOf(HasSubstr(" ranges "), HasSubstr("0 data blocks"), Not(HasSubstr("filter"))));
  EXPECT_THAT(Run({"blocks", "r/000002.table"}).out,
              AllOf(HasSubstr(" ranges "), HasSubstr("6 data blocks"), HasSubstr(" filter ")));
  EXPECT_THAT(Run({"manifest", "r"}).out, HasSubstr("        2 range deletes, a .. h\n"));
  const json tables = Result({"manifest", "r"})["state"]["tables"];
  EXPECT_EQ(tables[0]["ranges_end"], "h");
  const json added = Result({"manifest", "r/000001.manifest"})["edits"][0]["added"];
  ASSERT_EQ(added.size(), 3u);
  for (const json& table : added) {
    const bool is_alone = table["number"] == 4, is_open = table["number"] == 2;
    EXPECT_EQ(table["smallest_key"] == "", is_alone) << table;
    EXPECT_EQ(table["range_deletes"], is_alone ? 2 : 1) << table;
    EXPECT_EQ(table.contains("ranges_end"), !is_open) << table;
  }
  EXPECT_EQ(added[0]["ranges_begin"], "x");
  EXPECT_EQ(added[1]["ranges_begin"], "c");
  EXPECT_EQ(added[1]["ranges_end"], "f");
  EXPECT_EQ(added[2]["ranges_begin"], "a");
  EXPECT_EQ(added[2]["ranges_end"], "h");
  EXPECT_THAT(Run({"manifest", "r/000001.manifest"}).out,
              AllOf(HasSubstr("2 range deletes, a .. h\n"), HasSubstr("1 range delete, c .. f\n"),
                    HasSubstr("1 range delete, x .. end\n")));
}

// A filter has the keys of entries, not those of ranges.
TEST_F(RangeDeletesTest, FiltersAreShownBesideThem) {
  const json beside = Result({"filter", "r/000003.table"});
  EXPECT_EQ(beside["state"], "usable");
  EXPECT_EQ(beside["key_count"], 2);
  EXPECT_EQ(beside["measured"]["keys"], 2);
  EXPECT_EQ(beside["measured"]["false_negatives"], 0);
  EXPECT_THAT(Run({"filter", "r/000003.table"}).out,
              AllOf(HasSubstr("filter of kind blocked"), HasSubstr("2 asked, all passed")));
  const RunResult alone = Run({"filter", "r/000004.table"});
  EXPECT_EQ(alone.code, 0);
  EXPECT_THAT(alone.out, HasSubstr("no filter: the table has range deletes alone\n"));
  EXPECT_EQ(Result({"filter", "r/000004.table"})["state"], "absent");
}

TEST_F(RangeDeletesTest, LevelsCountThem) {
  const json levels = Result({"levels", "r"});
  EXPECT_EQ(levels["total"]["range_deletes"], 4);
  EXPECT_EQ(levels["levels"][0]["range_deletes"], 2);
  EXPECT_EQ(levels["levels"][0]["expected_wasted_reads"], 0) << "it has no keys";
  EXPECT_EQ(levels["levels"][0]["filter"], "") << "it has no keys";
  EXPECT_EQ(levels["levels"][1]["filter"], "blocked");
  EXPECT_GT(levels["levels"][1]["expected_wasted_reads"], 0);
  EXPECT_EQ(levels["tables"][0]["ranges_begin"], "a");
  // They hide a, c, e and g in level 2, where i and k stay.  Each key has a block of its own.
  const double hidden = levels["levels"][2]["hidden_bytes"];
  EXPECT_NEAR(hidden / levels["levels"][2]["table_bytes"].get<double>(), 4.0 / 6, 0.02);
  EXPECT_EQ(levels["levels"][0]["hidden_bytes"], 0) << "nothing is newer";
  EXPECT_EQ(levels["tables"].back()["hidden_bytes"], levels["levels"][2]["hidden_bytes"]);
  const RunResult text = Run({"levels", "--tables", "r"});
  EXPECT_THAT(text.out, AllOf(HasSubstr("ranges  hidden"), HasSubstr("- (range deletes alone)"),
                              HasSubstr("hidden: estimated bytes")));
  MakeSampleStore(files_, "without");
  EXPECT_THAT(Run({"levels", "--tables", "without"}).out, Not(HasSubstr("ranges")));
}

TEST_F(RangeDeletesTest, VerifyChecksThem) {
  const RunResult sound = Run({"verify", "r"});
  EXPECT_EQ(sound.code, 0) << sound.out << sound.err;
  EXPECT_THAT(sound.out, HasSubstr("0 data blocks, 0 entries, 2 range deletes, "));

  Forger().ChangeRecord(4, [](lsm::VersionEdit::Added* added) { added->table.ranges.end = "i"; });
  EXPECT_THAT(Run({"verify", "r"}).out,
              HasSubstr("the manifest says range deletes 2 range deletes from \"a\" to \"i\", the "
                        "table has 2 range deletes from \"a\" to \"h\""));
}

TEST_F(RangeDeletesTest, VerifyFindsNewerOnesBelowEntries) {
  Forger().ChangeRecord(4, [](lsm::VersionEdit::Added* added) { added->level = 3; });
  const RunResult result = Run({"verify", "r"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("key \"a\": the range delete in 000004.table is newer "
                              "than the entry above it, in 000002.table"),
                    HasSubstr("key \"e\""), HasSubstr("key \"g\""), Not(HasSubstr("key \"c\""))));
}

TEST_F(RangeDeletesTest, WritesBeyondTheLastSequenceMayBeRanges) {
  Forger().ChangeManifest([](lsm::VersionEdit* edit) { edit->last_sequence = 11; });
  EXPECT_THAT(Run({"verify", "r"}).out, HasSubstr("the table holds writes up to sequence 12"));
}

// Their keys are unknown, but everything else is shown.
TEST_F(RangeDeletesTest, DamagedOnesAreNamed) {
  const std::string path = "r/000003.table";
  const std::string problem = lsm::Concat(path, ": offset ", DamageRanges(path), ": ");
  const auto fails = [&](const std::vector<std::string>& arguments) {
    const RunResult result = Run(arguments);
    EXPECT_EQ(result.code, 1) << arguments[0];
    EXPECT_THAT(result.out + result.err, HasSubstr(problem)) << arguments[0];
    return result.out;
  };
  EXPECT_THAT(fails({"info", path}),
              AllOf(HasSubstr("  ranges   damaged: which keys they delete is unknown\n"),
                    HasSubstr("checked  footer, index, filter, properties")));
  EXPECT_THAT(Lines(fails({"scan", path})), ElementsAre("d\t8\tput\td8", "e\t10\tput\te10"));
  EXPECT_THAT(fails({"blocks", path}), HasSubstr("BAD"));
  EXPECT_THAT(fails({"get", path, "d"}), HasSubstr("  answer  unknown"));
  EXPECT_EQ(fails({"get", "--raw", path, "d"}), "");
  EXPECT_THAT(fails({"verify", path}), HasSubstr("DAMAGED"));
  fails({"verify", "r"});
  fails({"levels", "r"});
  EXPECT_EQ(fails({"dump", "r"}), "");
  EXPECT_THAT(Run({"explain", "r", "d"}).out, HasSubstr("UNKNOWN"));
  EXPECT_EQ(Run({"properties", path}).code, 0);
}

TEST_F(RangeDeletesTest, TablesOfAnotherKindOfFileAreNone) {
  files_.SetFileBytes("r/000004.table", "not a table");
  const RunResult result = Run({"scan", "r/000004.table"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("r/000004.table: "));
  EXPECT_EQ(Run({"dump", "r"}).out, "");
}

// No byte of such a store makes a command fail otherwise than by a message.
TEST_F(RangeDeletesTest, AnyFlippedByteIsFound) {
  for (const std::string path : {"r/000003.table", "r/000004.table"}) {
    const std::string sound = files_.FileBytes(path);
    for (size_t i = 0; i < sound.size(); ++i) {
      std::string bytes = sound;
      bytes[i] ^= 1;
      files_.SetFileBytes(path, bytes);
      EXPECT_EQ(Run({"verify", path}).code, 1) << path << " offset " << i;
    }
    files_.SetFileBytes(path, sound);
  }
}

}  // namespace
}  // namespace tools
