#include "lsm/base/key_buffer.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/dice.h"

namespace lsm {
namespace {

using testing_support::Dice;

TEST(KeyBufferTest, IsEmptyAtFirst) {
  KeyBuffer key;
  EXPECT_TRUE(key.empty());
  EXPECT_EQ(key.view(), "");
}

TEST(KeyBufferTest, CopiesExactlyEachPiece) {
  const std::string source = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (size_t kept = 0; kept <= 20; ++kept) {
    for (size_t count = 0; count <= source.size(); ++count) {
      KeyBuffer key;
      key.assign(std::string(kept, '<') + "old");
      // Exactly as long as the piece, so that sanitizers detect a read beyond it.
      const std::string piece(source, 0, count);
      key.Splice(kept, piece);
      ASSERT_EQ(key.view(), std::string(kept, '<') + piece);
    }
  }
}

TEST(KeyBufferTest, ChangesLikeAString) {
  Dice dice(1);
  for (int round = 0; round < 200; ++round) {
    KeyBuffer key;
    std::string model;
    for (int step = 0; step < 50; ++step) {
      // Most are short; some do not fit in the object.
      const std::string piece(dice.Roll(dice.OneIn(8) ? 1000 : 40),
                              static_cast<char>('a' + dice.Roll(26)));
      switch (dice.Roll(4)) {
        case 0:
          key.assign(piece);
          model = piece;
          break;
        case 1:
          key.append(piece);
          model += piece;
          break;
        case 2: {
          const size_t kept = dice.Roll(model.size() + 1);
          key.Splice(kept, piece);
          model = model.substr(0, kept) + piece;
          break;
        }
        default:
          if (!dice.OneIn(8)) break;
          key.clear();
          model.clear();
      }
      ASSERT_EQ(key.view(), model);
      ASSERT_EQ(key.size(), model.size());
      ASSERT_EQ(key.empty(), model.empty());
    }
  }
}

}  // namespace
}  // namespace lsm
