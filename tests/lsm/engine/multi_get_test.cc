// MultiGet gives the same answers and counts as single lookups, with fewer reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/limits.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class MultiGetTest : public StoreTest {
 protected:
  using Answers = std::vector<absl::StatusOr<std::optional<std::string>>>;

  // Writes keys k0, k1, ... to tables of several levels and to the memtable, and deletes some.
  void Fill(uint64_t seed) {
    Dice dice(seed);
    for (int i = 0; i < 4000; ++i) {
      const std::string key = Concat("k", dice.Next() % 2000);
      dice.Next() % 5 == 0 ? Delete(key) : Put(key, Concat(key, " of ", i, std::string(60, 'v')));
      if (i == 2000) snapshot_ = db_->GetSnapshot();
    }
    ASSERT_OK(db_->WaitForBackgroundWork());
    ASSERT_GE(db_->GetStatistics().total.tables, 3u);
  }

  std::vector<std::string> SomeKeys(Dice* dice, size_t count) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t kind = dice->Next() % 20;
      keys.push_back(kind == 0            ? std::string(kKeyBytesMax + 1, 'k')  // too long
                     : kind == 1          ? Concat("absent", dice->Next() % 100)
                     : kind == 2          ? ""
                     : kind == 3 && i > 0 ? keys[dice->Next() % i]  // once more
                                          : Concat("k", dice->Next() % 2500));
    }
    return keys;
  }
  Answers MultiGet(const std::vector<std::string>& keys, const ReadOptions& options = {}) {
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    return db_->MultiGet(views, options);
  }
  uint64_t reads() const { return reads_; }
  void CountReads() {
    world_.files->SetFault([this](FileOperation operation, const std::string&, uint64_t) {
      reads_ += operation == FileOperation::kReadAt;
      return absl::OkStatus();
    });
  }

  std::unique_ptr<const Snapshot> snapshot_;
  uint64_t reads_ = 0;
};

TEST_F(MultiGetTest, MatchesGet) {
  for (const size_t cache_bytes : {size_t{0}, size_t{8} << 10, size_t{1} << 20}) {
    options_.block_cache_bytes = cache_bytes;
    snapshot_ = nullptr;
    Open();
    Fill(1);
    Dice dice(2);
    for (int round = 0; round < 60; ++round) {
      ReadOptions options;
      if (round % 3 == 0) options.snapshot = snapshot_.get();
      options.fill_cache = round % 4 != 0;
      // Up to more keys than are looked up at a time.
      const std::vector<std::string> keys = SomeKeys(&dice, dice.Next() % 150);
      const Answers answers = MultiGet(keys, options);
      ASSERT_EQ(answers.size(), keys.size());
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto expected = db_->Get(keys[i], options);
        ASSERT_EQ(answers[i].status(), expected.status());
        if (expected.ok()) {
          ASSERT_EQ(*answers[i], *expected) << keys[i];
        }
      }
    }
  }
}

// Without a cache all counts of lookups equal those of Get, except that each block counts once.
TEST_F(MultiGetTest, CountsLikeGet) {
  options_.block_cache_bytes = 0;
  Open();
  Fill(3);
  Dice dice(4);
  std::vector<std::string> keys = SomeKeys(&dice, 300);
  const Statistics begin = db_->GetStatistics();
  for (const std::string& key : keys) Get(key);
  const Statistics one_by_one = db_->GetStatistics();
  MultiGet(keys);
  const Statistics together = db_->GetStatistics();
  EXPECT_EQ(together.lookups - one_by_one.lookups, one_by_one.lookups - begin.lookups);
  EXPECT_EQ(together.lookups_found - one_by_one.lookups_found,
            one_by_one.lookups_found - begin.lookups_found);
  EXPECT_EQ(together.memtable_hits - one_by_one.memtable_hits,
            one_by_one.memtable_hits - begin.memtable_hits);
  for (size_t i = 0; i < kLevels; ++i) {
    const LevelStatistics a = one_by_one.levels[i].Since(begin.levels[i]);
    const LevelStatistics b = together.levels[i].Since(one_by_one.levels[i]);
    EXPECT_EQ(a.lookups, b.lookups) << i;
    EXPECT_EQ(a.tables_considered, b.tables_considered) << i;
    EXPECT_EQ(a.reads_avoided, b.reads_avoided) << i;
    EXPECT_EQ(a.useful_reads, b.useful_reads) << i;
    EXPECT_EQ(a.wasted_reads, b.wasted_reads) << i;
    EXPECT_EQ(a.false_positives, b.false_positives) << i;
    EXPECT_EQ(a.blocks_from_file, b.blocks_from_file + b.blocks_from_cache) << i;
  }
  EXPECT_GT(together.total.Since(one_by_one.total).useful_reads, 100u);
}

TEST_F(MultiGetTest, ReadsSharedBlocksOnce) {
  Open();
  for (int i = 0; i < 100; ++i) Put(Concat("k", 100 + i), "v");
  CompactAll();
  options_.block_cache_bytes = 0;
  Open();
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back(Concat("k", 120 + i));
  const Statistics before = db_->GetStatistics();
  CountReads();
  for (const auto& answer : MultiGet(keys)) {
    ASSERT_OK(answer);
    EXPECT_EQ(*answer, "v");
  }
  const Statistics now = db_->GetStatistics();
  const uint64_t blocks = now.total.blocks_from_file - before.total.blocks_from_file;
  EXPECT_EQ(reads(), blocks);
  EXPECT_LE(blocks, 6u);  // of 512 bytes
  EXPECT_EQ(now.total.blocks_from_cache - before.total.blocks_from_cache, 60 - blocks);
}

TEST_F(MultiGetTest, CachesBlocksUnlessToldNotTo) {
  Open();
  for (int i = 0; i < 100; ++i) Put(Concat("k", 100 + i), "v");
  CompactAll();
  Open();
  const std::vector<std::string> keys = {"k101", "k150", "k199"};
  MultiGet(keys, {.fill_cache = false});
  EXPECT_EQ(db_->GetStatistics().block_cache_bytes, 0u);
  MultiGet(keys);
  EXPECT_GT(db_->GetStatistics().block_cache_bytes, 0u);
  CountReads();
  MultiGet(keys);
  EXPECT_EQ(reads(), 0u);
}

// If one of several reads fails or returns damaged bytes, only its keys are affected.
TEST_F(MultiGetTest, ReadsFailSeparately) {
  Open();
  for (int i = 0; i < 400; ++i) Put(Concat("k", 100 + i), std::string(100, 'v'));
  CompactAll();
  options_.block_cache_bytes = 0;
  Open();
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back(Concat("k", 100 + 6 * i));
  for (uint64_t broken = 0; broken < 5; ++broken) {
    uint64_t count = 0;
    world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
      const bool fails = operation == FileOperation::kReadAt && count++ == broken;
      return fails ? absl::UnavailableError(Concat(path, ": broken")) : absl::OkStatus();
    });
    const Answers answers = MultiGet(keys);
    size_t failed = 0;
    for (const auto& answer : answers) {
      if (answer.ok()) {
        EXPECT_EQ(**answer, std::string(100, 'v'));
        continue;
      }
      ++failed;
      EXPECT_THAT(answer, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("broken")));
    }
    EXPECT_GE(failed, 1u);
    EXPECT_LE(failed, 2u);
  }
}

}  // namespace
}  // namespace lsm
