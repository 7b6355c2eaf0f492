#include "lsm/base/internal_key.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/dice.h"

namespace lsm {
namespace {

using testing_support::Dice;

int SignOf(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

std::string RandomKey(size_t bytes_max, Dice* dice) {
  std::string key(dice->Roll(bytes_max + 1), '\0');
  // Few letters, among them the least and the greatest byte: many keys begin with the same ones.
  for (char& letter : key) letter = "\x00\x01\x7f\x80\xff"[dice->Roll(5)];
  return key;
}

TEST(InternalKeyTest, UserKeysCompareByBytes) {
  Dice dice(1);
  for (int i = 0; i < 200000; ++i) {
    const std::string shared = RandomKey(i % 2 == 0 ? 20 : 80, &dice);
    const std::string a = shared + RandomKey(3, &dice);
    const std::string b = shared + RandomKey(i % 3 == 0 ? 20 : 3, &dice);
    ASSERT_EQ(SignOf(CompareUserKeys(a, b)), SignOf(a.compare(b))) << a.size() << " " << b.size();
    ASSERT_EQ(CompareUserKeys(a, a), 0);
  }
}

TEST(InternalKeyTest, NewestVersionComesFirst) {
  std::string newer, older, other;
  AppendInternalKey(&newer, "key", 8, EntryKind::kDelete);
  AppendInternalKey(&older, "key", 7, EntryKind::kPut);
  AppendInternalKey(&other, "key\x01", 9, EntryKind::kPut);
  EXPECT_LT(CompareInternalKeys(newer, older), 0);
  EXPECT_GT(CompareInternalKeys(older, newer), 0);
  EXPECT_LT(CompareInternalKeys(older, other), 0);
  EXPECT_EQ(CompareInternalKeys(older, older), 0);
}

}  // namespace
}  // namespace lsm
