// Shared by the tests of filters with counters.
#ifndef TRELLIS_TESTS_BLOOM_COUNTERS_H_
#define TRELLIS_TESTS_BLOOM_COUNTERS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"

namespace testing_support {

// Adds and removes keys below `keys` at random, and compares the empty `filter` with counters of
// `bits` bits in an array of `cells`.  `cells_of(key)` returns the cells of a key.
template <class Filter, class CellsOf>
void ExpectCountersMatchTheOracle(Filter filter, uint64_t cells, uint32_t bits, uint64_t keys,
                                  CellsOf cells_of, Dice& dice) {
  const uint64_t most = (uint64_t{1} << bits) - 1;
  std::vector<uint64_t> oracle(cells, 0);
  std::map<uint64_t, int> added;
  for (int step = 0; step < 20'000; ++step) {
    const uint64_t key = dice.Roll(keys);
    std::vector<uint64_t> mine = cells_of(key);
    std::sort(mine.begin(), mine.end());
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
    const bool present =
        std::all_of(mine.begin(), mine.end(), [&](uint64_t cell) { return oracle[cell] > 0; });
    ASSERT_EQ(filter.MayContainDigest(DigestOfKey(key)), present);
    if (dice.OneIn(2)) {
      filter.AddDigest(DigestOfKey(key));
      for (const uint64_t cell : mine) oracle[cell] = std::min(oracle[cell] + 1, most);
      ++added[key];
    } else if (added[key] > 0) {
      ASSERT_TRUE(filter.RemoveDigest(DigestOfKey(key)));
      for (const uint64_t cell : mine) oracle[cell] -= oracle[cell] < most;
      --added[key];
    }
    ASSERT_EQ(filter.CountSaturated(),
              static_cast<uint64_t>(std::count(oracle.begin(), oracle.end(), most)));
  }
  for (const auto& [key, times] : added) {
    EXPECT_TRUE(times == 0 || filter.MayContainDigest(DigestOfKey(key)));
  }
}

// `narrow` has counters of 4 bits, `wide` of 8.
template <class Filter>
void ExpectFullCountersStayFull(Filter narrow, Filter wide) {
  for (int i = 0; i < 20; ++i) narrow.Add("apple");
  EXPECT_GT(narrow.CountSaturated(), 0u);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(narrow.Remove("apple"));
  EXPECT_TRUE(narrow.MayContain("apple"));  // a saturated counter has lost its count
  for (int i = 0; i < 20; ++i) wide.Add("apple");
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(wide.Remove("apple"));
  EXPECT_FALSE(wide.MayContain("apple"));
}

template <class Filter>
void ExpectRefusesToRemoveAbsentKeys(Filter filter) {
  EXPECT_FALSE(filter.Remove("apple"));
  filter.Add("pear");
  const std::string before = filter.Serialize();
  EXPECT_FALSE(filter.Remove("apple"));
  EXPECT_EQ(filter.Serialize(), before);
  EXPECT_TRUE(filter.Remove("pear"));
  EXPECT_FALSE(filter.Remove("pear"));
  EXPECT_EQ(filter.added_count(), 0u);
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_BLOOM_COUNTERS_H_
