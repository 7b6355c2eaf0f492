#include "bench/read_amp/key_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

class KeySetTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(scratch_.path_of(name), std::ios::binary) << text;
    return scratch_.path_of(name);
  }

  static std::set<std::string> SetOf(const KeyList& list) {
    std::set<std::string> keys;
    for (size_t i = 0; i < list.size(); ++i) keys.insert(std::string(list[i]));
    EXPECT_EQ(keys.size(), list.size()) << "a key is there twice";
    return keys;
  }

  testing_support::ScratchDir scratch_;
  Config config_;
};

TEST_F(KeySetTest, SortsAndCountsLines) {
  config_.key_files = {Write("keys", "beta\r\ndelta\n\nbeta\nomega\nlast line")};
  config_.absent_key_files = {Write("absent", "gamma\nalpha\ngamma\n\nbeta\nzzz\nkappa\n")};
  ASSERT_OK_AND_ASSIGN(const KeySet set, MakeKeySet(config_));
  EXPECT_THAT(SetOf(set.stored), ElementsAre("beta", "delta", "last line", "omega"));
  EXPECT_THAT(SetOf(set.absent), ElementsAre("gamma", "kappa"));
  EXPECT_EQ(set.report.duplicates, 1u);
  EXPECT_EQ(set.report.empty_lines, 2u);
  EXPECT_EQ(set.report.absent_duplicates, 1u);
  EXPECT_EQ(set.report.absent_stored, 1u);   // beta
  EXPECT_EQ(set.report.absent_outside, 2u);  // alpha, zzz
}

TEST_F(KeySetTest, MergesSeveralFiles) {
  config_.key_files = {Write("one", "a\nm\n"), Write("two", "m\nz\n")};
  config_.absent_key_files = {Write("absent", "b\n")};
  ASSERT_OK_AND_ASSIGN(const KeySet set, MakeKeySet(config_));
  EXPECT_THAT(SetOf(set.stored), ElementsAre("a", "m", "z"));
  EXPECT_EQ(set.report.duplicates, 1u);
}

TEST_F(KeySetTest, HoldsBackAFifthWithoutAbsentKeys) {
  std::string lines;
  for (int i = 0; i < 10000; ++i) lines += std::to_string(i) + "\n";
  config_.key_files = {Write("keys", lines)};
  ASSERT_OK_AND_ASSIGN(const KeySet set, MakeKeySet(config_));
  EXPECT_EQ(set.stored.size() + set.absent.size() + set.report.absent_outside, 10000u);
  EXPECT_NEAR(static_cast<double>(set.absent.size()), 2000, 200);
  const std::set<std::string> stored = SetOf(set.stored);
  for (const std::string& key : SetOf(set.absent)) EXPECT_FALSE(stored.contains(key)) << key;
}

TEST_F(KeySetTest, SyntheticAbsentKeysLieBetweenStoredOnes) {
  config_.synthetic = 5000;
  ASSERT_OK_AND_ASSIGN(const KeySet set, MakeKeySet(config_));
  const std::set<std::string> stored = SetOf(set.stored);
  EXPECT_EQ(stored.size(), 5000u);
  for (const std::string& key : SetOf(set.absent)) {
    EXPECT_FALSE(stored.contains(key));
    EXPECT_GT(key, *stored.begin());
    EXPECT_LT(key, *stored.rbegin());
  }
}

TEST_F(KeySetTest, ExplainsWhyNoKeysAreLeft) {
  config_.key_files = {Write("keys", "a\nb\n")};
  config_.absent_key_files = {Write("absent", "a\nz\n")};
  EXPECT_THAT(MakeKeySet(config_), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("1 that are stored, 1 outside")));
  config_.key_files = {Write("nothing", "\n\n")};
  EXPECT_THAT(MakeKeySet(config_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no keys in it")));
}

TEST_F(KeySetTest, NamesUnreadableFilesAndLongLines) {
  config_.key_files = {scratch_.path_of("is not there")};
  EXPECT_THAT(MakeKeySet(config_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("is not there")));
  config_.key_files = {scratch_.path()};  // can be opened, and gives an error when it is read
  EXPECT_THAT(MakeKeySet(config_),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot be read")));
  config_.key_files = {Write("long", "ok\n" + std::string(70000, 'x') + "\n")};
  EXPECT_THAT(MakeKeySet(config_),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")));
}

}  // namespace
}  // namespace bench
