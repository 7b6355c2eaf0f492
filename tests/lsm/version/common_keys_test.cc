#include "lsm/version/common_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

constexpr KeyspaceId kHighestId = 0xffffffff;

TEST(CommonKeysTest, BeginWithTheId) {
  EXPECT_EQ(CommonKeyOf(0x01020304, "key"), "\x01\x02\x03\x04key");
  EXPECT_EQ(CommonKeyOf(0xfffefdfc, ""), "\xff\xfe\xfd\xfc");
  EXPECT_EQ(CommonEndOf(2), CommonKeyOf(3, ""));
  EXPECT_EQ(CommonEndOf(0xff), CommonKeyOf(0x100, ""));
  EXPECT_EQ(CommonEndOf(kHighestId), std::nullopt);
  for (const KeyspaceId id : {0u, 2u, 0xffu, 0x100u, 0x80000000u, kHighestId}) {
    EXPECT_EQ(KeyspaceOf(CommonKeyOf(id, "")), id);
    EXPECT_EQ(KeyspaceOf(CommonKeyOf(id, "\xff\xff")), id);
  }
  // The least key at or after a shorter one.
  EXPECT_EQ(KeyspaceOf(""), 0u);
  EXPECT_EQ(KeyspaceOf("\1"), 0x01000000u);
  EXPECT_EQ(KeyspaceOf("\1\2\3"), 0x01020300u);
}

TEST(CommonKeysTest, BoundsStayInTheKeyspace) {
  const CommonBounds all = CommonBoundsOf(5, "", std::nullopt);
  EXPECT_EQ(all.from, CommonKeyOf(5, ""));
  EXPECT_EQ(all.to, CommonKeyOf(6, ""));
  const CommonBounds part = CommonBoundsOf(5, "a", "b");
  EXPECT_EQ(part.from, CommonKeyOf(5, "a"));
  EXPECT_EQ(part.to, CommonKeyOf(5, "b"));
  EXPECT_EQ(CommonBoundsOf(kHighestId, "a", std::nullopt).to, std::nullopt);
}

TEST(CommonKeysTest, LookupsHaveAFormForEachPlace) {
  const bloom::DigestSeed seed = 7;
  for (const std::string& key : {std::string(), std::string("key"), std::string(108, 'k'),
                                 std::string(109, 'k'), std::string(5000, 'k')}) {
    LookupKey made(0x01020304, key, 9, seed);
    const LookupKey moved(std::move(made));
    EXPECT_EQ(moved.user_key(), CommonKeyOf(0x01020304, key));
    EXPECT_EQ(UserKeyOf(moved.internal_key()), moved.user_key());
    EXPECT_EQ(UserKeyOf(moved.memtable_key()), key);
    EXPECT_EQ(SuffixOf(moved.memtable_key()), PackSuffix(9, kEntryKindMax));
    EXPECT_TRUE(moved.digest() == bloom::DigestOf(CommonKeyOf(0x01020304, key), seed));
    const LookupKey own(key, 9, seed);
    EXPECT_EQ(own.memtable_key(), own.internal_key());
    EXPECT_EQ(own.user_key(), key);
  }
}

TEST(CommonKeysTest, NamesComeBack) {
  const KeyspaceRecord record = {.id = 7,
                                 .has_own_tree = false,
                                 .options = {.filter_kind = "ribbon", .expire_after = 9},
                                 .name = "a name"};
  KeyspaceRecord decoded = {.id = 7};
  ASSERT_OK(DecodeName(EncodeName(record), &decoded));
  EXPECT_EQ(decoded, record);
  EXPECT_EQ(NameKeyOf(7), std::string("\0\0\0\0\0\0\0\7", 8));
  const std::string encoded = EncodeName(record);
  for (size_t i = 0; i < encoded.size(); ++i) {
    EXPECT_THAT(DecodeName(std::string_view(encoded).substr(0, i), &decoded),
                StatusIs(absl::StatusCode::kDataLoss));
  }
  EXPECT_THAT(DecodeName(encoded + "x", &decoded), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(DecodeName("\2" + encoded.substr(1), &decoded),
              StatusIs(absl::StatusCode::kDataLoss));
}

TEST(MembersTest, KnowWhichSpansAreDead) {
  const Members members({3, 5, kHighestId});
  EXPECT_TRUE(members.Has(0)) << "the names";
  EXPECT_TRUE(members.Has(3));
  EXPECT_FALSE(members.Has(4));
  const auto has_in = [&](const std::string& from, const std::optional<std::string>& to) {
    return members.HasIn(SpanOf(from, to));
  };
  const auto key = [](KeyspaceId id, std::string_view of_it = "") {
    return CommonKeyOf(id, of_it);
  };
  EXPECT_TRUE(has_in("", key(0, "x"))) << "names";
  EXPECT_TRUE(has_in(key(0, "x"), key(2)));
  EXPECT_FALSE(has_in(key(1), key(3)));
  EXPECT_FALSE(has_in(key(2, "a"), key(2, "z")));
  EXPECT_TRUE(has_in(key(2, "a"), key(3, "a")));
  EXPECT_TRUE(has_in(key(3, "z"), key(5))) << "a member at its begin";
  EXPECT_FALSE(has_in(key(4), key(5)));
  EXPECT_TRUE(members.HasIn(KeySpan::OfKeys(key(4), key(5)))) << "and at its end";
  EXPECT_FALSE(has_in(key(6), key(kHighestId)));
  EXPECT_TRUE(has_in(key(6), std::nullopt));
  EXPECT_FALSE(has_in(key(3, "z"), key(3, "a"))) << "empty";
  EXPECT_FALSE(Members({}).HasIn(SpanOf(key(2), std::nullopt)));
  EXPECT_TRUE(Members({}).HasIn(SpanOf("", std::nullopt)));
}

// Each set of ids from 2 to 9, and the highest ones.
TEST(MembersTest, AreFoundFromAnIdOn) {
  for (unsigned set = 0; set < 1u << 8; ++set) {
    for (const KeyspaceId base : {KeyspaceId{2}, kHighestId - 7}) {
      std::vector<KeyspaceId> ids;
      for (KeyspaceId i = 0; i < 8; ++i) {
        if ((set >> i & 1) != 0) ids.push_back(base + i);
      }
      const Members members(ids);
      EXPECT_EQ(members.First(kNamesInCommonTree), kNamesInCommonTree);
      EXPECT_EQ(members.FirstOther(kNamesInCommonTree), 1u);
      for (KeyspaceId i = 0; i < 8; ++i) {
        std::optional<KeyspaceId> first, other;
        for (KeyspaceId at = i; at < 8; ++at) {
          std::optional<KeyspaceId>* const found = members.Has(base + at) ? &first : &other;
          if (!*found) *found = base + at;
        }
        if (!other && base == 2) other = 10;
        EXPECT_EQ(members.First(base + i), first) << set << " from " << base + i;
        EXPECT_EQ(members.FirstOther(base + i), other) << set << " from " << base + i;
      }
    }
  }
}

TEST(MembersTest, MayHaveRanges) {
  const RangeMap three =
      InCommonTree(3, RangeMap::Of(std::vector<RangeDelete>{{"a", std::nullopt, 2}}));
  EXPECT_TRUE(Members({3}).HasIn(three));
  EXPECT_FALSE(Members({2, 4}).HasIn(three));
  EXPECT_FALSE(Members({3}).HasIn(RangeMap()));
  // One stretch: the strays of 2 and the first keys of 3 have the same sequence.
  const std::string two = CommonKeyOf(2, ""), end = CommonKeyOf(3, "c");
  const RangeMap joined = RangeMap::Of(std::vector<RangeDelete>{{two, end, 2}});
  EXPECT_TRUE(Members({3}).HasIn(joined));
  EXPECT_TRUE(Members({2}).HasIn(joined));
  EXPECT_FALSE(Members({4}).HasIn(joined));
}

TEST(CommonKeysTest, RangesOverAllKeysOfIds) {
  const RangeMap ranges = RangesOverAll({2, 3, 5, kHighestId}, 7);
  ASSERT_EQ(ranges.size(), 5u);
  EXPECT_EQ(ranges.boundary(0), CommonKeyOf(2, ""));
  EXPECT_EQ(ranges.boundary(1), CommonKeyOf(4, "")) << "neighbours are one range";
  EXPECT_EQ(ranges.boundary(2), CommonKeyOf(5, ""));
  EXPECT_EQ(ranges.boundary(3), CommonKeyOf(6, ""));
  EXPECT_EQ(ranges.boundary(4), CommonKeyOf(kHighestId, ""));
  EXPECT_FALSE(ranges.hull().end) << "no id is higher";
  for (const KeyspaceId id : {2u, 3u, 5u, kHighestId})
    EXPECT_EQ(ranges.NewestAt(CommonKeyOf(id, "key"), 9), 7u) << id;
  for (const KeyspaceId id : {0u, 1u, 4u, 6u, kHighestId - 1})
    EXPECT_EQ(ranges.NewestAt(CommonKeyOf(id, "key"), 9), 0u) << id;
  EXPECT_TRUE(RangesOverAll({}, 7).empty());
}

}  // namespace
}  // namespace lsm
