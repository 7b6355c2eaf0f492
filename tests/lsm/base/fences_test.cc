#include "lsm/base/fences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/base/key_head.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/shared_prefix.h"
#include "tests/support/dice.h"

namespace lsm {
namespace {

using testing_support::Dice;

std::string RandomWord(Dice* dice, std::string_view alphabet, size_t bytes_max) {
  std::string word(dice->Roll(bytes_max + 1), '\0');
  for (char& letter : word) letter = alphabet[dice->Roll(alphabet.size())];
  return word;
}

// Compares with a binary search over the keys themselves.
void ExpectFindsAsASearchOverKeys(std::vector<std::string> keys,
                                  const std::vector<std::string>& probes) {
  std::sort(keys.begin(), keys.end());
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const Fences fences(views);
  ASSERT_EQ(fences.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(fences[i], keys[i]);
  std::vector<std::string> all = probes;
  for (const std::string& key : keys) {
    all.push_back(key);
    all.push_back(key + '\0');
    if (!key.empty()) all.push_back(key.substr(0, key.size() - 1));
  }
  for (const std::string& probe : all) {
    ASSERT_EQ(fences.LowerBound(probe),
              static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), probe) - keys.begin()))
        << Escape(probe);
    ASSERT_EQ(fences.Find(probe).is_there, std::binary_search(keys.begin(), keys.end(), probe))
        << Escape(probe);
    // From the place of another key the search finds some valid place.
    ASSERT_LE(fences.FindFrom(fences.Approach(all.front()), probe).at, keys.size());
    ASSERT_LE(fences.FindFrom(fences.Approach(probe), all.back()).at, keys.size());
    // A guess is accepted only if it is right.
    const size_t at = fences.LowerBound(probe);
    for (size_t guess = at < 2 ? 0 : at - 2; guess < at + 3; ++guess) {
      if (fences.IsFoundAt(guess, probe)) {
        ASSERT_EQ(guess, at) << Escape(probe);
      }
    }
  }
}

TEST(FencesTest, FindsNothingInNone) {
  const Fences fences;
  EXPECT_TRUE(fences.empty());
  EXPECT_EQ(fences.LowerBound("a"), 0u);
  EXPECT_FALSE(fences.Find("").is_there);
  const Fences of_none{std::vector<std::string_view>()};
  EXPECT_EQ(of_none.size(), 0u);
}

TEST(FencesTest, FindsKeysAsABinarySearchDoes) {
  using std::string_view_literals::operator""sv;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Dice dice(seed);
    // Few letters make equal keys, nested ones, and equal heads; the prefix moves the heads.
    const std::string_view alphabet =
        std::vector{"ab"sv, "\x00\xff"sv, "\x00\x01"sv, "0123456789"sv}[seed % 4];
    const std::string prefix(seed % 3 == 0 ? 0 : dice.Roll(40), 'p');
    std::vector<std::string> keys;
    std::vector<std::string> probes = {
        "", "p", prefix, std::string(100, 'p'), "\xff", std::string("\x00", 1)};
    for (size_t count = 1 + dice.Roll(300); count > 0; --count)
      keys.push_back(prefix + RandomWord(&dice, alphabet, 12));
    for (int i = 0; i < 100; ++i) {
      probes.push_back(prefix + RandomWord(&dice, alphabet, 14));
      probes.push_back(RandomWord(&dice, alphabet, 50));
      probes.push_back(prefix.substr(0, dice.Roll(prefix.size() + 1)) +
                       RandomWord(&dice, "opq", 4));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectFindsAsASearchOverKeys(keys, probes));
  }
}

TEST(FencesTest, SingleKeyIsAllPrefix) {
  ExpectFindsAsASearchOverKeys({"only"}, {"", "o", "onl", "only", "onlya", "onlz", "p"});
  ExpectFindsAsASearchOverKeys({""}, {"", "a"});
  ExpectFindsAsASearchOverKeys({"same", "same", "same"}, {"sam", "same", "samea", "z"});
}

TEST(FencesTest, SearchesRangesOfManyLengths) {
  for (const size_t count : {1, 2, 63, 64, 65, 127, 128, 129, 1000, 4096}) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) {
      char key[24];
      std::snprintf(key, sizeof(key), "%016zu", 2 * i);
      keys.emplace_back(key);
    }
    std::vector<std::string> probes;
    for (size_t i = 0; i < count; ++i) {
      char key[24];
      std::snprintf(key, sizeof(key), "%016zu", 2 * i + 1);
      probes.emplace_back(key);
    }
    ASSERT_NO_FATAL_FAILURE(ExpectFindsAsASearchOverKeys(keys, probes));
  }
}

TEST(FencesTest, HeadsConfirmRightGuesses) {
  std::vector<std::string> keys;
  for (int i = 0; i < 200; ++i) keys.push_back("prefix" + std::to_string(1002 + 2 * i));
  const Fences fences(std::vector<std::string_view>(keys.begin(), keys.end()));
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string before = "prefix" + std::to_string(1001 + 2 * i);
    EXPECT_TRUE(fences.IsFoundAt(i, before));
    EXPECT_FALSE(fences.IsFoundAt(i + 1, before));
    EXPECT_FALSE(i > 0 && fences.IsFoundAt(i - 1, before));
  }
  EXPECT_FALSE(fences.IsFoundAt(keys.size(), "prefix9")) << "it would be after the last one";
  EXPECT_FALSE(fences.IsFoundAt(SIZE_MAX, "prefix9"));
  EXPECT_FALSE(Fences().IsFoundAt(0, "a"));
}

TEST(FencesTest, CountsMemory) {
  const std::vector<std::string_view> keys(1000, "0123456789");
  const Fences fences(keys);
  EXPECT_GE(fences.memory_bytes(), 1000u * (10 + 8 + 8));
  EXPECT_LT(fences.memory_bytes(), 1000u * 40);
}

TEST(KeyHeadTest, ComparesAsTheKeysDo) {
  Dice dice(1);
  using std::string_view_literals::operator""sv;
  for (int i = 0; i < 10000; ++i) {
    const std::string a = "xy" + RandomWord(&dice, "\x00\x01\x7f\x80\xff"sv, 10);
    const std::string b = "xy" + RandomWord(&dice, "\x00\x01\x7f\x80\xff"sv, 10);
    const uint64_t head_a = KeyHead(a, 2);
    const uint64_t head_b = KeyHead(b, 2);
    if (head_a < head_b) {
      EXPECT_LT(a, b);
    }
    if (a < b) {
      EXPECT_LE(head_a, head_b);
    }
  }
  EXPECT_EQ(KeyHead("", 0), 0u);
  EXPECT_EQ(KeyHead("abc", 3), 0u);
  EXPECT_EQ(KeyHead("abcdefghij", 1), 0x6263646566676869u);
  EXPECT_EQ(KeyHead("a\xff", 1), 0xff00000000000000u);
}

TEST(KeyHeadTest, CountsSmallerHeads) {
  for (size_t count = 0; count < 40; ++count) {
    std::vector<uint64_t> heads;
    for (size_t i = 0; i < count; ++i) heads.push_back(10 * (i / 2));
    for (uint64_t head = 0; head < 250; ++head) {
      EXPECT_EQ(
          CountHeadsBelow(heads.data(), heads.size(), head),
          static_cast<size_t>(std::lower_bound(heads.begin(), heads.end(), head) - heads.begin()));
    }
  }
}

TEST(SharedPrefixTest, CountsCommonFirstBytes) {
  for (size_t size_bytes = 0; size_bytes < 40; ++size_bytes) {
    const std::string a(size_bytes, 'a');
    EXPECT_EQ(SharedPrefixBytes(a, a), size_bytes);
    EXPECT_EQ(SharedPrefixBytes(a, a + "b"), size_bytes);
    for (size_t i = 0; i < size_bytes; ++i) {
      for (const char other : {'b', '\0', '\xff'}) {
        std::string b = a;
        b[i] = other;
        EXPECT_EQ(SharedPrefixBytes(a, b), i);
        EXPECT_EQ(SharedPrefixBytes(b + "x", a), i);
      }
    }
  }
}

TEST(SharedPrefixTest, ComparesEachOfTheBytesAndNoOther) {
  for (size_t size_bytes = 0; size_bytes < 40; ++size_bytes) {
    // Copies of exact size, so that a sanitizer finds a read beyond them.
    const std::vector<char> a(size_bytes, 'a');
    EXPECT_TRUE(AreEqual(a.data(), std::vector<char>(a).data(), size_bytes));
    for (size_t i = 0; i < size_bytes; ++i) {
      std::vector<char> b = a;
      b[i] = 'b';
      EXPECT_FALSE(AreEqual(a.data(), b.data(), size_bytes)) << size_bytes << " " << i;
    }
  }
}

}  // namespace
}  // namespace lsm
