// Keyspaces are opened while memory runs out, at each allocation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/short_memory.h"
#include "tests/reliability/faults/spared_files.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace reliability {
namespace {

using testing::ElementsAre;

// Opens the keyspace "a" in many stores.  Each time a different allocation fails, or all from that
// one on.  Afterwards the keyspace exists with its options, or it does not exist and can be created
// later.
class KeyspacesMemoryTest : public testing::TestWithParam<bool> {};

TEST_P(KeyspacesMemoryTest, OpeningsAreWholeOrFail) {
  const lsm::KeyspaceOptions options = {.filter_kind = "ribbon", .target_fpp = 0.25};
  ShortMemory& memory = ShortMemory::OfThisThread();
  for (const bool exists : {false, true}) {
    uint64_t number = 0, failures = 0;
    for (;; ++number) {
      SCOPED_TRACE(lsm::Concat("allocation ", number, exists ? ", it exists" : ""));
      lsm::World world;
      SparedFiles files(world.files.get());
      lsm::Options store_options = world.SmallOptions();
      store_options.environment.file_system = &files;
      std::unique_ptr<lsm::DB> db = lsm::DB::Open(lsm::kStorePath, store_options).value();
      if (exists) {
        ASSERT_OK(db->OpenKeyspace("a"));
      }
      memory.failed = 0;
      GetParam() ? memory.FailForever(number) : memory.FailOnce(number);
      absl::Status status;
      try {
        status = InStore([&] { return db->OpenKeyspace("a", options).status(); });
      } catch (const std::bad_alloc&) {
        ADD_FAILURE() << "OpenKeyspace throws";
      }
      memory.Stop();
      if (memory.failed == 0) break;  // all were tried
      failures += !status.ok();
      if (!status.ok()) {
        EXPECT_TRUE(absl::IsResourceExhausted(status) || absl::IsUnknown(status)) << status;
        ASSERT_OK_AND_ASSIGN(const std::vector<std::string> names, db->ListKeyspaces());
        if (!exists) {
          EXPECT_THAT(names, ElementsAre("default"));
        }
      }
      ASSERT_OK(db->Resume());
      ASSERT_OK_AND_ASSIGN(lsm::Keyspace a, db->OpenKeyspace("a", options));
      ASSERT_OK(a.Put("key", "value"));
      ASSERT_OK(db->Close());
      store_options.mode = lsm::OpenMode::kReadOnly;
      db = lsm::DB::Open(lsm::kStorePath, store_options).value();
      ASSERT_OK_AND_ASSIGN(a, db->OpenKeyspace("a", options));
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, a.Get("key"));
      EXPECT_EQ(value, "value");
    }
    EXPECT_GT(failures, 5u);
  }
}

INSTANTIATE_TEST_SUITE_P(OnceAndForever, KeyspacesMemoryTest, testing::Bool());

// Memory runs out while a limit is ended, at each allocation.  Afterwards jobs drop what the old
// limit lets expire, unless the store must resume.
TEST(LimitsMemoryTest, ALimitThatWasNotSetHoldsNothing) {
  ShortMemory& memory = ShortMemory::OfThisThread();
  int failures = 0;
  for (uint64_t number = 0;; ++number) {
    SCOPED_TRACE(number);
    lsm::World world;
    testing_support::SetClock clock;
    SparedFiles files(world.files.get());
    lsm::Options options = world.SmallOptions();
    options.environment.file_system = &files;
    options.environment.clock = &clock;
    const std::unique_ptr<lsm::DB> db = lsm::DB::Open(lsm::kStorePath, options).value();
    ASSERT_OK_AND_ASSIGN(lsm::Keyspace limited, db->OpenKeyspace("default", {.expire_after = 10}));
    ASSERT_OK(limited.Put("a", "1"));
    ASSERT_OK(db->Flush());
    memory.failed = 0;
    memory.FailOnce(number);
    const absl::Status status =
        InStore([&] { return db->OpenKeyspace("default", {.expire_after = 0}).status(); });
    memory.Stop();
    if (memory.failed == 0) break;
    if (status.ok() || !db->Put("b", "2").ok()) continue;
    ++failures;
    clock.Add(100);
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->CompactRange());
    EXPECT_EQ(db->GetStatistics().total.timed_entries, 0u);
  }
  EXPECT_GT(failures, 3);
}

}  // namespace
}  // namespace reliability
