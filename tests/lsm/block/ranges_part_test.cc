#include "lsm/block/ranges_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/block/block.h"
#include "lsm/bytes/coding.h"
#include "tests/support/dice.h"
#include "tests/support/range_maps.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::StatusIs;

using Entries = std::vector<std::pair<std::string, std::string>>;

std::string BlockOf(const Entries& entries) {
  BlockBuilder block(kIndexRestartInterval);
  for (const auto& [key, value] : entries) block.Add(key, value);
  return std::string(block.Finish());
}

// A value: a count, then numbers.
std::string ListOf(uint32_t count, const std::vector<uint64_t>& numbers) {
  std::string value;
  AppendVarint32(&value, count);
  for (const uint64_t number : numbers) AppendVarint64(&value, number);
  return value;
}
std::string ListOf(const std::vector<uint64_t>& numbers) {
  return ListOf(static_cast<uint32_t>(numbers.size()), numbers);
}

absl::Status Decode(const std::string& bytes) {
  // A copy of exactly these bytes: a sanitizer sees a read beyond them.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  return DecodeRanges({copy.data(), copy.size()}, "dir/000001.table", 77).status();
}

RangeMap SomeMap(Dice* dice) {
  std::vector<std::string> keys(2 * (1 + dice->Roll(40)));
  for (std::string& key : keys)
    key = std::string(dice->Roll(20), 'k') + std::to_string(dice->Roll(100));
  std::vector<RangeDelete> ranges = {{"", "a", 1}};  // so that the map is not empty
  for (size_t i = 0; i < keys.size(); i += 2) {
    ranges.push_back({keys[i], keys[i + 1], 1 + dice->Next() % (kSequenceMax >> dice->Roll(56))});
    if (dice->OneIn(10)) ranges.back().to = std::nullopt;
  }
  std::vector<Sequence> snapshots = {dice->Next() % kSequenceMax, dice->Next() % kSequenceMax,
                                     1000};
  std::sort(snapshots.begin(), snapshots.end());
  return testing_support::RangesOf(ranges, snapshots);
}

TEST(RangesPartTest, WritesTheBytesOfTheHeader) {
  const std::vector<RangeDelete> ranges = {{"b", "f", 5}, {"d", "h", 300}, {"k", std::nullopt, 7}};
  const std::vector<Sequence> snapshots = {5};
  const std::string expected = BlockOf({{"b", "\1\5"},
                                        {"d", ListOf({300, 295})},
                                        {"f", ListOf({300})},
                                        {"h", std::string(1, '\0')},
                                        {"k", "\1\7"}});
  EXPECT_EQ(EncodeRanges(testing_support::RangesOf(ranges, snapshots)), expected);
}

TEST(RangesPartTest, ReadsBackTheSameMap) {
  Dice dice(1);
  size_t lists = 0;
  for (int round = 0; round < 300; ++round) {
    const RangeMap map = SomeMap(&dice);
    const std::string bytes = EncodeRanges(map);
    const auto again = DecodeRanges(bytes, "file", 0);
    ASSERT_OK(again.status());
    ASSERT_TRUE(*again == map);
    ASSERT_EQ(again->largest_sequence(), map.largest_sequence());
    ASSERT_EQ(again->smallest_sequence(), map.smallest_sequence());
    ASSERT_EQ(EncodeRanges(*again), bytes);
    for (size_t i = 0; i < map.size(); ++i) lists += map.sequence_count(i) > 1;
  }
  EXPECT_GT(lists, 1000u);
}

TEST(RangesPartTest, AcceptsTheLimits) {
  const std::string longest(kTreeKeyBytesMax, 'k'), next = longest + '\0';
  const std::vector<RangeDelete> ranges = {{longest, next, kSequenceMax}, {next, std::nullopt, 1}};
  const RangeMap map = RangeMap::Of(ranges);
  const auto again = DecodeRanges(EncodeRanges(map), "file", 0);
  ASSERT_OK(again.status());
  EXPECT_TRUE(*again == map);
  EXPECT_EQ(again->NewestAt(longest, kSequenceMax), kSequenceMax);
}

TEST(RangesPartTest, RefusesListsThatNoMapHas) {
  const std::string gap = ListOf({}), five = ListOf({5});
  struct Case {
    Entries entries;
    const char* problem;
  };
  const std::vector<Case> cases = {
      {{{"a", gap}, {"b", five}}, "the first bound has no sequences"},
      {{{"a", five}, {"b", gap}, {"c", gap}}, "neighbours have the same sequences"},
      {{{"a", five}, {"b", five}}, "neighbours have the same sequences"},
      {{{"a", ListOf({9, 4})}, {"b", ListOf({9, 4})}}, "neighbours have the same sequences"},
      {{{"a", ListOf({9, 0})}}, "sequences do not descend"},
      {{{"a", ListOf({9, 9})}}, "sequences do not descend"},
      {{{"a", ListOf({9, 10})}}, "sequences do not descend"},
      {{{"a", ListOf({9, 4, 5})}}, "sequences do not descend"},
      {{{"a", ListOf({0})}}, "a sequence is impossible"},
      {{{"a", ListOf({kSequenceMax + 1})}}, "a sequence is impossible"},
      {{{"a", ListOf({UINT64_MAX})}}, "a sequence is impossible"},
      {{{"a", ""}}, "a list of sequences is cut off"},
      {{{"a", ListOf(2, {9})}}, "a list of sequences is cut off"},
      {{{"a", ListOf(32 << 20, {9, 1, 1})}}, "a list of sequences is cut off"},
      {{{"a", "\1\x80"}}, "a list of sequences is cut off"},
      {{{"a", ListOf((32 << 20) + 1, {9, 1, 1})}}, "the map takes too much memory"},
      {{{"a", ListOf(1, {9, 4})}}, "a list of sequences is too long"},
      {{{"a", five}, {"b", ListOf(0, {1})}}, "a list of sequences is too long"},
      {{{"a", five}, {"a", gap}}, "bounds are out of order"},
      {{{std::string(kTreeBoundBytesMax + 1, 'k'), five}}, "a bound is longer than bounds may be"},
  };
  for (const Case& one : cases) {
    EXPECT_THAT(
        Decode(BlockOf(one.entries)),
        StatusIs(absl::StatusCode::kDataLoss,
                 AllOf(HasSubstr("dir/000001.table"), HasSubstr("77"), HasSubstr(one.problem))));
  }
}

TEST(RangesPartTest, RefusesMalformedBlocks) {
  EXPECT_THAT(Decode(""), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("malformed")));
  EXPECT_THAT(Decode(std::string(8, '\0')),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("malformed")));
  // A map without ranges has no block, so none is accepted.
  EXPECT_THAT(Decode(BlockOf({})), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("malformed")));
  // The first entry shares a byte with none.
  EXPECT_THAT(Decode(std::string("\1\1\2b\1\5", 6) + std::string("\0\0\0\0\1\0\0\0", 8)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("an entry is malformed")));
  // Out of order: "b", then "a".
  const std::string out_of_order = std::string("\0\1\2b\1\5", 6) + std::string("\0\1\1a\0", 5);
  EXPECT_THAT(Decode(out_of_order + std::string("\0\0\0\0\1\0\0\0", 8)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("out of order")));
}

// 200 entries share a key of 64 KiB without a restart between them.
TEST(RangesPartTest, RefusesKeysThatShareTooMuch) {
  BlockBuilder block(1000);
  for (int i = 0; i < 200; ++i)
    block.Add(std::string(60'000, 'k') + std::to_string(1000 + i), ListOf({uint64_t(1 + i % 2)}));
  EXPECT_THAT(Decode(std::string(block.Finish())),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("share more than they can")));
}

// Any bytes are refused, or are a map that is written as a block with the same meaning.
TEST(RangesPartTest, DamagedBlocksAreRefusedOrOtherMaps) {
  Dice dice(2);
  int refused = 0, accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = EncodeRanges(SomeMap(&dice));
    for (size_t changes = 1 + dice.Roll(3); changes > 0; --changes)
      bytes[dice.Roll(bytes.size())] ^= static_cast<char>(1 << dice.Roll(8));
    if (dice.OneIn(4)) bytes.resize(dice.Roll(bytes.size()));
    const auto map = DecodeRanges(bytes, "file", 0);
    ++(map.ok() ? accepted : refused);
    if (!map.ok()) {
      ASSERT_THAT(map.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("file")));
      continue;
    }
    ASSERT_FALSE(map->empty());
    const auto again = DecodeRanges(EncodeRanges(*map), "file", 0);
    ASSERT_OK(again.status());
    ASSERT_TRUE(*again == *map);
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 100) << "the trailer's checksum finds these";
}

}  // namespace
}  // namespace lsm
