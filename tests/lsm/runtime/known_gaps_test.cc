#include "lsm/runtime/known_gaps.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "lsm/bytes/status.h"
#include "tests/lsm/runtime/written_views.h"

namespace lsm {
namespace {

constexpr uint64_t kWalked = 1000;

class KnownGapsTest : public testing::Test {
 protected:
  // The reader that comes now, with this number (none: the last one).
  ReadPoint Point(std::optional<Sequence> number = std::nullopt,
                  KeyspaceId keyspace = kDefaultKeyspace) {
    view_ = writes_.Now();
    return ReadPoint::In(view_, number.value_or(writes_.last()), keyspace);
  }
  void Record(std::string_view from, std::optional<std::string_view> to,
              uint64_t walked = kWalked) {
    gaps_.Record(Point(), from, to, walked);
  }
  // The part that a reader jumps over from the key: "b-d", "b-" if it has no end, or "none".
  std::string FoundAt(const ReadPoint& point, std::string_view key) {
    KnownGaps::Range range;
    if (!gaps_.Find(point, key, &range)) return "none";
    std::string from(range.from.view());
    if (from.ends_with('\0')) from.back() = '+';
    return Concat(from, "-", range.has_end ? range.to.view() : std::string_view());
  }
  std::string Found(std::string_view key) { return FoundAt(Point(), key); }

  WrittenViews writes_{/*recent_max=*/16};
  ReadView view_;
  KnownGaps gaps_;
};

TEST_F(KnownGapsTest, HasItsKeysWithoutTheEnd) {
  EXPECT_TRUE(gaps_.empty());
  EXPECT_EQ(Found("c"), "none");
  Record("b", "d");
  EXPECT_FALSE(gaps_.empty());
  EXPECT_EQ(Found("a"), "none");
  EXPECT_EQ(Found("b"), "b-d");
  EXPECT_EQ(Found("czz"), "b-d");
  EXPECT_EQ(Found("d"), "none");
  Record("x", std::nullopt);
  Record("", "a");
  EXPECT_EQ(Found("zzz"), "x-");
  EXPECT_EQ(Found(""), "-a");
  EXPECT_EQ(Found("c"), "b-d");
}

TEST_F(KnownGapsTest, StaysWhileNoPutComes) {
  Record("b", "d");
  writes_.Put("d");
  writes_.Put("a");
  writes_.Delete("c");
  EXPECT_EQ(Found("c"), "b-d");
}

TEST_F(KnownGapsTest, AreOfOneKeyspace) {
  const auto found_in = [&](KeyspaceId keyspace, std::string_view key) {
    return FoundAt(Point(std::nullopt, keyspace), key);
  };
  for (const KeyspaceId keyspace : {7, 2, 5})
    gaps_.Record(Point(std::nullopt, keyspace), "b", "d", kWalked);
  Record("c", "e");
  EXPECT_EQ(Found("c"), "c-e");
  EXPECT_EQ(Found("b"), "none");
  for (const KeyspaceId keyspace : {2, 5, 7}) EXPECT_EQ(found_in(keyspace, "c"), "b-d");
  for (const KeyspaceId keyspace : {1, 3, 6, 8}) EXPECT_EQ(found_in(keyspace, "c"), "none");
  // A put divides the gap of its keyspace only.
  writes_.Put("c", 5);
  writes_.Put("cc");
  EXPECT_EQ(found_in(5, "b"), "b-c");
  EXPECT_EQ(found_in(5, "c"), "none");
  EXPECT_EQ(found_in(5, "cc"), "c+-d");
  for (const KeyspaceId keyspace : {2, 7}) EXPECT_EQ(found_in(keyspace, "c"), "b-d");
  EXPECT_EQ(Found("c"), "c-cc");
  // One without an end ends with its keyspace.
  gaps_.Record(Point(std::nullopt, 2), "x", std::nullopt, kWalked);
  EXPECT_EQ(found_in(2, "z"), "x-");
  EXPECT_EQ(found_in(3, "a"), "none");
  EXPECT_EQ(found_in(5, "b"), "b-c");
}

// A range delete makes no key visible, and its number has a slot.
TEST_F(KnownGapsTest, StaysWhileRangesAreDeleted) {
  Record("b", "d");
  writes_.DeleteRange("a", "c");
  writes_.DeleteRange("c", std::nullopt);
  EXPECT_EQ(Found("c"), "b-d");
  writes_.Put("bb");
  writes_.DeleteRange("b", "c");
  EXPECT_EQ(Found("b"), "b-bb");
}

TEST_F(KnownGapsTest, PutsDivideIt) {
  Record("b", "d");
  writes_.Put("bb");
  writes_.Put("c");
  EXPECT_EQ(Found("bb"), "none");
  EXPECT_EQ(Found("b"), "b-bb");
  EXPECT_EQ(Found("bc"), "bb+-c");
  EXPECT_EQ(Found("c"), "none");
  EXPECT_EQ(Found("cc"), "c+-d");
  writes_.Put("b");
  EXPECT_EQ(Found("b"), "none");
  EXPECT_EQ(Found("ba"), "b+-bb");
}

TEST_F(KnownGapsTest, ManyPutsLeaveThePieceOfTheReader) {
  Record("b", "d");
  for (int i = 0; i < 12; ++i) writes_.Put(Concat("c", 10 + i));
  EXPECT_EQ(Found("c105"), "c10+-c11");
  EXPECT_EQ(Found("c"), "none");
}

TEST_F(KnownGapsTest, LooksIntoSealedMemtables) {
  Record("b", "d");
  writes_.Delete("c");
  writes_.Seal();
  writes_.Delete("c");
  writes_.Seal();
  writes_.Seal();
  writes_.Delete("c");
  EXPECT_EQ(Found("c"), "b-d");
  Record("p", "r");
  writes_.Put("q");
  writes_.Seal();
  writes_.Delete("q");
  EXPECT_EQ(Found("q"), "none");
}

// A missing entry may have been a put.
TEST_F(KnownGapsTest, IsNotUsedIfAnEntryIsMissing) {
  Record("b", "d");
  writes_.Delete("c");
  writes_.Seal();
  writes_.Flush();
  EXPECT_EQ(Found("c"), "none");
  writes_.Put("x");
  EXPECT_EQ(Found("c"), "none");
  Record("b", "d");
  EXPECT_EQ(Found("c"), "b-d");
}

TEST_F(KnownGapsTest, IsNotUsedAfterTheRingHasMovedOn) {
  Record("b", "d");
  for (int i = 0; i < 16; ++i) writes_.Put("x");
  Record("p", "r");
  EXPECT_EQ(Found("c"), "b-d");
  for (int i = 0; i < 17; ++i) writes_.Put("x");
  EXPECT_EQ(Found("c"), "none");
  EXPECT_EQ(Found("q"), "none");
}

// Each look brings it up to date, so it outlives the ring.
TEST_F(KnownGapsTest, StaysWhileItIsUsed) {
  Record("b", "d");
  for (int i = 0; i < 100; ++i) {
    for (int puts = 0; puts < 16; ++puts) writes_.Put("x");
    ASSERT_EQ(Found("c"), "b-d");
  }
}

TEST_F(KnownGapsTest, IsNotUsedByOlderReaders) {
  writes_.Put("c");
  const Sequence before = writes_.last();
  writes_.Delete("c");
  Record("b", "d");
  EXPECT_EQ(FoundAt(Point(before), "c"), "none");
  for (int i = 0; i < 16; ++i) writes_.Put("x");
  EXPECT_EQ(Found("c"), "b-d");
  // Between the walk and the last look.
  EXPECT_EQ(FoundAt(Point(before + 5), "c"), "b-d");
}

// A memtable is sealed between the loads of a reader.
TEST_F(KnownGapsTest, PointsEndWithTheirView) {
  writes_.Delete("c");
  const ReadView view = writes_.Now();
  writes_.Seal();
  EXPECT_EQ(ReadPoint::In(view, writes_.last()).number, 1u);
  writes_.Put("c");
  EXPECT_EQ(ReadPoint::In(view, writes_.last()).number, 1u);
  EXPECT_EQ(Point().number, 2u);
  EXPECT_EQ(Point(1).number, 1u);
  ReadView limited = view;
  limited.sequence_max = 9;
  EXPECT_EQ(ReadPoint::In(limited, 9).number, 9u);
}

TEST_F(KnownGapsTest, NewGapsTakeTheirPartFromOlderOnes) {
  Record("b", "d");
  Record("m", std::nullopt);
  writes_.Delete("c");
  Record("c", "n");
  EXPECT_EQ(Found("b"), "b-c");
  EXPECT_EQ(Found("f"), "c-n");
  EXPECT_EQ(Found("z"), "n-");
}

TEST_F(KnownGapsTest, OldReadersReplaceNoNewerGap) {
  const ReadView old_view = writes_.Now();
  const ReadPoint old_point = ReadPoint::In(old_view, writes_.last());
  writes_.Delete("c");
  Record("b", "d");
  gaps_.Record(old_point, "a", "f", kWalked);
  EXPECT_EQ(Found("c"), "b-d");
  EXPECT_EQ(Found("e"), "none");
}

TEST_F(KnownGapsTest, IsNotUsedIfAWalkIsCheaper) {
  Record("b", "d", /*walked=*/10);
  for (int i = 0; i < 10; ++i) writes_.Put("x");
  EXPECT_EQ(Found("c"), "b-d");
  writes_.Put("x");
  EXPECT_EQ(Found("c"), "none");
}

TEST_F(KnownGapsTest, KeepsLimitedMemory) {
  const std::string long_key(KnownGaps::kKeyBytesMax + 1, 'k');
  Record(long_key, std::nullopt);
  Record("a", long_key);
  EXPECT_TRUE(gaps_.empty());
  for (size_t i = 0; i < KnownGaps::kGapsMax + 3; ++i) {
    Record(Concat("k", 100 + i), Concat("k", 100 + i, "z"));
    if (i > 0) {
      EXPECT_NE(Found("k100"), "none") << i;
    }
    writes_.Delete("x");
    Point();
    Found("k100");
  }
  size_t found = 0;
  for (size_t i = 0; i < KnownGaps::kGapsMax + 3; ++i) {
    KnownGaps::Range range;
    // As the recorder: later readers may miss entries of the ring.
    found += gaps_.Find(ReadPoint{&view_, i}, Concat("k", 100 + i, "a"), &range);
  }
  EXPECT_EQ(found, KnownGaps::kGapsMax);
}

TEST_F(KnownGapsTest, RecordsNothingEmpty) {
  Record("b", "b");
  Record("c", "b");
  EXPECT_TRUE(gaps_.empty());
}

}  // namespace
}  // namespace lsm
