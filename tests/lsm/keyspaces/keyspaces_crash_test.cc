// The process or the machine crashes at each operation on files.  A prefix of the writes is left: a
// keyspace comes before its keys, and batches over several are whole.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

class KeyspacesCrashTest : public KeyspacesTest {
 protected:
  static constexpr int kBatches = 4;

  // The work that a run did before it ended.  Batch n writes n to the keyspaces k1 to kn, and to
  // the default one.  Then an option of k1 is set to FppOf(n).
  struct Done {
    int created = 0, written = 0, durable = 0;
  };

  static std::string NameOf(int n) { return Concat("k", n); }
  // The option of k1 after batch n.
  static double FppOf(int n) { return 0.01 * n; }

  absl::Status Work(Done* done) {
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(kStorePath, options_));
    std::vector<Keyspace> keyspaces;
    for (int n = 1; n <= kBatches; ++n) {
      TRELLIS_ASSIGN_OR_RETURN(Keyspace keyspace, db_->OpenKeyspace(NameOf(n)));
      keyspaces.push_back(std::move(keyspace));
      done->created = n;
      WriteBatch batch;
      batch.Put("key", std::to_string(n));
      for (const Keyspace& each : keyspaces) batch.Put(each, "key", std::to_string(n));
      TRELLIS_RETURN_IF_ERROR(db_->Write(batch, {.sync = n == 2}));
      done->written = n;
      TRELLIS_RETURN_IF_ERROR(db_->OpenKeyspace(NameOf(1), {.target_fpp = FppOf(n)}).status());
      if (n == 2) done->durable = n;
      if (n != 3) continue;
      TRELLIS_RETURN_IF_ERROR(db_->Flush());
      done->durable = n;
    }
    TRELLIS_RETURN_IF_ERROR(db_->Close());
    done->durable = kBatches;
    return absl::OkStatus();
  }

  void Check(const Done& done, bool is_process) {
    ASSERT_NO_FATAL_FAILURE(Open());
    const std::string value = Get("key");
    const int written = value == "absent" ? 0 : std::stoi(value);
    EXPECT_LE(written, done.written + 1);
    EXPECT_GE(written, is_process ? done.written : done.durable);
    const int created = static_cast<int>(List().size()) - 1;
    EXPECT_LE(created, done.created + 1);
    EXPECT_GE(created, is_process ? done.created : done.durable);
    EXPECT_GE(created, written);
    const std::optional<KeyspaceRecord> first = RecordOnDisk(NameOf(1));
    const std::optional<double> fpp = first ? first->options.target_fpp : std::nullopt;
    int changed = 0;
    while (changed <= kBatches && fpp && *fpp != FppOf(changed)) ++changed;
    EXPECT_LE(changed, kBatches) << fpp.value_or(0) << " is the option after no batch";
    EXPECT_LE(changed, written);
    EXPECT_GE(changed, written < created ? written : written - 1);
    const auto expect_values = [&] {
      for (int n = 1; n <= created; ++n)
        EXPECT_EQ(Get(OpenKeyspace(NameOf(n)), "key"), n <= written ? value : "absent") << n;
    };
    expect_values();
    EXPECT_EQ(static_cast<int>(List().size()) - 1, created) << "all were there";
    // The store goes on, with ids of its own.
    Keyspace more = OpenKeyspace("more");
    EXPECT_EQ(Scan(more), "");
    ASSERT_OK(more.Put("key", "more"));
    Flush();
    expect_values();
  }
};

TEST_F(KeyspacesCrashTest, LeavesAPrefix) {
  Done done;
  ASSERT_OK(Work(&done));
  const uint64_t operations = world_.files->operation_count();
  ASSERT_GT(operations, 50u);
  for (const auto unsynced :
       {MemoryFileSystem::Unsynced::kLost, MemoryFileSystem::Unsynced::kKept}) {
    const bool is_process = unsynced == MemoryFileSystem::Unsynced::kKept;
    for (uint64_t at = 0; at < operations; ++at) {
      SCOPED_TRACE(Concat(is_process ? "process " : "machine ", at));
      db_ = nullptr;
      world_.files = std::make_unique<MemoryFileSystem>();
      options_ = world_.SmallOptions();
      world_.files->CrashAt(at);
      done = {};
      Work(&done).IgnoreError();
      db_ = nullptr;
      world_.files->Restart(unsynced);
      ASSERT_NO_FATAL_FAILURE(Check(done, is_process));
    }
  }
}

}  // namespace
}  // namespace lsm
