#include <gtest/gtest.h>

#include "lsm/iterator.h"

namespace lsm {
namespace {

TEST(PrefixEndTest, IsTheSmallestKeyAfterAllWithThePrefix) {
  EXPECT_EQ(PrefixEnd("a"), "b");
  EXPECT_EQ(PrefixEnd("user:"), "user;");
  EXPECT_EQ(PrefixEnd(std::string("a\0", 2)), "a\x01");
  EXPECT_EQ(PrefixEnd("a\xff"), "b");
  EXPECT_EQ(PrefixEnd("a\xfe\xff\xff"), "a\xff");
  EXPECT_EQ(PrefixEnd("\x7f"), "\x80");  // bytes are unsigned
}

TEST(PrefixEndTest, IsAbsentIfAllLaterKeysHaveThePrefix) {
  EXPECT_EQ(PrefixEnd(""), std::nullopt);
  EXPECT_EQ(PrefixEnd("\xff"), std::nullopt);
  EXPECT_EQ(PrefixEnd("\xff\xff\xff"), std::nullopt);
}

}  // namespace
}  // namespace lsm
