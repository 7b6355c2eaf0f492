// Lookups and iterators of a store whose memtables and tables have range deletes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/explanation.h"
#include "lsm/snapshot.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Dice;

class RangeReadsTest : public StoreTest {
 protected:
  static std::string KeyOf(int number) { return Concat("k", 10'000 + number); }
  void PutAll(int from, int to) {
    for (int i = from; i < to; ++i) Put(KeyOf(i), "value");
  }
  // Fills the memtable, so that it is sealed and waits for its flush.
  void Seal() { Put("~", std::string(options_.write_buffer_bytes, '~')); }
  uint64_t Ended() { return db_->GetStatistics().lookups_ended_in_range; }
  // Answers of MultiGet, as Get gives them.
  std::vector<std::string> GetAll(const std::vector<std::string_view>& keys) {
    std::vector<std::string> found;
    for (const auto& answer : db_->MultiGet(keys, {})) {
      EXPECT_OK(answer);
      found.push_back(answer.ok() ? answer->value_or("absent") : answer.status().ToString());
    }
    return found;
  }
};

TEST_F(RangeReadsTest, ARangeInTheMemtableHidesATable) {
  Open();
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "old");
  Flush();
  const auto before = db_->GetSnapshot();
  DeleteRange("b", "d");
  Put("c", "new");
  EXPECT_EQ(Get("a"), "old");
  EXPECT_EQ(Get("b"), "absent");
  EXPECT_EQ(Get("c"), "new");
  EXPECT_EQ(Get("d"), "old");
  EXPECT_EQ(Ended(), 1u);
  EXPECT_EQ(Get("b", {.snapshot = before.get()}), "old");
  EXPECT_EQ(Scan(), "a=old c=new d=old");
  EXPECT_EQ(Scan({.snapshot = before.get()}), "a=old b=old c=old d=old");
  EXPECT_THAT(GetAll({"a", "b", "c", "d", "e"}),
              testing::ElementsAre("old", "absent", "new", "old", "absent"));
}

TEST_F(RangeReadsTest, ARangeHidesOlderEntriesOfItsMemtable) {
  Open();
  Put("a", "1");
  Put("b", "1");
  DeleteRange("a", std::nullopt);
  Put("a", "2");
  EXPECT_EQ(Get("a"), "2");
  EXPECT_EQ(Get("b"), "absent");
  EXPECT_EQ(db_->GetStatistics().memtable_hits, 2u);
  EXPECT_EQ(Ended(), 1u);
  EXPECT_EQ(Scan(), "a=2");
}

TEST_F(RangeReadsTest, ARangeHidesASealedMemtable) {
  Open();
  Put("a", "table");
  Put("b", "table");
  Flush();
  Put("b", "sealed");
  Put("c", "sealed");
  Put("e", "sealed");
  Seal();
  Put("d", "active");
  DeleteRange("b", "d");
  ASSERT_EQ(db_->GetStatistics().flushes, 1u);
  EXPECT_EQ(Get("a"), "table");
  EXPECT_EQ(Get("b"), "absent");
  EXPECT_EQ(Get("c"), "absent");
  EXPECT_EQ(Get("d"), "active");
  EXPECT_EQ(Get("e"), "sealed");
  EXPECT_THAT(GetAll({"b", "c", "e"}), testing::ElementsAre("absent", "absent", "sealed"));
  EXPECT_EQ(Scan({.upper_bound = "~"}), "a=table d=active e=sealed");

  const absl::StatusOr<Explanation> explained = db_->Explain("c");
  ASSERT_OK(explained);
  EXPECT_FALSE(explained->found);
  EXPECT_EQ(explained->answered_by, "memtable");
  EXPECT_THAT(explained->ToText(), HasSubstr("memtable: range delete, covered by a range delete"));
}

TEST_F(RangeReadsTest, ASealedRangeHidesATable) {
  Open();
  Put("a", "table");
  Put("b", "table");
  Flush();
  DeleteRange("b", "c");
  Seal();
  Put("c", "active");
  EXPECT_EQ(Get("a"), "table");
  EXPECT_EQ(Get("b"), "absent");
  EXPECT_EQ(Scan({.upper_bound = "~"}), "a=table c=active");
  const absl::StatusOr<Explanation> explained = db_->Explain("b");
  ASSERT_OK(explained);
  EXPECT_EQ(explained->answered_by, "sealed memtable 0");
  EXPECT_THAT(explained->ToText(), AllOf(HasSubstr("memtable: absent\n"), HasSubstr("not read")));
}

TEST_F(RangeReadsTest, ARangeInATableHidesAnOlderTable) {
  Open();
  for (const char* key : {"a", "b", "c"}) Put(key, "old");
  Flush();
  DeleteRange("b", "c");
  Put("a", "new");
  Flush();
  ASSERT_EQ(Levels(), "2");
  EXPECT_EQ(Get("a"), "new");
  EXPECT_EQ(Get("c"), "old");
  EXPECT_EQ(Ended(), 0u);
  EXPECT_EQ(Get("b"), "absent");
  EXPECT_EQ(Ended(), 1u);
  EXPECT_EQ(Scan(), "a=new c=old");
}

TEST_F(RangeReadsTest, AnIteratorSeesTheRangesOfItsTime) {
  Open();
  PutAll(0, 100);
  Flush();
  DeleteRange(KeyOf(10), KeyOf(20));
  const auto early = db_->NewIterator();
  DeleteRange(KeyOf(5), KeyOf(90));
  Put(KeyOf(15), "later");
  const auto late = db_->NewIterator();
  early->Seek(KeyOf(9));
  EXPECT_EQ(early->key(), KeyOf(9));
  early->Next();
  EXPECT_EQ(early->key(), KeyOf(20));
  early->Prev();
  EXPECT_EQ(early->key(), KeyOf(9));
  late->Seek(KeyOf(5));
  EXPECT_EQ(late->key(), KeyOf(15));
  late->Next();
  EXPECT_EQ(late->key(), KeyOf(90));
}

TEST_F(RangeReadsTest, SeeksOverManyDeletedKeysAreFewReads) {
  options_.write_buffer_bytes = 1 << 20;
  Open();
  PutAll(0, 5000);
  CompactAll();
  DeleteRange(KeyOf(10), KeyOf(4990));
  auto iterator = db_->NewIterator();
  const auto blocks = [&] {
    const Statistics statistics = db_->GetStatistics();
    return statistics.scan_blocks_from_cache + statistics.scan_blocks_from_file;
  };
  const uint64_t before = blocks();
  iterator->Seek(KeyOf(10));
  EXPECT_EQ(iterator->key(), KeyOf(4990));
  iterator->Prev();
  EXPECT_EQ(iterator->key(), KeyOf(9));
  iterator->Next();
  EXPECT_EQ(iterator->key(), KeyOf(4990));
  EXPECT_LT(blocks() - before, 12u);
  iterator.reset();
  EXPECT_GT(db_->GetStatistics().range_jumps, 0u);
}

// --- a store beside a map ---

class RangeReadsModelTest : public RangeReadsTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr int kKeys = 120;
  struct Moment {
    std::unique_ptr<const Snapshot> snapshot;
    Contents contents;
  };

  RangeReadsModelTest() : dice_(static_cast<uint64_t>(GetParam())) {}

  std::string SomeKey() { return KeyOf(static_cast<int>(dice_.Roll(kKeys))); }
  void WriteBatchOf(int entries) {
    WriteBatch batch;
    for (; entries > 0; --entries) {
      const std::string key = SomeKey();
      if (ranges_ && dice_.OneIn(8)) {
        std::optional<std::string> to;
        if (!dice_.OneIn(6)) to = SomeKey();
        batch.DeleteRange(key, to);
        if (!to || *to > key)
          contents_.erase(contents_.lower_bound(key),
                          to ? contents_.lower_bound(*to) : contents_.end());
      } else if (dice_.OneIn(5)) {
        batch.Delete(key);
        contents_.erase(key);
      } else {
        const std::string value = Concat("v", ++values_);
        batch.Put(key, value);
        contents_[key] = value;
      }
    }
    ASSERT_OK(db_->Write(batch));
  }
  void Check(const Contents& contents, const ReadOptions& options) {
    std::vector<std::string> keys;
    for (int i = 0; i < kKeys; ++i) keys.push_back(KeyOf(i));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    const auto answers = db_->MultiGet(views, options);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto found = contents.find(keys[i]);
      const std::string expected = found == contents.end() ? "absent" : found->second;
      ASSERT_EQ(Get(keys[i], options), expected) << keys[i];
      ASSERT_OK(answers[i]);
      ASSERT_EQ(answers[i]->value_or("absent"), expected) << keys[i];
    }
    ReadOptions below = options;
    below.upper_bound = "~";
    std::string expected;
    for (const auto& [key, value] : contents)
      expected += Concat(expected.empty() ? "" : " ", key, "=", value);
    ASSERT_EQ(Scan(below), expected);
  }

  Dice dice_;
  bool ranges_ = false;
  int values_ = 0;
  Contents contents_;
};

TEST_P(RangeReadsModelTest, AgreesWithAMap) {
  Open();
  for (int i = 0; i < 30; ++i) {
    WriteBatchOf(5);
    if (dice_.OneIn(6)) Flush();
    if (dice_.OneIn(15)) CompactAll();
  }
  ASSERT_OK(db_->WaitForBackgroundWork());
  std::vector<Moment> moments;
  ranges_ = true;
  bool has_sealed = false;
  int rounds_with_tables = 0;  // that have range deletes
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(Concat("round ", round));
    WriteBatchOf(1 + static_cast<int>(dice_.Roll(5)));
    if (!has_sealed && dice_.OneIn(20)) {
      Seal();
      has_sealed = true;
    }
    if (dice_.OneIn(6)) {
      dice_.OneIn(5) ? CompactAll() : Flush();
      has_sealed = false;
    }
    rounds_with_tables += db_->GetStatistics().total.range_deletes > 0;
    if (dice_.OneIn(5)) moments.push_back({db_->GetSnapshot(), contents_});
    Check(contents_, {});
    if (HasFatalFailure()) return;
    if (moments.empty()) continue;
    const Moment& moment = moments[dice_.Roll(moments.size())];
    Check(moment.contents, {.snapshot = moment.snapshot.get()});
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(rounds_with_tables, 10);
  EXPECT_GT(Ended(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RangeReadsModelTest, testing::Range(0, 12));

}  // namespace
}  // namespace lsm
