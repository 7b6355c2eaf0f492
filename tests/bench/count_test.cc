#include "bench/count.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

TEST(CountTest, AbbreviatesThousandsAndMillions) {
  EXPECT_EQ(ParseCount("20M"), 20000000u);
  EXPECT_EQ(ParseCount("3k"), 3000u);
  EXPECT_EQ(ParseCount("17"), 17u);
  for (const char* const text : {"", "k", "1G", "1.5M", "-1", "1M ", "99999999999999999M"})
    EXPECT_EQ(ParseCount(text), std::nullopt) << text;
}

TEST(CountTest, ReadsItsAbbreviations) {
  EXPECT_EQ(ShortCount(20000000), "20M");
  EXPECT_EQ(ShortCount(1500000), "1500k");
  EXPECT_EQ(ShortCount(1234), "1234");
  EXPECT_EQ(ShortCount(0), "0");
  for (const uint64_t count : {uint64_t{7}, uint64_t{1000}, uint64_t{1001000}, uint64_t{2000000}})
    EXPECT_EQ(ParseCount(ShortCount(count)), count);
}

}  // namespace
}  // namespace bench
