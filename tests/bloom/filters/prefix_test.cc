#include "bloom/prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/filter.h"
#include "bloom/filter_policy.h"
#include "bloom/variants/blocked.h"
#include "tests/bloom/kinds.h"
#include "tests/bloom/wrapped_bytes.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::PrefixExtractor;
using bloom::PrefixFilter;
using bloom::RangeEnd;
using bloom::WholeKeys;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::IsOk;
using testing_support::StatusIs;

constexpr auto kPrefixInvalid = absl::StatusCode::kInvalidArgument;

PrefixFilter MakePrefix(std::string_view extractor, uint64_t keys = 1000, double fpp = 1e-6,
                        WholeKeys whole_keys = WholeKeys::kLeftOut, uint64_t seed = 3) {
  return PrefixFilter::Make(keys, fpp,
                            {.extractor = extractor, .seed = seed, .whole_keys = whole_keys})
      .value();
}

// --- extractors ---

std::optional<std::string> PrefixBy(std::string_view extractor, std::string_view key) {
  const auto prefix = PrefixExtractor::FromName(extractor).value().PrefixOf(key);
  if (!prefix.has_value()) return std::nullopt;
  return std::string(*prefix);
}

TEST(PrefixExtractorTest, FixedTakesTheFirstBytes) {
  EXPECT_EQ(PrefixBy("fixed:3", "abcd"), "abc");
  EXPECT_EQ(PrefixBy("fixed:3", "abc"), "abc");
  EXPECT_EQ(PrefixBy("fixed:3", "ab"), std::nullopt);
  EXPECT_EQ(PrefixBy("fixed:1", ""), std::nullopt);
  EXPECT_EQ(PrefixBy("fixed:2", std::string("\0\xff!", 3)), std::string("\0\xff", 2));
  EXPECT_EQ(PrefixBy("fixed:65535", std::string(65'535, 'x')), std::string(65'535, 'x'));
  EXPECT_EQ(PrefixBy("fixed:65535", std::string(65'534, 'x')), std::nullopt);
}

TEST(PrefixExtractorTest, DelimiterEndsThePrefix) {
  EXPECT_EQ(PrefixBy("delimiter:/", "a/b/c"), "a/");
  EXPECT_EQ(PrefixBy("delimiter:/", "/"), "/");
  EXPECT_EQ(PrefixBy("delimiter:/", "abc"), std::nullopt);
  EXPECT_EQ(PrefixBy("delimiter:/", ""), std::nullopt);
  EXPECT_EQ(PrefixBy("delimiter:/:2", "a/b/c"), "a/b/");
  EXPECT_EQ(PrefixBy("delimiter:/:2", "a//b"), "a//");
  EXPECT_EQ(PrefixBy("delimiter:/:2", "a/b"), std::nullopt);
  EXPECT_EQ(PrefixBy("delimiter::", "a:b:c"), "a:");
  EXPECT_EQ(PrefixBy("delimiter:::2", "a:b:c"), "a:b:");
  EXPECT_EQ(PrefixBy(std::string("delimiter:\0:3", 13), std::string("\0a\0\0b", 5)),
            std::string("\0a\0\0", 4));
}

TEST(PrefixExtractorTest, NamesAreReadAndWritten) {
  for (const std::string name : {"fixed:1", "fixed:65535", "delimiter:/",
                                 "delimiter::", "delimiter:::7", "delimiter:5", "delimiter:5:5"}) {
    EXPECT_EQ(PrefixExtractor::FromName(name).value().name(), name);
  }
  EXPECT_EQ(PrefixExtractor::FromName("delimiter:/:1").value().name(), "delimiter:/");
  EXPECT_EQ(PrefixExtractor::FromName("fixed:007").value().name(), "fixed:7");
}

TEST(PrefixExtractorTest, RefusesOtherNames) {
  for (const std::string name : {"",
                                 "fixed",
                                 "fixed:",
                                 "fixed:0",
                                 "fixed:65536",
                                 "fixed:-1",
                                 "fixed:+1",
                                 "fixed: 1",
                                 "fixed:1 ",
                                 "fixed:1x",
                                 "fixed:99999999999999999999",
                                 "Fixed:1",
                                 "delimiter",
                                 "delimiter:",
                                 "delimiter:/:",
                                 "delimiter:/:0",
                                 "delimiter:/:65536",
                                 "delimiter:/2",
                                 "delimiter:/:x",
                                 "delimiter:ab",
                                 "delimiter:/:1:1",
                                 "capped:8"}) {
    EXPECT_THAT(PrefixExtractor::FromName(name),
                StatusIs(kPrefixInvalid, HasSubstr("is '" + name + "'")));
    EXPECT_THAT(PrefixFilter::Make(10, 0.01, {.extractor = name}),
                StatusIs(kPrefixInvalid, HasSubstr("extractor")));
  }
}

// --- queries ---

TEST(PrefixTest, AnswersForPrefixesAndLongerKeys) {
  PrefixFilter filter = MakePrefix("fixed:3");
  filter.Add("abcdef");
  filter.Add("ab");  // out of the domain
  EXPECT_TRUE(filter.MayContainPrefix("abc"));
  EXPECT_TRUE(filter.MayContainPrefix("abcz"));
  EXPECT_FALSE(filter.MayContainPrefix("abd"));
  EXPECT_FALSE(filter.MayContainPrefix("abdz"));
  EXPECT_TRUE(filter.MayContainPrefix("zz"));
  EXPECT_TRUE(filter.MayContainPrefix(""));
  EXPECT_TRUE(filter.MayContain("abcz"));
  EXPECT_FALSE(filter.MayContain("xyz"));
  EXPECT_TRUE(filter.MayContain("ab"));
  EXPECT_TRUE(filter.MayContain("xy"));
  EXPECT_EQ(filter.added_count(), 1u);
}

TEST(PrefixTest, AnswersOnlyRangesWithinOnePrefix) {
  PrefixFilter filter = MakePrefix("delimiter:/");
  filter.Add("fruit/apple");
  EXPECT_TRUE(filter.MayMatchRange("fruit/x", "fruit/z"));
  EXPECT_FALSE(filter.MayMatchRange("nuts/x", "nuts/z"));
  EXPECT_FALSE(filter.MayMatchRange("nuts/", "nuts/"));
  EXPECT_TRUE(filter.MayMatchRange("nuts/x", "nuts"));   // a bound without a prefix
  EXPECT_TRUE(filter.MayMatchRange("nuts", "nuts/z"));   // the other one
  EXPECT_TRUE(filter.MayMatchRange("mint/", "nuts/z"));  // two prefixes
  // '0' comes after '/'.
  EXPECT_TRUE(filter.MayMatchRange("nuts/", "nuts0"));
  EXPECT_FALSE(filter.MayMatchRange("nuts/", "nuts0", RangeEnd::kExcluded));
  EXPECT_FALSE(filter.MayMatchRange("nuts/x", "nuts0", RangeEnd::kExcluded));
  EXPECT_TRUE(filter.MayMatchRange("fruit/", "fruit0", RangeEnd::kExcluded));
  EXPECT_TRUE(filter.MayMatchRange("nuts/", "nuts00", RangeEnd::kExcluded));
  EXPECT_TRUE(filter.MayMatchRange("nuts/", "nuts1", RangeEnd::kExcluded));
  EXPECT_FALSE(filter.MayMatchRange("nuts/", "nuts/z", RangeEnd::kExcluded));
}

TEST(PrefixTest, FindsTheSuccessorOfHighBytes) {
  PrefixFilter filter = MakePrefix("fixed:2");
  const auto denies = [&](std::string_view low, std::string_view high) {
    return !filter.MayMatchRange(low, high, RangeEnd::kExcluded);
  };
  EXPECT_TRUE(denies("a\xff", "b"));
  EXPECT_FALSE(denies("a\xff", "b\x01"));
  EXPECT_FALSE(denies("a\xff", std::string_view("b\0", 2)));
  EXPECT_FALSE(denies("a\xfe", "b"));
  EXPECT_TRUE(denies("a\x7f", "a\x80"));  // bytes are not signed
  EXPECT_TRUE(denies("\xff\xff", "\xff\xff\xff"));
  EXPECT_FALSE(denies("\xff\xff", ""));
}

// Few letters and short keys, so that ranges hit keys, bounds and prefixes often; \xff and \0 are
// among the letters.
std::string RandomPrefixedKey(Dice& dice) {
  constexpr char kLetters[] = {'\0', '/', '0', 'a', '\xff'};
  std::string key(dice.Roll(6), '\0');
  for (char& letter : key) letter = kLetters[dice.Roll(std::size(kLetters))];
  return key;
}

TEST(PrefixTest, DeniesNoRangeWithAKey) {
  Dice dice(1);
  uint64_t empty = 0, denied = 0, decidable = 0;
  for (const char* name :
       {"fixed:1", "fixed:2", "fixed:4", "delimiter:/", "delimiter:/:2", "delimiter:\xff"}) {
    const PrefixExtractor extractor = PrefixExtractor::FromName(name).value();
    for (int round = 0; round < 60; ++round) {
      PrefixFilter filter = MakePrefix(name, 100, 1e-9);
      std::set<std::string> keys, prefixes;
      for (uint64_t i = 0; i < 1 + dice.Roll(30); ++i) keys.insert(RandomPrefixedKey(dice));
      for (const std::string& key : keys) filter.Add(key);
      for (const std::string& key : keys) {
        if (const auto prefix = extractor.PrefixOf(key)) prefixes.emplace(*prefix);
      }
      EXPECT_EQ(filter.added_count(), prefixes.size());  // in order, each is added once
      for (int query = 0; query < 500; ++query) {
        const std::string low = RandomPrefixedKey(dice), high = RandomPrefixedKey(dice);
        for (const RangeEnd end : {RangeEnd::kIncluded, RangeEnd::kExcluded}) {
          const auto from = keys.lower_bound(low);
          const bool holds =
              from != keys.end() && (end == RangeEnd::kIncluded ? *from <= high : *from < high);
          const bool maybe = filter.MayMatchRange(low, high, end);
          ASSERT_TRUE(maybe || !holds) << name;
          empty += !holds, denied += !maybe;
          // The filter says "no" in all cases in which it may: both bounds have the same full
          // prefix, which is absent.
          const auto prefix = extractor.PrefixOf(low);
          if (prefix.has_value() && prefix == extractor.PrefixOf(high)) {
            ASSERT_EQ(maybe, prefixes.contains(std::string(*prefix))) << name;
            ++decidable;
          } else if (end == RangeEnd::kIncluded) {
            ASSERT_TRUE(maybe) << name;
          }
        }
        const bool has = std::any_of(keys.begin(), keys.end(),
                                     [&](const std::string& key) { return key.starts_with(low); });
        ASSERT_TRUE(filter.MayContainPrefix(low) || !has) << name;
        ASSERT_TRUE(filter.MayContain(low) || !keys.contains(low)) << name;
      }
    }
  }
  EXPECT_GT(denied, empty / 100);
  EXPECT_GT(decidable, 1000u);
}

// All strings of up to three of these letters, in order.
std::vector<std::string> ShortStringsOf(const std::string& letters) {
  std::vector<std::string> all = {""};
  size_t begin = 0;
  for (int length = 0; length < 3; ++length) {
    const size_t end = all.size();
    for (; begin < end; ++begin) {
      for (const char letter : letters) all.push_back(all[begin] + letter);
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Uses a filter without keys, which says "no" whenever it can.
TEST(PrefixTest, DecidesExactlyTheRangesWithinOnePrefix) {
  const std::vector<std::string> bounds = ShortStringsOf("./0\xfe\xff");
  // Includes the letter after each of those, so that the first key after a prefix is among the
  // keys.
  const std::vector<std::string> all = ShortStringsOf("./01\xfe\xff");
  for (const char* name : {"fixed:1", "fixed:2", "delimiter:/", "delimiter:/:2"}) {
    const PrefixExtractor extractor = PrefixExtractor::FromName(name).value();
    const PrefixFilter filter = MakePrefix(name);
    uint64_t denied = 0;
    for (const std::string& low : bounds) {
      const auto prefix = extractor.PrefixOf(low);
      // The first string from `low` on that does not begin with the prefix.
      const auto stranger = std::find_if(
          std::lower_bound(all.begin(), all.end(), low), all.end(),
          [&](const std::string& key) { return !prefix.has_value() || !key.starts_with(*prefix); });
      for (const std::string& high : bounds) {
        if (low >= high) continue;
        const bool excluded = !filter.MayMatchRange(low, high, RangeEnd::kExcluded);
        ASSERT_EQ(excluded, stranger == all.end() || *stranger >= high) << name;
        const bool included = !filter.MayMatchRange(low, high);
        ASSERT_EQ(included, stranger == all.end() || *stranger > high) << name;
        denied += included;
      }
    }
    EXPECT_GT(denied, 10u) << name;
  }
}

// --- whole keys ---

TEST(PrefixTest, TellsWholeKeysApart) {
  PrefixFilter filter = MakePrefix("fixed:2", 1000, 1e-9, WholeKeys::kToo);
  for (const char* key : {"a", "ab", "abc", "abd", "abd", "b", "xyz"}) filter.Add(key);
  // The keys, less "ab" and the second "abd", and the prefixes ab and xy.
  EXPECT_EQ(filter.added_count(), 5u + 2);
  for (const char* key : {"a", "ab", "abc", "abd", "b", "xyz"}) EXPECT_TRUE(filter.MayContain(key));
  for (const char* key : {"", "c", "abe", "xyy", "xyza"}) EXPECT_FALSE(filter.MayContain(key));
  EXPECT_TRUE(filter.MayContain("xy"));  // a prefix passes as a key
  EXPECT_TRUE(filter.MayContainPrefix("xy"));
  EXPECT_FALSE(filter.MayContainPrefix("xx"));
  EXPECT_FALSE(filter.MayMatchRange("xx0", "xx9"));
  EXPECT_EQ(filter.whole_keys(), WholeKeys::kToo);
}

// --- rates ---

std::string NumberedPrefix(uint64_t i) {
  std::string key(9, '\0');
  bloom::Store64(key.data(), testing_support::DigestOfKey(i));
  return key;
}

TEST(PrefixTest, PassesAbsentPrefixesAtThePredictedRate) {
  constexpr uint64_t kPrefixes = 100'000, kQueries = 1'000'000;
  double sum = 0, predicted = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    PrefixFilter filter = MakePrefix("fixed:8", kPrefixes, 0.01, WholeKeys::kLeftOut, seed);
    for (uint64_t i = 0; i < kPrefixes; ++i) filter.Add(NumberedPrefix(i));
    for (uint64_t i = 0; i < kPrefixes; ++i)
      ASSERT_TRUE(filter.MayContainPrefix(NumberedPrefix(i)));
    EXPECT_NEAR(filter.EstimatedKeyCount(), kPrefixes, 0.01 * kPrefixes);
    uint64_t passing = 0;
    for (uint64_t i = kPrefixes; i < kPrefixes + kQueries; ++i) {
      const std::string low = NumberedPrefix(i);
      passing += filter.MayMatchRange(low, low + "z");
    }
    const double measured = static_cast<double>(passing) / kQueries;
    predicted = filter.PredictedFpp(kPrefixes);
    EXPECT_NEAR(measured / predicted, 1, 0.05) << seed;
    EXPECT_NEAR(measured / filter.CurrentFpp(), 1, 0.05) << seed;
    sum += measured;
  }
  EXPECT_NEAR(sum / 5 / predicted, 1, 0.03);
  EXPECT_LE(predicted, 0.01001);
}

// --- the whole filter ---

TEST(PrefixTest, HoldsTheBitsOfItsPrefixes) {
  PrefixFilter filter = MakePrefix("delimiter:/", 100, 0.01, WholeKeys::kLeftOut, 7);
  auto blocked = bloom::Filter<bloom::Blocked>::Make(100, 0.01, 7).value();
  for (const char* key : {"a/1", "a/2", "b/1", "c", "a/3"}) filter.Add(key);
  for (const char* prefix : {"a/", "b/", "a/"}) blocked.Add(prefix);
  EXPECT_EQ(filter.CountOnes(), blocked.CountOnes());
  EXPECT_EQ(filter.KeyCapacity(), blocked.KeyCapacity());
  EXPECT_EQ(filter.Serialize().substr(64), blocked.Serialize() + "delimiter:/");
}

TEST(PrefixTest, MergesOnlyMatchingFilters) {
  PrefixFilter left = MakePrefix("fixed:2"), right = MakePrefix("fixed:2");
  left.Add("aa1");
  right.Add("bb1");
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_TRUE(left.MayContainPrefix("aa") && left.MayContainPrefix("bb"));
  EXPECT_FALSE(left.MayContainPrefix("cc"));
  const std::string before = left.Serialize();
  const auto refused = [](const char* what) { return StatusIs(kPrefixInvalid, HasSubstr(what)); };
  EXPECT_THAT(left.Merge(MakePrefix("fixed:3")), refused("extractors fixed:2 and fixed:3"));
  EXPECT_THAT(left.Merge(MakePrefix("delimiter:/")), refused("fixed:2 and delimiter:/"));
  EXPECT_THAT(left.Merge(MakePrefix("fixed:2", 1000, 1e-6, WholeKeys::kToo)),
              refused("whole keys left out and too"));
  EXPECT_THAT(left.Merge(MakePrefix("fixed:2", 1000, 1e-6, WholeKeys::kLeftOut, 4)),
              refused("seeds"));
  EXPECT_THAT(left.Merge(MakePrefix("fixed:2", 5000)), refused("sizes"));
  EXPECT_EQ(left.Serialize(), before);
}

TEST(PrefixTest, ClearedKeysCanBeAddedAgain) {
  PrefixFilter filter = MakePrefix("fixed:2", 1000, 1e-6, WholeKeys::kToo);
  const std::string before = filter.Serialize();
  filter.Add("abc");
  filter.Clear();
  EXPECT_EQ(filter.Serialize(), before);
  EXPECT_FALSE(filter.MayContainPrefix("ab"));
  filter.Add("abc");
  EXPECT_TRUE(filter.MayContainPrefix("ab"));
  EXPECT_TRUE(filter.MayContain("abc"));
}

TEST(PrefixTest, SurvivesSavingAndLoading) {
  for (const WholeKeys whole_keys : {WholeKeys::kLeftOut, WholeKeys::kToo}) {
    for (const std::string name : {"fixed:3", "delimiter:/", "delimiter:::2"}) {
      PrefixFilter filter = MakePrefix(name, 100, 0.01, whole_keys);
      for (const char* key : {"abc", "abcd", "a/b", "a:b:c", "x"}) filter.Add(key);
      const std::string bytes = filter.Serialize();
      absl::StatusOr<PrefixFilter> loaded = PrefixFilter::Load(bytes);
      ASSERT_THAT(loaded, IsOk());
      EXPECT_EQ(loaded->Serialize(), bytes);
      EXPECT_EQ(loaded->extractor_name(), name);
      EXPECT_EQ(loaded->whole_keys(), whole_keys);
      EXPECT_EQ(loaded->added_count(), filter.added_count());
      EXPECT_EQ(loaded->seed(), 3u);
      EXPECT_EQ(loaded->target_fpp(), 0.01);
      EXPECT_EQ(loaded->size_bits(), filter.size_bits());
      EXPECT_EQ(loaded->shape(), filter.shape());
      loaded->Add("new/key");
      filter.Add("new/key");
      EXPECT_EQ(loaded->Serialize(), filter.Serialize());
      PrefixFilter moved = *std::move(loaded);
      EXPECT_EQ(moved.Serialize(), filter.Serialize());
    }
  }
}

TEST(PrefixTest, NoFilterReaderDeniesByItsBytes) {
  PrefixFilter filter = MakePrefix("fixed:2");
  filter.Add("abc");
  const bloom::FilterReader reader = bloom::FilterReader::Open(filter.Serialize());
  for (uint64_t i = 0; i < 100; ++i)
    EXPECT_TRUE(reader.MayContain(testing_support::DigestOfKey(i)));
}

TEST(PrefixTest, BadParametersAreNamedErrors) {
  const auto refused = [](const char* what) { return StatusIs(kPrefixInvalid, HasSubstr(what)); };
  EXPECT_THAT(PrefixFilter::Make(0, 0.01, {.extractor = "fixed:2"}), refused("key_count"));
  for (const double fpp : {0.0, 1.0, -0.5, 2.0, std::nan(""), HUGE_VAL, 1e-300})
    EXPECT_THAT(PrefixFilter::Make(10, fpp, {.extractor = "fixed:2"}), refused("target_fpp"))
        << fpp;
  EXPECT_THAT(PrefixFilter::Make(UINT64_MAX, 0.01, {.extractor = "fixed:2"}), refused("2^56"));
  EXPECT_FALSE(PrefixFilter::Make(uint64_t{1} << 50, 0.01, {.extractor = "fixed:2"}).ok());
}

absl::Status LoadAndUsePrefix(std::string_view bytes) {
  absl::StatusOr<PrefixFilter> filter = PrefixFilter::Load(bytes);
  if (!filter.ok()) return filter.status();
  for (const char* key : {"", "a", "a/b", "abcdef", "b/c/d"}) {
    filter->MayContainPrefix(key);
    filter->MayMatchRange(key, "b", RangeEnd::kExcluded);
    filter->Add(key);
    EXPECT_TRUE(filter->MayContainPrefix(key));
    EXPECT_TRUE(filter->MayContain(key));
    EXPECT_TRUE(filter->MayMatchRange(key, key));
  }
  filter->PredictedFpp(10);
  filter->CurrentFpp();
  filter->EstimatedKeyCount();
  EXPECT_THAT(PrefixFilter::Load(filter->Serialize()), IsOk());
  filter->Clear();
  return absl::OkStatus();
}

std::string SoundPrefixBytes(const char* extractor = "delimiter:/") {
  PrefixFilter filter = MakePrefix(extractor, 20, 0.1);
  for (const char* key : {"a/b", "abcdef", "b/c/d"}) filter.Add(key);
  return filter.Serialize();
}

TEST(PrefixTest, AllDamageIsDataLoss) {
  testing_support::ExpectWrappedDamageIsDataLoss(SoundPrefixBytes(), LoadAndUsePrefix);
}

TEST(PrefixTest, RefusesOtherKindsVersionsAndExtractors) {
  testing_support::ExpectOtherWrappedAreRefusedByName(SoundPrefixBytes(), LoadAndUsePrefix);
  const auto with_tail = [](const std::string& tail) {
    std::string bytes = SoundPrefixBytes("delimiter:/");
    bytes.replace(bytes.size() - 11, 11, tail);
    testing_support::RepairChecksum(bytes);
    return bytes;
  };
  EXPECT_THAT(LoadAndUsePrefix(with_tail("fixed:2")), IsOk());
  // "fixed:02" could not be merged with any filter, and no writer writes it.
  for (const std::string tail : {"", "capped:8", "fixed:02", "delimiter:/:1", "fixed:2 "}) {
    EXPECT_THAT(LoadAndUsePrefix(with_tail(tail)),
                StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("extractor '" + tail + "'")));
  }
  std::string bytes = SoundPrefixBytes();
  bytes[48] = 2;
  testing_support::RepairChecksum(bytes);
  EXPECT_THAT(LoadAndUsePrefix(bytes),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has 2 for whole keys")));
}

TEST(PrefixTest, ForgedBytesAreHarmless) {
  testing_support::ExpectForgedWrappedDoNoHarm(SoundPrefixBytes(), 20'000, LoadAndUsePrefix);
}

}  // namespace
