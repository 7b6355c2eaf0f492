// Entries that expire, in other parts of the store: followers, copies, statistics.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/snapshot.h"
#include "lsm/statistics.h"
#include "tests/lsm/keyspaces/expiry_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class ExpiryElsewhereTest : public ExpiryTest {};

TEST_F(ExpiryElsewhereTest, FollowersFollowLimits) {
  ASSERT_NO_FATAL_FAILURE(Open());
  Keyspace early = OpenKeyspace("early", {.expire_after = 10});
  ASSERT_OK(early.Put("a", "1"));
  Options options = options_;
  options.mode = OpenMode::kFollow;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> follower, DB::Open(kStorePath, options));
  ASSERT_OK_AND_ASSIGN(Keyspace seen, follower->OpenKeyspace("early"));
  EXPECT_EQ(Scan(seen), "a=1");
  const std::shared_ptr<const Snapshot> snapshot = follower->GetSnapshot();
  const std::unique_ptr<Iterator> iterator = seen.NewIterator();
  clock_.Add(11);
  EXPECT_EQ(Read(seen, "a"), "absent");
  EXPECT_EQ(Scan(seen, {.snapshot = snapshot.get()}), "a=1");
  EXPECT_EQ(ScanOf(*iterator), "a=1");
  ASSERT_OK(early.Put("b", "2"));
  clock_.Add(5);

  // A limit of a keyspace that had none, a lower one, and none.
  ASSERT_OK(follower->Resume());
  EXPECT_EQ(Scan(seen), "b=2");
  Put("c", "3");
  OpenKeyspace("default", {.expire_after = 3});
  OpenKeyspace("early", {.expire_after = 4});
  ASSERT_OK(follower->Resume());
  EXPECT_EQ(Scan(seen), "");
  EXPECT_EQ(ScanOf(*follower->NewIterator()), "c=3");
  clock_.Add(4);
  EXPECT_EQ(ScanOf(*follower->NewIterator()), "");
  OpenKeyspace("default", {.expire_after = 0});
  Put("d", "4");
  clock_.Add(100);
  ASSERT_OK(follower->Resume());
  EXPECT_EQ(ScanOf(*follower->NewIterator()), "d=4");
  EXPECT_EQ(Scan(seen, {.snapshot = snapshot.get()}), "a=1");

  // A follower that begins now has the limits of the manifest.
  OpenKeyspace("early", {.expire_after = 50});
  Flush();
  ASSERT_OK(early.Put("e", "5"));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> later, DB::Open(kStorePath, options));
  ASSERT_OK_AND_ASSIGN(seen, later->OpenKeyspace("early"));
  EXPECT_EQ(Scan(seen), "e=5");
  clock_.Add(51);
  EXPECT_EQ(Scan(seen), "");
}

TEST_F(ExpiryElsewhereTest, CopiesKeepTimesAndLimits) {
  ASSERT_NO_FATAL_FAILURE(Open());
  Keyspace early = OpenKeyspace("early", {.expire_after = 10});
  ASSERT_OK(early.Put("a", "1"));
  ASSERT_OK(OpenKeyspace("default", {.expire_after = 20}).Put("a", "2"));
  clock_.Add(5);
  ASSERT_OK(db_->Checkpoint("/checkpoint"));
  const Keyspace only[] = {early};
  ASSERT_OK(db_->Backup("/backup", "", {}, nullptr, only));
  clock_.Add(6);
  for (const char* path : {"/checkpoint", "/backup"}) {
    SCOPED_TRACE(path);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> copy, DB::Open(path, options_));
    ASSERT_OK_AND_ASSIGN(Keyspace in_copy, copy->OpenKeyspace("early"));
    EXPECT_EQ(Scan(in_copy), "");
    EXPECT_EQ(ScanOf(*copy->NewIterator()), path == std::string("/backup") ? "" : "a=2");
    ASSERT_OK(in_copy.Put("b", "3"));
    const uint64_t now = clock_.seconds();
    clock_.Add(11);
    EXPECT_EQ(Scan(in_copy), "");
    clock_.Set(now);
  }
  // A clock of that day shows what has expired.
  Options options = options_;
  options.mode = OpenMode::kReadOnly;
  clock_.Set(clock_.seconds() - 6);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> copy, DB::Open("/checkpoint", options));
  ASSERT_OK_AND_ASSIGN(const Keyspace in_copy, copy->OpenKeyspace("early"));
  EXPECT_EQ(Scan(in_copy), "a=1 b=3");
}

TEST_F(ExpiryElsewhereTest, StatisticsCountExpiredBytes) {
  ASSERT_NO_FATAL_FAILURE(Open());
  OpenKeyspace("default", {.expire_after = 100});
  for (int i = 0; i < 100; ++i) {
    Put(Concat("key", 100 + i), std::string(100, 'v'));
    clock_.Add(1);
  }
  ASSERT_OK(db_->CompactRange());
  Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.total.timed_entries, 100u);
  EXPECT_EQ(statistics.total.expired_bytes, 0u);
  EXPECT_EQ(statistics.space_amplification(), 1);
  clock_.Add(10);
  statistics = db_->GetStatistics();
  const auto bytes = static_cast<double>(statistics.total.table_bytes);
  EXPECT_NEAR(static_cast<double>(statistics.total.expired_bytes), bytes / 10, bytes / 30);
  EXPECT_EQ(statistics.total.freeable_bytes, statistics.total.expired_bytes);
  EXPECT_NEAR(statistics.space_amplification(), 1 / 0.9, 0.05);
  EXPECT_EQ(statistics.lookups_ended_expired, 0u);
  EXPECT_EQ(Get("key100"), "absent");
  Put("key199", "newer");
  clock_.Add(101);
  EXPECT_EQ(Get("key199"), "absent");
  EXPECT_EQ(Get("key"), "absent");
  statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.lookups_ended_expired, 2u);
  // The name of "default", with its limit, is in the common tree.
  EXPECT_EQ(statistics.total.expired_bytes, OpenKeyspace("default").GetStatistics().table_bytes);
}

}  // namespace
}  // namespace lsm
