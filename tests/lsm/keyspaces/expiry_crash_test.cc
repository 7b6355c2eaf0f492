// The process or the machine crashes at each operation on files while limits change.  Jobs may drop
// only what has expired by each limit that a crash may leave.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/keyspace_records.h"
#include "tests/lsm/keyspaces/expiry_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class ExpiryCrashTest : public ExpiryTest {
 protected:
  static constexpr uint64_t kBegin = 1'700'000'000;
  static constexpr int kKeys = 20;

  void MakeFiles() {
    db_ = nullptr;
    world_.files = std::make_unique<MemoryFileSystem>();
    options_ = world_.SmallOptions();
    options_.environment.clock = &clock_;
  }
  // Returns whether the entries were durable before an error.
  bool Work(const std::string& name) {
    bool is_durable = false;
    const auto work = [&]() -> absl::Status {
      clock_.Set(kBegin);
      TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(kStorePath, options_));
      TRELLIS_ASSIGN_OR_RETURN(Keyspace keyspace, db_->OpenKeyspace(name, {.expire_after = 10}));
      for (int i = 0; i < kKeys; ++i)
        TRELLIS_RETURN_IF_ERROR(keyspace.Put(Concat("key", 10 + i), std::string(100, 'v')));
      TRELLIS_RETURN_IF_ERROR(db_->Flush());
      is_durable = true;
      // The manifest has 10.  A crash may leave 1000 or 5, too.
      clock_.Add(10);
      TRELLIS_RETURN_IF_ERROR(db_->OpenKeyspace(name, {.expire_after = 1000}).status());
      TRELLIS_RETURN_IF_ERROR(db_->WaitForBackgroundWork());
      clock_.Add(50);
      TRELLIS_RETURN_IF_ERROR(db_->WaitForBackgroundWork());
      TRELLIS_RETURN_IF_ERROR(db_->OpenKeyspace(name, {.expire_after = 5}).status());
      TRELLIS_RETURN_IF_ERROR(keyspace.Put("later", "1"));
      TRELLIS_RETURN_IF_ERROR(db_->WaitForBackgroundWork());
      EXPECT_GE(EntriesInTables(), uint64_t{kKeys}) << "dropped by a limit that is not durable";
      TRELLIS_RETURN_IF_ERROR(keyspace.Put("later", "2", {.sync = true}));
      TRELLIS_RETURN_IF_ERROR(db_->WaitForBackgroundWork());
      TRELLIS_RETURN_IF_ERROR(keyspace.CompactRange());
      return db_->Close();
    };
    work().IgnoreError();
    return is_durable;
  }

  void Check(const std::string& name, bool was_durable) {
    ASSERT_NO_FATAL_FAILURE(Open());
    const std::optional<KeyspaceRecord> record = RecordOnDisk(name);
    if (!was_durable || !record) return;
    const uint64_t seconds = record->options.expire_after.value_or(0);
    const uint64_t live_from =
        std::max<uint64_t>(record->marks.cutoff, seconds == 0 ? 0 : clock_.seconds() - seconds);
    std::string expected;
    for (int i = 0; i < kKeys && kBegin >= live_from; ++i)
      expected += Concat("key", 10 + i, "=", std::string(100, 'v'), " ");
    EXPECT_TRUE(Concat(Scan(OpenKeyspace(name)), " ").starts_with(expected))
        << "the limit is " << seconds;
    EXPECT_EQ(Get(OpenKeyspace(name), "key10") != "absent", !expected.empty());
  }
};

TEST_F(ExpiryCrashTest, JobsUseTheMildestLimitThatACrashMayLeave) {
  for (const char* name : {"default", "common"}) {
    MakeFiles();
    ASSERT_TRUE(Work(name));
    const uint64_t operations = world_.files->operation_count();
    ASSERT_GT(operations, 50u);
    for (const auto unsynced :
         {MemoryFileSystem::Unsynced::kLost, MemoryFileSystem::Unsynced::kKept}) {
      for (uint64_t at = 0; at < operations; ++at) {
        SCOPED_TRACE(Concat(name, " at ", at));
        MakeFiles();
        world_.files->CrashAt(at);
        const bool was_durable = Work(name);
        db_ = nullptr;
        world_.files->Restart(unsynced);
        ASSERT_NO_FATAL_FAILURE(Check(name, was_durable));
      }
    }
  }
}

}  // namespace
}  // namespace lsm
