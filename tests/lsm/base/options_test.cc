#include "lsm/options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "bloom/catalog.h"
#include "lsm/base/compaction_styles.h"
#include "lsm/filters/filter_choice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::StatusIs;

TEST(OptionsTest, AcceptsDefaults) { EXPECT_OK(ValidateOptions(Options())); }

struct Case {
  std::string name;
  std::function<void(Options*)> change;
};

class RefusedOptionTest : public testing::TestWithParam<Case> {};

TEST_P(RefusedOptionTest, IsNamedWithItsRange) {
  Options options;
  GetParam().change(&options);
  EXPECT_THAT(ValidateOptions(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                                 HasSubstr("Options::" + GetParam().name)));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedOptionTest,
    testing::Values(
        Case{"target_fpp", [](Options* o) { o->target_fpp = 0; }},
        Case{"target_fpp", [](Options* o) { o->target_fpp = 0.51; }},
        Case{"target_fpp", [](Options* o) { o->target_fpp = 0.0000009; }},
        Case{"target_fpp", [](Options* o) { o->target_fpp = std::nan(""); }},
        Case{"filter_kind", [](Options* o) { o->filter_kind = "cuckoo"; }},
        Case{"filter_kind", [](Options* o) { o->filter_kind = ""; }},
        Case{"filter_hash", [](Options* o) { o->filter_hash = static_cast<bloom::DigestHash>(7); }},
        Case{"filter_goal", [](Options* o) { o->filter_goal = FilterGoal::BitsPerKey(0.09); }},
        Case{"filter_goal", [](Options* o) { o->filter_goal = FilterGoal::BitsPerKey(64.1); }},
        Case{"filter_goal",
             [](Options* o) { o->filter_goal = FilterGoal::BitsPerKey(std::nan("")); }},
        Case{"filter_goal", [](Options* o) { o->filter_goal = FilterGoal::Bytes(1023); }},
        Case{"filter_goal",
             [](Options* o) { o->filter_goal = FilterGoal::Bytes((uint64_t{1} << 44) + 8192); }},
        Case{"filter_goal", [](Options* o) { o->filter_goal = FilterGoal::WastedReads(0); }},
        Case{"filter_goal", [](Options* o) { o->filter_goal = FilterGoal::WastedReads(101); }},
        Case{"filter_goal",
             [](Options* o) {
               o->filter_goal = FilterGoal::BitsPerKey(10);
               o->filter_kind = "none";
             }},
        Case{"write_buffer_bytes", [](Options* o) { o->write_buffer_bytes = 65535; }},
        Case{"write_buffer_bytes",
             [](Options* o) { o->write_buffer_bytes = (size_t{4} << 30) + 1; }},
        Case{"block_bytes", [](Options* o) { o->block_bytes = 255; }},
        Case{"block_bytes", [](Options* o) { o->block_bytes = (1 << 20) + 1; }},
        Case{"block_restart_interval", [](Options* o) { o->block_restart_interval = 0; }},
        Case{"block_restart_interval", [](Options* o) { o->block_restart_interval = 1025; }},
        Case{"block_restart_interval", [](Options* o) { o->block_restart_interval = -1; }},
        Case{"compression", [](Options* o) { o->compression = static_cast<Compression>(2); }},
        Case{"file_access", [](Options* o) { o->file_access = static_cast<FileAccess>(3); }},
        Case{"scrub_seconds", [](Options* o) { o->scrub_seconds = 59; }},
        Case{"lock_wait_seconds", [](Options* o) { o->lock_wait_seconds = 1'000'000'001; }},
        Case{"scrub_seconds", [](Options* o) { o->scrub_seconds = 1'000'000'001; }},
        Case{"reserve_bytes", [](Options* o) { o->reserve_bytes = 65535; }},
        Case{"reserve_bytes", [](Options* o) { o->reserve_bytes = (uint64_t{1} << 40) + 1; }},
        Case{"compaction_style",
             [](Options* o) { o->compaction_style = static_cast<CompactionStyle>(3); }},
        Case{"mode", [](Options* o) { o->mode = static_cast<OpenMode>(5); }},
        Case{"table_bytes", [](Options* o) { o->table_bytes = 65535; }},
        Case{"table_bytes", [](Options* o) { o->table_bytes = (uint64_t{2} << 30) + 1; }},
        Case{"level1_bytes", [](Options* o) { o->level1_bytes = 0; }},
        Case{"level1_bytes", [](Options* o) { o->level1_bytes = (uint64_t{1} << 40) + 1; }},
        Case{"level0_compaction_tables", [](Options* o) { o->level0_compaction_tables = 0; }},
        Case{"level0_compaction_tables", [](Options* o) { o->level0_compaction_tables = 21; }},
        Case{"level0_compaction_tables", [](Options* o) { o->level0_stop_tables = 3; }},
        Case{"level0_compaction_tables", [](Options* o) { o->level0_stop_tables = 1001; }}));

TEST(OptionsTest, AcceptsEndsOfRanges) {
  Options options;
  options.target_fpp = 0.000001;
  options.filter_kind = "none";
  options.write_buffer_bytes = 64 << 10;
  options.block_cache_bytes = 0;
  options.block_bytes = 256;
  options.block_restart_interval = 1;
  options.table_bytes = 64 << 10;
  options.level1_bytes = 64 << 10;
  options.scrub_seconds = 60;
  options.reserve_bytes = 64 << 10;
  options.level0_compaction_tables = 1;
  options.level0_stop_tables = 1;
  EXPECT_OK(ValidateOptions(options));
  options.target_fpp = 0.5;
  options.filter_kind = "standard";
  options.write_buffer_bytes = size_t{4} << 30;
  options.block_bytes = 1 << 20;
  options.block_restart_interval = 1024;
  options.table_bytes = uint64_t{2} << 30;
  options.level1_bytes = uint64_t{1} << 40;
  options.reserve_bytes = uint64_t{1} << 40;
  options.level0_stop_tables = 1000;
  EXPECT_OK(ValidateOptions(options));
}

TEST(OptionsTest, ShowsWrongValuesWithTheirRange) {
  Options options;
  options.block_bytes = 100;
  EXPECT_THAT(ValidateOptions(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("100 bytes"), HasSubstr("[256 B, 1.00 MiB]"))));
  options = Options();
  options.filter_kind = "cuckoo";
  EXPECT_THAT(ValidateOptions(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("standard"), HasSubstr("blocked"), HasSubstr("\"by-level\""),
                             HasSubstr("\"none\""))));
}

TEST(CompactionStylesTest, ListHasEveryStyle) {
  for (const CompactionStyle style : kCompactionStyles) EXPECT_STRNE(NameOf(style), "?");
  // A style after the last of the list would have a name.
  EXPECT_STREQ(NameOf(static_cast<CompactionStyle>(std::size(kCompactionStyles))), "?");
}

TEST(OptionsTest, AcceptsGoalsWithinTheirRanges) {
  Options options;
  for (const FilterGoal& goal :
       {FilterGoal(), FilterGoal::BitsPerKey(0.1), FilterGoal::BitsPerKey(64),
        FilterGoal::Bytes(1024), FilterGoal::Bytes(uint64_t{1} << 44),
        FilterGoal::WastedReads(0.000001), FilterGoal::WastedReads(100)}) {
    options.filter_goal = goal;
    EXPECT_OK(ValidateOptions(options)) << goal.ToText();
  }
}

TEST(OptionsTest, ShowsWrongGoalsWithNameAndRange) {
  Options options;
  options.filter_goal = FilterGoal::BitsPerKey(100);
  EXPECT_THAT(ValidateOptions(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("FilterGoal::BitsPerKey(100)"), HasSubstr("[0.1, 64]"))));
  options.filter_goal = FilterGoal::Bytes(1 << 20);
  options.filter_kind = "none";
  EXPECT_THAT(ValidateOptions(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("1.00 MiB of filters"), HasSubstr("filter_kind"))));
}

TEST(FilterGoalTest, HasAText) {
  EXPECT_EQ(FilterGoal(), FilterGoal());
  EXPECT_TRUE(FilterGoal().is_none());
  EXPECT_NE(FilterGoal::BitsPerKey(1), FilterGoal::WastedReads(1));
  EXPECT_EQ(FilterGoal::BitsPerKey(10).ToText(), "10.0 bits a key");
  EXPECT_EQ(FilterGoal::Bytes(64 << 20).ToText(), "64.0 MiB of filters");
  EXPECT_EQ(FilterGoal::WastedReads(0.01).ToText(), "0.0100 wasted reads a lookup");
  EXPECT_EQ(FilterGoal().ToText(), "none");
}

TEST(OptionsTest, AcceptsEveryFilterKind) {
  Options options;
  std::vector<std::string> kinds = {"by-level", "none"};
  bloom::KeyedKinds::ForEach([&]<class Kind>(Kind) { kinds.emplace_back(Kind::kName); });
  EXPECT_GE(kinds.size(), 7u);
  for (const std::string& kind : kinds) {
    options.filter_kind = kind;
    EXPECT_OK(ValidateOptions(options)) << kind;
  }
}

TEST(FilterChoiceTest, ReadsOneKindAndTwo) {
  const FilterChoice blocked = FilterChoice::Of("blocked").value();
  const FilterChoice by_level = FilterChoice::Of("by-level").value();
  const FilterChoice none = FilterChoice::Of("none").value();
  for (int level = 0; level < 7; ++level) {
    EXPECT_EQ(blocked.ForLevel(level)->name(), "blocked");
    EXPECT_EQ(by_level.ForLevel(level)->name(), level < 2 ? "blocked" : "ribbon");
    EXPECT_EQ(none.ForLevel(level), nullptr);
    EXPECT_EQ(FilterChoice().ForLevel(level), nullptr);
  }
}

}  // namespace
}  // namespace lsm
