// The call DeleteRange: what it counts, what it refuses, and what another process sees of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "lsm/limits.h"
#include "lsm/snapshot.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

using RangeWritesTest = StoreTest;

TEST_F(RangeWritesTest, EachIsOneWriteOfItsBounds) {
  Open();
  DeleteRange("abc", "abde");
  DeleteRange("k", std::nullopt);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.writes, 2u);
  EXPECT_EQ(statistics.write_entries, 2u);
  EXPECT_EQ(statistics.user_bytes_written, 3u + 4 + 1);
}

TEST_F(RangeWritesTest, RangesWithoutKeysDeleteNothing) {
  Open();
  for (const char* const key : {"a", "b", "c"}) Put(key, "1");
  const uint64_t entries = db_->GetStatistics().write_entries;
  DeleteRange("b", "b");
  DeleteRange("c", "a");
  DeleteRange("", "");
  EXPECT_EQ(Scan(), "a=1 b=1 c=1");
  EXPECT_EQ(db_->GetStatistics().write_entries, entries);
  Open();
  EXPECT_EQ(Scan(), "a=1 b=1 c=1");
}

TEST_F(RangeWritesTest, SomeAreRefused) {
  Open();
  Put("a", "1");
  const std::string too_long(kKeyBytesMax + 2, 'a');
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a bound of a range"));
  EXPECT_THAT(db_->DeleteRange("", too_long), refused);
  EXPECT_THAT(db_->DeleteRange(too_long, std::nullopt), refused);
  EXPECT_EQ(Scan(), "a=1");
  ASSERT_OK(db_->Close());
  EXPECT_THAT(db_->DeleteRange("a", "b"), StatusIs(absl::StatusCode::kFailedPrecondition));
  options_.mode = OpenMode::kReadOnly;
  Open();
  EXPECT_THAT(db_->DeleteRange("a", "b"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(Scan(), "a=1");
}

// In the log, in a table, and after a compaction.
TEST_F(RangeWritesTest, FollowersSeeThem) {
  Open();
  for (const char* const key : {"a", "b", "c", "d"}) Put(key, "1");
  CompactAll();
  Options options = world_.SmallOptions();
  options.mode = OpenMode::kFollow;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> follower, DB::Open(kStorePath, options));
  const std::unique_ptr<const Snapshot> before = follower->GetSnapshot();
  DeleteRange("b", "d");
  Put("c", "2");
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    ASSERT_OK(follower->Resume());
    EXPECT_EQ(ScanOf(*follower->NewIterator()), "a=1 c=2 d=1");
    ASSERT_OK_AND_ASSIGN(const std::optional<std::string> deleted, follower->Get("b"));
    EXPECT_EQ(deleted, std::nullopt);
    EXPECT_EQ(ScanOf(*follower->NewIterator({.snapshot = before.get()})), "a=1 b=1 c=1 d=1");
    pass == 0 ? Flush() : CompactAll();
  }
}

}  // namespace
}  // namespace lsm
