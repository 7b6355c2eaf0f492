#include "bench/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace bench {
namespace {

KeyList ListOf(const std::string& prefix, int count) {
  KeyList list;
  for (int i = 0; i < count; ++i) list.Add(prefix + std::to_string(i));
  return list;
}

TEST(WorkloadTest, SyntheticKeysAreDistinctAndRepeatable) {
  std::set<std::string> keys;
  for (uint64_t i = 0; i < 10000; ++i) keys.insert(SyntheticKey(i, 1));
  EXPECT_EQ(keys.size(), 10000u);
  EXPECT_EQ(keys.begin()->size(), 16u);
  EXPECT_EQ(SyntheticKey(7, 1), SyntheticKey(7, 1));
  EXPECT_NE(SyntheticKey(7, 1), SyntheticKey(7, 2));
}

TEST(WorkloadTest, DecimalKeysSortLikeTheirNumbers) {
  EXPECT_EQ(DecimalKey(42), "0000000000000042");
  EXPECT_LT(DecimalKey(99), DecimalKey(100));
}

TEST(WorkloadTest, ShuffledHoldsEachNumberOnce) {
  const std::vector<uint64_t> order = Shuffled(1000, 3);
  EXPECT_EQ(std::set<uint64_t>(order.begin(), order.end()).size(), 1000u);
  EXPECT_EQ(*std::max_element(order.begin(), order.end()), 999u);
  EXPECT_NE(order, Shuffled(1000, 4));
}

TEST(WorkloadTest, ChecksValuesToTheLastByte) {
  for (const size_t bytes : {0, 1, 2, 7, 8, 15, 16, 17, 100, 1000}) {
    const ValueMaker values(bytes);
    std::string value;
    values.Make("a key", &value);
    ASSERT_EQ(value.size(), bytes);
    EXPECT_TRUE(values.Matches("a key", value));
    for (size_t i = 0; i < bytes; ++i) {
      std::string wrong = value;
      wrong[i] = static_cast<char>(wrong[i] ^ 1);
      EXPECT_FALSE(values.Matches("a key", wrong)) << bytes << " bytes, byte " << i;
    }
    EXPECT_FALSE(values.Matches("a key", value + "x"));
    if (bytes > 7) {
      EXPECT_FALSE(values.Matches("another key", value));
    }
  }
}

TEST(WorkloadTest, StreamsVisitEachKeyBeforeRepeating) {
  const KeyList present = ListOf("p", 50), absent = ListOf("a", 30);
  QueryStream stream(Workload::kAbsent, present, absent, 0.5, 1000, 1);
  EXPECT_EQ(stream.length(), 30u);
  for (int pass = 0; pass < 3; ++pass) {
    std::set<std::string> keys;
    for (int i = 0; i < 30; ++i) {
      const QueryStream::Query query = stream.Next();
      EXPECT_FALSE(query.present);
      keys.insert(std::string(query.key));
    }
    EXPECT_EQ(keys.size(), 30u);
  }
}

TEST(WorkloadTest, MixedStreamsKeepTheirShare) {
  const KeyList present = ListOf("p", 50000), absent = ListOf("a", 50000);
  QueryStream stream(Workload::kMixed, present, absent, 0.2, 50000, 1);
  int found = 0;
  for (size_t i = 0; i < stream.length(); ++i) {
    const QueryStream::Query query = stream.Next();
    EXPECT_EQ(query.present, query.key[0] == 'p');
    found += query.present ? 1 : 0;
  }
  EXPECT_NEAR(found, 10000, 500);  // five standard deviations are 450
}

TEST(WorkloadTest, RestartedStreamsRepeat) {
  const KeyList present = ListOf("p", 1000);
  QueryStream stream(Workload::kPresent, present, KeyList(), 1, 1000, 1);
  stream.Restart(9);
  const std::string first(stream.Next().key);
  for (int i = 0; i < 10; ++i) stream.Next();
  stream.Restart(9);
  EXPECT_EQ(stream.Next().key, first);
}

TEST(WorkloadTest, RestartsCanSkipKeys) {
  const KeyList present = ListOf("p", 1000);
  QueryStream stream(Workload::kPresent, present, KeyList(), 1, 1000, 1);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    stream.Restart(seed);
    for (int i = 0; i < 250; ++i) stream.Next();
    const std::string there(stream.Next().key);
    stream.Restart(seed, 0.25);
    EXPECT_EQ(stream.Next().key, there);
  }
}

}  // namespace
}  // namespace bench
