#include "lsm/bytes/magic.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace lsm {
namespace {

constexpr std::string_view kMagic = "MAGIC!";

TEST(MagicTest, AcceptsOneWrongByte) {
  EXPECT_TRUE(BeginsWithMagic(kMagic, kMagic));
  EXPECT_TRUE(BeginsWithMagic("MAGIC! and more", kMagic));
  for (size_t i = 0; i < kMagic.size(); ++i) {
    std::string one(kMagic);
    one[i] = '?';
    EXPECT_TRUE(BeginsWithMagic(one, kMagic)) << one;
    for (size_t j = 0; j < i; ++j) {
      std::string two = one;
      two[j] = '?';
      EXPECT_FALSE(BeginsWithMagic(two, kMagic)) << two;
    }
  }
  EXPECT_FALSE(BeginsWithMagic("MAGIC", kMagic));
  EXPECT_FALSE(BeginsWithMagic("", kMagic));
}

TEST(MagicTest, AcceptsAPrefixBeforeZeros) {
  for (size_t piece = 0; piece <= kMagic.size(); ++piece) {
    for (const size_t zeros : {0, 1, 20}) {
      const std::string bytes = std::string(kMagic.substr(0, piece)) + std::string(zeros, '\0');
      EXPECT_TRUE(IsPieceOfMagic(bytes, kMagic)) << piece << " bytes, " << zeros << " zeros";
      EXPECT_FALSE(IsPieceOfMagic(bytes + "?", kMagic)) << piece << " bytes, " << zeros << " zeros";
    }
  }
}

}  // namespace
}  // namespace lsm
