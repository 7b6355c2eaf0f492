// Repairs of stores in which entries expire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/keyspace.h"
#include "tests/lsm/repair/repair_keyspaces_fixture.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Contains;
using testing::HasSubstr;

class RepairExpiryTest : public RepairKeyspacesTest {
 protected:
  RepairExpiryTest() { options_.environment.clock = &clock_; }
  ~RepairExpiryTest() override { db_ = nullptr; }

  testing_support::SetClock clock_;
};

// A put of each keyspace is in a table, and one is in the log.
TEST_F(RepairExpiryTest, KeepsTimesAndLimits) {
  for (const bool has_manifest : {true, false}) {
    for (const bool again : {false, true}) {
      SCOPED_TRACE(Concat(has_manifest, again));
      ASSERT_NO_FATAL_FAILURE(OpenNew());
      ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"own"}));
      const char* const names[] = {"default", "common", "own"};
      for (const char* name : names) {
        Keyspace keyspace = OpenKeyspace(name);
        ASSERT_OK(keyspace.Put("before", "1"));
      }
      clock_.Add(100);
      for (const char* name : names)
        ASSERT_OK(OpenKeyspace(name, {.expire_after = 10}).Put("a", "2"));
      Keyspace lasts = OpenKeyspace("lasts");
      ASSERT_OK(lasts.Put("a", "2"));
      Flush();
      clock_.Add(5);
      for (const char* name : names) ASSERT_OK(OpenKeyspace(name).Put("b", "3"));
      ASSERT_OK(OpenKeyspace("lasts").Put("b", "3"));
      for (int pass = 0; pass <= (again ? 1 : 0); ++pass)
        has_manifest ? Repair() : RepairWithoutManifest();
      for (const char* name : names) {
        SCOPED_TRACE(name);
        EXPECT_EQ(Scan(OpenKeyspace(name)), "a=2 b=3 before=1");
      }
      clock_.Add(6);  // "before" counts as written when the limit was set
      for (const char* name : names) EXPECT_EQ(Scan(OpenKeyspace(name)), "b=3");
      for (const char* name : names) ASSERT_OK(OpenKeyspace(name).Put("c", "4"));
      clock_.Add(5);
      for (const char* name : names) EXPECT_EQ(Scan(OpenKeyspace(name)), "c=4");
      EXPECT_EQ(Scan(OpenKeyspace("lasts")), "a=2 b=3");
      EXPECT_OK(db_->Verify());
    }
  }
}

// The limit of the default keyspace is lost with the manifest and with the names in the common
// tree.
TEST_F(RepairExpiryTest, SaysThatALimitIsLost) {
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_OK(OpenKeyspace("default", {.expire_after = 10}).Put("a", "1"));
  Flush();
  const std::vector<uint64_t> of_names = TablesOf(kCommonTree);
  ASSERT_EQ(of_names.size(), 1u);
  ASSERT_NO_FATAL_FAILURE(Close());
  Remove(Forger().PathOf(of_names[0]));
  EXPECT_THAT(RepairWithoutManifest(),
              Contains(HasSubstr("the entries of keyspace \"default\" have times, but no file says "
                                 "how long they live: they stay")));
  clock_.Add(100);
  EXPECT_EQ(Scan(), "a=1");
  // They still have their times.
  OpenKeyspace("default", {.expire_after = 10});
  EXPECT_EQ(Scan(), "");
}

// The record of a limit in a log is damaged.  The times of later puts are in their own records.
TEST_F(RepairExpiryTest, KeepsTimesAfterADamagedLimit) {
  ASSERT_NO_FATAL_FAILURE(Open());
  Put("first", "0");
  OpenKeyspace("default", {.expire_after = 10});
  for (const char* key : {"a", "b", "c"}) Put(key, std::string(3000, '1'));
  const std::string log = world_.FilesOf(FileKind::kLog).at(0);
  const uint64_t limit_at = world_.files->FileBytes(log).find("first") + 26;
  ASSERT_NO_FATAL_FAILURE(Close());
  ASSERT_NO_FATAL_FAILURE(Flip(log, limit_at));
  EXPECT_THAT(Repair(), Contains(HasSubstr("how long they live")));
  EXPECT_EQ(db_->GetStatistics().total.timed_entries, 3u);
}

}  // namespace
}  // namespace lsm
