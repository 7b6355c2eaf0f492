#include "bloom/literature/digests_by_bit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "bloom/core/probe.h"
#include "bloom/hash.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::Digest;
using bloom::DigestsByBit;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::IsOk;
using testing_support::StatusIs;
using Kind = bloom::DigestsByBit::Kind;
using Members = std::map<Digest, Kind>;

constexpr uint64_t kListSeed = 11;

// The list of a bit must hold exactly the digests that have a probe there, each once.
void ExpectLists(const DigestsByBit& lists, uint64_t bits, uint32_t probes,
                 const Members& members) {
  std::vector<std::vector<std::pair<Digest, Kind>>> expected(bits);
  std::vector<Digest> sorted[2];
  for (const auto& [digest, kind] : members) {
    sorted[kind == Kind::kKey].push_back(digest);
    for (const uint64_t bit : bloom::DistinctProbes(bloom::Remix(digest, kListSeed), bits, probes))
      expected[bit].emplace_back(digest, kind);
  }
  for (uint64_t bit = 0; bit < bits; ++bit) {
    std::vector<std::pair<Digest, Kind>> found;
    lists.ForEachAt(bit, [&found](Digest digest, Kind kind) { found.emplace_back(digest, kind); });
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, expected[bit]) << "bit " << bit;
  }
  for (const Kind kind : {Kind::kKey, Kind::kFalsePositive}) {
    ASSERT_EQ(lists.Sorted(kind), sorted[kind == Kind::kKey]);
    ASSERT_EQ(lists.Count(kind), sorted[kind == Kind::kKey].size());
  }
}

TEST(DigestsByBitTest, IsAMapWithAListForEachBit) {
  // So few bits that many members have a bit twice or more often.
  constexpr std::pair<uint64_t, uint32_t> kShapes[] = {{1, 1},  {1, 32}, {3, 2},
                                                       {20, 7}, {64, 1}, {301, 32}};
  for (const auto& [bits, probes] : kShapes) {
    Dice dice(bits);
    DigestsByBit lists = DigestsByBit::Make(bits, probes, kListSeed).value();
    Members members;
    for (int step = 0; step < 2000; ++step) {
      const Digest digest = bloom::Remix(dice.Roll(100), 1);
      const auto kind = Kind{dice.OneIn(2)};
      const auto at = members.find(digest);
      ASSERT_EQ(lists.Find(digest), at == members.end() ? std::nullopt : std::optional(at->second));
      // Alternates between phases with more additions and with more removals.
      if (dice.Roll(8) < (step / 250 % 2 == 0 ? 3u : 5u)) {
        ASSERT_EQ(lists.Remove(digest), members.erase(digest) == 1);
      } else {
        ASSERT_TRUE(lists.Put(digest, kind));
        members[digest] = kind;
      }
      if (step % 200 == 199) {
        lists.RemoveAll(kind);
        std::erase_if(members, [kind](const auto& member) { return member.second == kind; });
      }
      if (step % 20 == 19) ExpectLists(lists, bits, probes, members);
      ASSERT_FALSE(HasFatalFailure()) << bits << " bits, step " << step;
    }
    DigestsByBit moved = std::move(lists);
    ExpectLists(moved, bits, probes, members);
    moved.Clear();
    ExpectLists(moved, bits, probes, {});
    EXPECT_EQ(moved.size_bytes(), 4 * bits);
    ASSERT_TRUE(moved.Put(5, Kind::kKey));
    ExpectLists(moved, bits, probes, {{5, Kind::kKey}});
  }
}

// However often digests are added and removed, the lists take memory only for the present ones.
TEST(DigestsByBitTest, RemovedDigestsTakeNoMemory) {
  DigestsByBit lists = DigestsByBit::Make(1000, 7, kListSeed).value();
  for (Digest digest = 0; digest < 100; ++digest) lists.Put(digest, Kind::kKey);
  const uint64_t before = lists.size_bytes();
  EXPECT_EQ(before, 4 * 1000 + 100 * (8 + 4 * 7) + 13);
  for (Digest digest = 100; digest < 10'000; ++digest) {
    ASSERT_TRUE(lists.Put(digest, Kind::kFalsePositive));
    ASSERT_TRUE(lists.Remove(digest));
    ASSERT_FALSE(lists.Remove(digest));
  }
  EXPECT_EQ(lists.size_bytes(), before);
}

TEST(DigestsByBitTest, ReservesAtMostTheLargestLink) {
  EXPECT_THAT(DigestsByBit::Make(50, 32, 1).value().Reserve(DigestsByBit::kMostMembers + 1),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("4294967296 digests are more than the 4294967295")));
}

TEST(DigestsByBitTest, NamesImpossibleShapes) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(DigestsByBit::Make(0, 1, 1), StatusIs(kInvalid, HasSubstr("bits")));
  EXPECT_THAT(DigestsByBit::Make(100, 0, 1), StatusIs(kInvalid, HasSubstr("0 probes")));
  EXPECT_THAT(DigestsByBit::Make(100, 33, 1), StatusIs(kInvalid, HasSubstr("33 probes")));
}

TEST(DigestsByBitTest, EmptyWithoutBits) {
  DigestsByBit none;
  none.Clear();
  EXPECT_EQ(none.Find(1), std::nullopt);
  EXPECT_EQ(none.Count(Kind::kKey) + none.Count(Kind::kFalsePositive), 0u);
  EXPECT_EQ(none.size_bytes(), 0u);
  EXPECT_THAT(DigestsByBit::Make(uint64_t{1} << 50, 1, 1),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
