#include "lsm/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace lsm {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;

Explanation ExampleExplanation() {
  Explanation explanation;
  explanation.key = std::string("k\n\xff", 3);
  explanation.digest = 0xdeadbeef;
  explanation.sequence = 42;
  explanation.memtables.push_back({"memtable", "absent"});
  explanation.tables_by_level = {2, 0, 5};
  TableStep false_positive;
  false_positive.level = 0;
  false_positive.table_number = 9;
  false_positive.smallest_key = "a";
  false_positive.largest_key = "z";
  false_positive.filter = FilterVerdict::kMaybe;
  false_positive.blocks.push_back({3, 12288, 2113, true});
  false_positive.outcome = "absent";
  false_positive.false_positive = true;
  TableStep avoided = false_positive;
  avoided.false_positive = false;
  avoided.table_number = 8;
  avoided.filter = FilterVerdict::kNo;
  avoided.blocks.clear();
  avoided.outcome = "skipped";
  TableStep answer = false_positive;
  answer.false_positive = false;
  answer.level = 2;
  answer.table_number = 4;
  answer.blocks[0].from_cache = false;
  answer.outcome = "put";
  answer.sequence = 17;
  explanation.tables = {false_positive, avoided, answer};
  explanation.found = true;
  explanation.answered_by = "table 4 at level 2";
  explanation.value_bytes = 1234;
  return explanation;
}

TEST(ExplanationTest, TextShowsEveryStep) {
  EXPECT_EQ(ExampleExplanation().ToText(),
            "key k\\x0a\\xff\n"
            "  digest 0x00000000deadbeef, as of sequence 42\n"
            "  memtable: absent\n"
            "  level 0: 2 of 2 tables considered\n"
            "    table 9 [a .. z]: filter says maybe (false positive)\n"
            "      block 3 at offset 12288, 2,113 bytes from cache\n"
            "      absent\n"
            "    table 8 [a .. z]: filter says no\n"
            "      skipped\n"
            "  level 2: 1 of 5 tables considered\n"
            "    table 4 [a .. z]: filter says maybe\n"
            "      block 3 at offset 12288, 2,113 bytes from file\n"
            "      put at sequence 17\n"
            "  found, 1,234 bytes; answered by table 4 at level 2\n");
}

TEST(ExplanationTest, LevelsBelowTheAnswerAreNotReached) {
  Explanation explanation = ExampleExplanation();
  explanation.tables_by_level = {2, 0, 5, 1};
  EXPECT_THAT(explanation.ToText(), HasSubstr("  level 3: 1 table, not reached\n"));
  explanation.tables.clear();
  explanation.memtables[0].outcome = "delete";
  EXPECT_THAT(explanation.ToText(), HasSubstr("  memtable: delete\n"
                                              "  level 0: 2 tables, not reached\n"
                                              "  level 2: 5 tables, not reached\n"));
}

TEST(ExplanationTest, ExpiredPutsEndTheLookup) {
  Explanation explanation = ExampleExplanation();
  explanation.tables_by_level = {2, 0, 5, 1};
  explanation.tables[2].outcome = "expired";
  explanation.tables[2].written = 1'700'000'000;
  explanation.found = false;
  EXPECT_THAT(explanation.ToText(),
              EndsWith("      expired at sequence 17, written 2023-11-14T22:13:20Z\n"
                       "  level 3: 1 table, not reached\n"
                       "  not found; answered by table 4 at level 2\n"));
  EXPECT_EQ(json::parse(explanation.ToJson())["tables"][2]["written"], 1'700'000'000);
  EXPECT_FALSE(json::parse(explanation.ToJson())["tables"][0].contains("written"));
  explanation.tables.clear();
  explanation.memtables[0] = {.name = "memtable", .outcome = "expired", .written = 1};
  EXPECT_THAT(explanation.ToText(), HasSubstr("  memtable: expired, written 1970-01-01T00:00:01Z\n"
                                              "  level 0: 2 tables, not reached\n"));
  EXPECT_EQ(json::parse(explanation.ToJson())["memtables"][0]["written"], 1);
}

TEST(ExplanationTest, LevelsBelowAFailureAreNotReached) {
  Explanation explanation = ExampleExplanation();
  explanation.tables[0].outcome = "failed";
  explanation.tables[0].false_positive = false;
  explanation.tables.resize(1);
  explanation.found = false;
  explanation.error = "no luck";
  EXPECT_THAT(explanation.ToText(),
              EndsWith("  level 0: 1 of 2 tables considered\n"
                       "    table 9 [a .. z]: filter says maybe\n"
                       "      block 3 at offset 12288, 2,113 bytes from cache\n"
                       "      failed\n"
                       "  level 2: 5 tables, not reached\n"
                       "  UNKNOWN: no luck\n"));
  EXPECT_EQ(json::parse(explanation.ToJson())["error"], "no luck");
}

TEST(ExplanationTest, NewerVersionsAreNoFalsePositives) {
  Explanation explanation = ExampleExplanation();
  explanation.tables[0].false_positive = false;
  EXPECT_THAT(explanation.ToText(), HasSubstr("table 9 [a .. z]: filter says maybe\n"));
}

TEST(ExplanationTest, JsonHoldsEveryStep) {
  const json parsed = json::parse(ExampleExplanation().ToJson());
  EXPECT_EQ(parsed["key"], "k\\x0a\\xff");
  EXPECT_EQ(parsed["digest"], "0x00000000deadbeef");
  EXPECT_EQ(parsed["memtables"][0]["outcome"], "absent");
  EXPECT_EQ(parsed["tables_by_level"], json({2, 0, 5}));
  EXPECT_EQ(parsed["tables"][0]["filter"], "maybe");
  EXPECT_EQ(parsed["tables"][0]["blocks"][0]["from"], "cache");
  EXPECT_FALSE(parsed["tables"][0].contains("sequence"));
  EXPECT_EQ(parsed["tables"][1]["outcome"], "skipped");
  EXPECT_EQ(parsed["tables"][2]["sequence"], 17);
  EXPECT_EQ(parsed["found"], true);
  EXPECT_EQ(parsed["value_bytes"], 1234);
}

TEST(ExplanationTest, CutsLongKeysInTextOnly) {
  Explanation explanation;
  explanation.key.assign(1000, 'x');
  EXPECT_THAT(explanation.ToText(), HasSubstr("(1000 bytes)"));
  EXPECT_EQ(json::parse(explanation.ToJson())["key"].get<std::string>().size(), 1000u);
}

TEST(ExplanationTest, VerdictsHaveNames) {
  for (const FilterVerdict verdict :
       {FilterVerdict::kAbsent, FilterVerdict::kNo, FilterVerdict::kMaybe, FilterVerdict::kDamaged,
        FilterVerdict::kUnknown}) {
    EXPECT_STRNE(NameOf(verdict), "?");
  }
}

}  // namespace
}  // namespace lsm
