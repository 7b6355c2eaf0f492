// Stores of the three compaction styles: their shapes, their answers, and changes from one style to
// another.
#include "lsm/base/compaction_styles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lsm/version/manifest.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class CompactionStylesTest : public StoreTest {
 protected:
  CompactionStylesTest() {
    options_.compression = Compression::kNone;
    options_.level0_compaction_tables = 3;
  }

  void OpenAs(CompactionStyle style) {
    options_.compaction_style = style;
    Open();
  }

  // Writes a table of level 0.  A quarter of its entries are tombstones.
  void WriteTable(int count = 12) {
    for (int i = 0; i < count; ++i, ++written_) {
      const std::string key = Concat("key", 100 + written_ * 37 % 90);
      if (written_ % 4 == 3) {
        Delete(key);
        model_.erase(key);
      } else {
        const std::string value = Concat(written_, std::string(value_bytes_, 'v'));
        Put(key, value);
        model_[key] = value;
      }
    }
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }

  void Check() {
    ASSERT_OK_AND_ASSIGN(const Contents found, ReadAll(*db_));
    EXPECT_EQ(found, model_);
    for (int i = 0; i < 95; ++i) {
      const std::string key = Concat("key", 100 + i);
      const auto expected = model_.find(key);
      EXPECT_EQ(Get(key), expected == model_.end() ? "absent" : expected->second);
    }
    ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
    EXPECT_THAT(report.problems, testing::IsEmpty());
  }

  // "2 1 3": runs in each level, down to the deepest that has any.
  std::string Runs() {
    std::string shown, more;
    for (const LevelStatistics& level : db_->GetStatistics().levels) {
      more += Concat(shown.empty() && more.empty() ? "" : " ", level.runs);
      if (level.runs > 0) shown += std::exchange(more, "");
    }
    return shown;
  }
  // Checks the shape that the style allows.
  void CheckShape() {
    ASSERT_OK(db_->WaitForBackgroundWork());
    const Statistics statistics = db_->GetStatistics();
    int deepest = 0;
    for (int i = 0; i < kLevels; ++i) {
      if (statistics.levels[static_cast<size_t>(i)].runs > 0) deepest = i;
    }
    for (int i = 1; i < kLevels; ++i) {
      const bool keeps_one =
          options_.compaction_style == CompactionStyle::kLeveled ||
          (options_.compaction_style == CompactionStyle::kLazyLeveled && i == deepest);
      EXPECT_LE(statistics.levels[static_cast<size_t>(i)].runs, keeps_one ? 1u : 2u) << Runs();
    }
    EXPECT_LT(statistics.levels[0].runs, 3u);
  }

  size_t value_bytes_ = 400;
  int written_ = 0;
  Contents model_;
};

TEST_F(CompactionStylesTest, TiersMergeTogether) {
  OpenAs(CompactionStyle::kTiered);
  std::string shapes;
  for (int i = 0; i < 13; ++i) {
    WriteTable();
    shapes += Concat(i == 0 ? "" : ", ", Runs());
  }
  EXPECT_EQ(shapes, "1, 2, 0 1, 1 1, 2 1, 0 2, 1 2, 2 2, 0 0 1, 1 0 1, 2 0 1, 0 1 1, 1 1 1");
  Check();
  // Nothing was merged twice in a level.
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.compactions, 5u);
  EXPECT_EQ(statistics.trivial_moves, 0u);
  Open();
  EXPECT_EQ(Runs(), "1 1 1");
  Check();
}

TEST_F(CompactionStylesTest, LazyLevelingKeepsOneBottomRun) {
  value_bytes_ = 3000;  // all keys take about three times the limit of level 1
  OpenAs(CompactionStyle::kLazyLeveled);
  std::string shapes;
  for (int i = 0; i < 24; ++i) {
    WriteTable();
    CheckShape();
    shapes += Concat(i == 0 ? "" : ", ", Runs());
  }
  EXPECT_THAT(shapes, testing::StartsWith("1, 2, 0 0 1, 1 0 1, 2 0 1, 0 1 1, 1 1 1, 2 1 1, 0 2 1"));
  EXPECT_GT(db_->GetStatistics().trivial_moves, 0u);
  Check();
}

TEST_F(CompactionStylesTest, StoresOpenWithAnyStyle) {
  for (const CompactionStyle from : kCompactionStyles) {
    for (const CompactionStyle to : kCompactionStyles) {
      SCOPED_TRACE(Concat(NameOf(from), " to ", NameOf(to)));
      for (const CompactionStyle style : {from, to}) {
        OpenAs(style);
        for (int i = 0; i < 7; ++i) WriteTable();
        CheckShape();
        Check();
      }
    }
  }
}

TEST_F(CompactionStylesTest, SnapshotsStayTrueInAllStyles) {
  for (const CompactionStyle style : kCompactionStyles) {
    SCOPED_TRACE(NameOf(style));
    OpenAs(style);
    std::vector<std::pair<std::unique_ptr<const Snapshot>, Contents>> snapshots;
    for (int i = 0; i < 14; ++i) {
      WriteTable();
      if (i % 4 == 1) snapshots.emplace_back(db_->GetSnapshot(), model_);
      for (const auto& [snapshot, expected] : snapshots) {
        ASSERT_OK_AND_ASSIGN(const Contents seen, ReadAll(*db_, {.snapshot = snapshot.get()}));
        EXPECT_EQ(seen, expected);
        EXPECT_EQ(Get("key103", {.snapshot = snapshot.get()}),
                  expected.contains("key103") ? expected.at("key103") : "absent");
      }
    }
    snapshots.clear();
    CompactAll();
    EXPECT_EQ(EntriesInTables(), model_.size());
    Check();
  }
}

TEST_F(CompactionStylesTest, FullCompactionsLeaveOneCleanRun) {
  for (const CompactionStyle style : kCompactionStyles) {
    SCOPED_TRACE(NameOf(style));
    OpenAs(style);
    for (int i = 0; i < 8; ++i) WriteTable();
    CompactAll();
    EXPECT_EQ(db_->GetStatistics().total.runs, 1u) << Runs();
    EXPECT_EQ(EntriesInTables(), model_.size());
    EXPECT_DOUBLE_EQ(db_->GetStatistics().space_amplification(), 1);
    Check();
    // A compaction of a range takes only tables in it, and those that overlap them.
    for (int i = 0; i < 5; ++i) WriteTable();
    ASSERT_OK(db_->CompactRange("key120", "key130"));
    Check();
    CheckShape();
  }
}

TEST_F(CompactionStylesTest, TombstonesGoWithTheLastVersion) {
  OpenAs(CompactionStyle::kTiered);
  // Three tables a run: "a" is in the oldest run of level 1, its tombstone in the next one.
  for (const char* put : {"a", "b", "c"}) {
    Put(put, "1");
    Put("z", "1");
    Flush();
  }
  ASSERT_OK(db_->WaitForBackgroundWork());
  for (const char* deleted : {"a", "b", "x"}) {
    Delete(deleted);
    Put("c", "2");
    Flush();
  }
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(Runs(), "0 2");
  EXPECT_EQ(Scan(), "c=2 z=1");
  EXPECT_EQ(Get("a"), "absent");
  EXPECT_EQ(EntriesInTables(),
            4u + 4u);  // judged by the fences, the tombstone of "x" may hide an entry
  CompactAll();
  EXPECT_EQ(Scan(), "c=2 z=1");
  EXPECT_EQ(EntriesInTables(), 2u);
}

TEST_F(CompactionStylesTest, CopiesAndRepairsKeepRuns) {
  OpenAs(CompactionStyle::kTiered);
  for (int i = 0; i < 8; ++i) WriteTable();
  EXPECT_EQ(Runs(), "2 2");
  ASSERT_OK(db_->Checkpoint("/copy"));
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(db_, DB::Open("/copy", options_));
  EXPECT_EQ(Runs(), "2 2");
  Check();
  db_ = nullptr;

  // A block of the older run, in which all keys have older versions than in the newer one.
  const auto contents = ReadManifest(*world_.files->OpenDirectory(kStorePath, false).value());
  ASSERT_OK(contents);
  const auto& level1 = contents->state.levels[1];
  const auto damaged = std::find_if(level1.begin(), level1.end(),
                                    [](const auto& table) { return table.second.run == 0; });
  ASSERT_NE(damaged, level1.end());
  const std::string path = Concat(kStorePath, "/", TableFileName(damaged->first));
  std::string bytes = world_.files->FileBytes(path);
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  world_.files->SetFileBytes(path, bytes);
  ASSERT_OK_AND_ASSIGN(const RepairReport report, DB::Repair(kStorePath, options_));
  EXPECT_EQ(report.tables_rewritten, 1u);
  Open();
  EXPECT_EQ(Runs(), "2 2");
  // Newer entries still hide older ones.
  ASSERT_OK_AND_ASSIGN(const Contents found, ReadAll(*db_));
  for (const auto& [key, value] : found) EXPECT_EQ(value, model_[key]) << key;
  EXPECT_LT(found.size(), model_.size());
  EXPECT_GT(found.size(), model_.size() / 2);
}

}  // namespace
}  // namespace lsm
