// Drops of keyspaces: what is refused, when the tables go, and what a crash leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/version/common_keys.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

class DropsTest : public KeyspacesTest {
 protected:
  // With a keyspace "own" that has a tree of its own, and "small" in the common one.
  void OpenBoth() {
    Open();
    MakeOwnTrees({"own"});
    OpenKeyspace("small");
  }
  static auto Refused(std::string_view name) {
    return StatusIs(absl::StatusCode::kFailedPrecondition,
                    HasSubstr(Concat("the keyspace \"", name, "\" was dropped")));
  }
  bool IsInManifest(const std::string& name) { return IdOf(name) != kDefaultKeyspace; }
};

TEST_F(DropsTest, EachCallIsRefusedAfterwards) {
  ASSERT_NO_FATAL_FAILURE(OpenBoth());
  for (const std::string& name : {std::string("own"), std::string("small")}) {
    SCOPED_TRACE(name);
    Keyspace keyspace = OpenKeyspace(name), other = OpenKeyspace(name);
    ASSERT_OK(keyspace.Put("key", "value"));
    Flush();
    ASSERT_OK(keyspace.Put("key", "newer"));
    const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
    WriteBatch batch;
    batch.Put("key", "lost");
    batch.Put(keyspace, "key", "lost");
    ASSERT_OK(db_->DropKeyspace(name));
    for (int pass = 0; pass < 2; ++pass) {
      SCOPED_TRACE(pass);  // before the flush, and after it
      for (Keyspace& each : {std::ref(keyspace), std::ref(other)}) {
        EXPECT_EQ(each.name(), name);
        EXPECT_THAT(each.Put("key", "value"), Refused(name));
        EXPECT_THAT(each.Delete("key"), Refused(name));
        EXPECT_THAT(each.DeleteRange("a", "b"), Refused(name));
        EXPECT_THAT(each.Get("key"), Refused(name));
        EXPECT_THAT(each.Get("key", {.snapshot = snapshot.get()}), Refused(name));
        const std::string_view key = "key";
        EXPECT_THAT(each.MultiGet({&key, 1}), ElementsAre(Refused(name)));
        EXPECT_THAT(each.NewIterator()->status(), Refused(name));
        EXPECT_THAT(each.CompactRange(), Refused(name));
        EXPECT_THAT(each.Explain("key"), Refused(name));
        EXPECT_EQ(each.ApproximateBytes(), 0u);
        EXPECT_EQ(each.GetStatistics().table_bytes, 0u);
      }
      EXPECT_THAT(db_->Write(batch), Refused(name));
      EXPECT_EQ(Get("key"), "absent") << "nothing of the batch is written";
      EXPECT_THAT(db_->DropKeyspace(name),
                  StatusIs(absl::StatusCode::kNotFound, HasSubstr(Concat("\"", name, "\""))));
      Flush();
    }
  }
  EXPECT_THAT(List(), ElementsAre("default"));
}

TEST_F(DropsTest, SomeAreRefused) {
  Open();
  EXPECT_THAT(db_->DropKeyspace("default"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(db_->DropKeyspace("none"), StatusIs(absl::StatusCode::kNotFound));
  OpenKeyspace("a");
  db_ = nullptr;
  options_.mode = OpenMode::kReadOnly;
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_THAT(db_->DropKeyspace("a"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("reading only")));
  ASSERT_OK(db_->Close());
  EXPECT_THAT(db_->DropKeyspace("a"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
}

TEST_F(DropsTest, ANamesakeBeginsEmpty) {
  for (int pass = 0; pass < 8; ++pass) {
    SCOPED_TRACE(pass);
    options_ = world_.SmallOptions();
    ASSERT_NO_FATAL_FAILURE(Open());
    if (pass == 0) {
      ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"a"}));
    }
    Keyspace first = OpenKeyspace("a");
    ASSERT_OK(first.Put("old", "1"));
    ASSERT_OK(first.DeleteRange("m", std::nullopt));
    if (pass % 2 == 1) Flush();
    const KeyspaceId id_before = IdOf("a");
    ASSERT_OK(db_->DropKeyspace("a"));
    if (pass % 4 > 1) Flush();
    Keyspace second = OpenKeyspace("a");
    EXPECT_EQ(Scan(second), "");
    ASSERT_OK(second.Put("new", "2"));
    ASSERT_OK(second.Put("n", "2"));
    if (pass % 3 == 0) Flush();
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(Scan(OpenKeyspace("a")), "n=2 new=2");
      ASSERT_NO_FATAL_FAILURE(Open());
    }
    Flush();
    EXPECT_NE(IdOf("a"), id_before);
    EXPECT_THAT(List(), ElementsAre("a", "default"));
  }
}

TEST_F(DropsTest, IteratorsGoOn) {
  ASSERT_NO_FATAL_FAILURE(OpenBoth());
  for (const std::string& name : {std::string("own"), std::string("small")}) {
    SCOPED_TRACE(name);
    Keyspace keyspace = OpenKeyspace(name);
    for (int i = 0; i < 100; ++i) ASSERT_OK(keyspace.Put(Concat(100 + i), std::string(200, 'v')));
    Flush();
    ASSERT_OK(keyspace.Put("z", "in memory"));
    const std::unique_ptr<Iterator> iterator = keyspace.NewIterator();
    ASSERT_OK(db_->DropKeyspace(name));
    Flush();
    ASSERT_OK(db_->CompactRange());
    ASSERT_OK(db_->WaitForBackgroundWork());
    int entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++entries;
    EXPECT_OK(iterator->status());
    EXPECT_EQ(entries, 101);
  }
}

// --- when the tables go ---

TEST_F(DropsTest, TheFlushThatCoversADropRemovesTheTree) {
  options_.level0_compaction_tables = options_.level0_stop_tables = 20;
  options_.compression = Compression::kNone;
  ASSERT_NO_FATAL_FAILURE(OpenBoth());
  Keyspace own = OpenKeyspace("own"), small = OpenKeyspace("small");
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(own.Put(Concat(i), std::string(1'000, 'v')));
    ASSERT_OK(small.Put(Concat(i), std::string(1'000, 'v')));
    Flush();
  }
  const KeyspaceId id = IdOf("own"), small_id = IdOf("small");
  const size_t files = world_.FilesOf(FileKind::kTable).size();
  ASSERT_OK(own.Put("in the same memtable", "value"));
  ASSERT_OK(db_->DropKeyspace("own"));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_TRUE(IsInManifest("own")) << "a small drop waits for the next flush";
  EXPECT_EQ(TablesByTree().at(id), 3);
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_FALSE(IsInManifest("own"));
  EXPECT_FALSE(TablesByTree().contains(id));
  // The tombstone of its name is in the common tree's new table.
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), files - 3 + 1);
  EXPECT_THAT(Names(), ElementsAre(Concat(id, " dropped"), Concat(small_id, "=small common")));

  ASSERT_OK(db_->DropKeyspace("small"));
  EXPECT_TRUE(IsInManifest("small"));
  Flush();
  EXPECT_FALSE(IsInManifest("small"));
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_THAT(List(), ElementsAre("default"));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, IsEmpty());
}

TEST_F(DropsTest, OneOfTheSameMemtableLeavesNothing) {
  Open();
  ASSERT_OK(OpenKeyspace("a").Put("key", "value"));
  OpenKeyspace("a", {.target_fpp = 0.25});
  ASSERT_OK(db_->DropKeyspace("a"));
  Flush();
  EXPECT_THAT(TablesByTree(), IsEmpty());
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(StateOnDisk().keyspaces.next_id(), 3u);
  OpenKeyspace("b");
  Flush();
  EXPECT_EQ(IdOf("b"), 3u);
}

class LargeDropsTest : public DropsTest {
 protected:
  // Writes 3 MB to "own", in tables.
  void FillOwn() {
    options_.write_buffer_bytes = 4 << 20;
    options_.table_bytes = 4 << 20;
    options_.compression = Compression::kNone;
    ASSERT_NO_FATAL_FAILURE(OpenBoth());
    Keyspace own = OpenKeyspace("own");
    for (int i = 0; i < 30; ++i) ASSERT_OK(own.Put(Concat(i), std::string(100'000, 'v')));
    Flush();
    ASSERT_GT(own.GetStatistics().table_bytes, uint64_t{2} << 20);
  }
};

TEST_F(LargeDropsTest, AreFlushedAtOnce) {
  ASSERT_NO_FATAL_FAILURE(FillOwn());
  ASSERT_OK(db_->DropKeyspace("own"));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_FALSE(IsInManifest("own"));
}

// The memtable with the drop cannot be sealed before the flush has ended.
TEST_F(LargeDropsTest, OnesBesideAFlushFollowIt) {
  ASSERT_NO_FATAL_FAILURE(FillOwn());
  const uint64_t flushes = db_->GetStatistics().flushes;
  for (int i = 0; i < 45; ++i) Put(Concat(i), std::string(100'000, 'v'));
  ASSERT_EQ(db_->GetStatistics().flushes, flushes) << "the sealed memtable waits for its flush";
  ASSERT_OK(db_->DropKeyspace("own"));
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(db_->GetStatistics().flushes, flushes + 2);
  EXPECT_FALSE(IsInManifest("own"));
}

TEST_F(DropsTest, CompactionsDropTheDeadOfTheCommonTree) {
  Open();
  std::vector<Keyspace> keyspaces;
  for (const char* const name : {"a", "b", "c"}) keyspaces.push_back(OpenKeyspace(name));
  for (int i = 0; i < 100; ++i) {
    for (Keyspace& keyspace : keyspaces) ASSERT_OK(keyspace.Put(Concat(i), std::string(50, 'v')));
  }
  // A snapshot keeps versions of members, but nothing of a dropped one.
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  ASSERT_OK(keyspaces[1].DeleteRange("2", "3"));
  ASSERT_OK(keyspaces[0].DeleteRange("2", "3"));
  Flush();
  const KeyspaceId dead = IdOf("b");
  const auto count = [&](KeyspaceId id) {
    const auto entries = CommonEntries();
    return std::count_if(entries.begin(), entries.end(),
                         [&](const auto& entry) { return KeyspaceOf(entry.first) == id; });
  };
  ASSERT_EQ(count(dead), 100);
  ASSERT_OK(db_->DropKeyspace("b"));
  ASSERT_OK(keyspaces[0].CompactRange());
  ASSERT_OK(keyspaces[2].CompactRange());
  EXPECT_EQ(count(dead), 0);
  EXPECT_EQ(count(IdOf("a")), 100);
  EXPECT_EQ(count(IdOf("c")), 100);
  EXPECT_EQ(Get(keyspaces[0], "20"), "absent");
  EXPECT_EQ(Get(keyspaces[0], "10"), std::string(50, 'v'));
}

// A table that holds dropped keyspaces alone is not read.
TEST_F(DropsTest, DeadTablesOfTheCommonTreeGoUnread) {
  options_.compression = Compression::kNone;
  options_.write_buffer_bytes = 4 << 20;  // so large that none leaves the common tree
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b"), c = OpenKeyspace("c");
  ASSERT_OK(a.Put("large", std::string(100'000, 'v')));  // so that no flush takes the table along
  Flush();
  for (int i = 0; i < 300; ++i) ASSERT_OK(b.Put(Concat(i), Concat(i, std::string(500, 'v'))));
  Flush();
  ASSERT_OK(a.Put("key", "1"));
  ASSERT_OK(c.Put("key", "3"));
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  const uint64_t before = db_->GetStatistics().tables_dropped_unread;
  ASSERT_OK(db_->DropKeyspace("b"));
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_GT(db_->GetStatistics().tables_dropped_unread, before);
  EXPECT_EQ(Get(a, "key"), "1");
  EXPECT_EQ(Scan(c), "key=3");
}

// No table is dead as a whole, so the rule for tombstones has to see what the drops left.
TEST_F(DropsTest, TheSpaceAmongLiveKeysIsFreed) {
  options_.compression = Compression::kNone;
  options_.write_buffer_bytes = 8 << 20;  // so large that none leaves the common tree
  options_.table_bytes = 8 << 20;
  options_.level1_bytes = 64 << 20;
  Open();
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back(Concat("k", 10 + i));
  for (const std::string& name : names) {
    Keyspace keyspace = OpenKeyspace(name);
    for (int i = 0; i < 100; ++i) ASSERT_OK(keyspace.Put(Concat(100 + i), std::string(1000, 'v')));
  }
  // Nothing is below the table, and the snapshot holds all of its entries.
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  const uint64_t full = db_->GetStatistics().total.table_bytes;
  ASSERT_GT(full, 4'000'000u);
  for (int i = 0; i < 40; ++i) {
    if (i % 4 == 0) continue;
    ASSERT_OK(db_->DropKeyspace(names[static_cast<size_t>(i)]));
  }
  Flush();
  ASSERT_OK(db_->WaitForBackgroundWork());
  const Statistics statistics = db_->GetStatistics();
  EXPECT_LT(statistics.total.table_bytes, full / 3);
  EXPECT_LT(statistics.total.freeable_bytes, uint64_t{1} << 20);
  for (int i = 0; i < 40; i += 4) {
    Keyspace keyspace = OpenKeyspace(names[static_cast<size_t>(i)]);
    for (int key = 0; key < 100; ++key) EXPECT_EQ(Get(keyspace, Concat(100 + key)).size(), 1000u);
  }
  // It ends there.
  ASSERT_NO_FATAL_FAILURE(Open());
  ASSERT_OK(db_->WaitForBackgroundWork());
  EXPECT_EQ(db_->GetStatistics().compaction_bytes_written, 0u);
}

// --- beside jobs ---

class CallingClock : public testing_support::ManualClock {
 public:
  uint64_t WallMicros() override {
    if (before_ > 0 && --before_ == 0) call_();
    return ManualClock::WallMicros();
  }
  // At the n-th reading.
  void CallAt(int n, std::function<void()> call) {
    before_ = n;
    call_ = std::move(call);
  }

 private:
  int before_ = 0;
  std::function<void()> call_;
};

// A job of the store reads the time of day when it chooses a compaction, and when it begins a
// table.
TEST_F(DropsTest, ACompactionOfADroppedTreeGivesUp) {
  int gone = 0;
  for (int at = 1; at <= 4; ++at) {
    for (const bool flushes : {false, true}) {
      SCOPED_TRACE(Concat(at, flushes ? " with a flush" : ""));
      db_ = nullptr;
      world_.files = std::make_unique<MemoryFileSystem>();
      CallingClock clock;
      options_ = world_.SmallOptions();
      options_.environment.clock = &clock;
      options_.level0_compaction_tables = 4;
      options_.compression = Compression::kNone;
      OpenBoth();
      Keyspace own = OpenKeyspace("own");
      for (int i = 0; i < 4; ++i) {
        for (const char* const key : {"a", "m", "z"})
          EXPECT_OK(own.Put(key, Concat(i, std::string(1'000, 'v'))));
        Flush();
      }
      const KeyspaceId id = IdOf("own");
      bool has_dropped = false;
      clock.CallAt(at, [&] {
        has_dropped = true;
        EXPECT_OK(db_->DropKeyspace("own"));
        if (flushes) {
          EXPECT_OK(db_->Flush());
        }
      });
      EXPECT_OK(db_->WaitForBackgroundWork());
      clock.CallAt(0, nullptr);
      gone += has_dropped ? 1 : 0;
      EXPECT_OK(db_->GetFailure());
      Flush();
      EXPECT_OK(db_->WaitForBackgroundWork());
      EXPECT_EQ(TablesByTree().contains(id), !has_dropped);
      if (has_dropped) {
        EXPECT_OK(OpenKeyspace("own").Put("key", "value"));
        Open();
        EXPECT_EQ(Scan(OpenKeyspace("own")), "key=value");
      }
      db_ = nullptr;  // before the clock
    }
  }
  EXPECT_GE(gone, 6) << "also after the compaction had begun";
}

// --- failures ---

TEST_F(DropsTest, ResumeRemovesTheTables) {
  ASSERT_NO_FATAL_FAILURE(OpenBoth());
  for (const std::string& name : {std::string("own"), std::string("small")}) {
    SCOPED_TRACE(name);
    Keyspace keyspace = OpenKeyspace(name);
    ASSERT_OK(keyspace.Put("key", "1"));
    Flush();
    const KeyspaceId id = IdOf(name);
    const std::unique_ptr<Iterator> iterator = keyspace.NewIterator();
    ASSERT_OK(keyspace.Put("key", "2"));
    ASSERT_OK(db_->DropKeyspace(name));
    Fail(FileOperation::kSyncFile, ".log");
    EXPECT_FALSE(db_->Put("key", "lost", {.sync = true}).ok());
    EXPECT_THAT(db_->DropKeyspace(name), StatusIs(absl::StatusCode::kNotFound));
    world_.files->SetFault(nullptr);
    ASSERT_OK(db_->Resume());
    EXPECT_FALSE(TablesByTree().contains(id));
    EXPECT_FALSE(IsInManifest(name));
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->value(), "1");
    ASSERT_OK(OpenKeyspace(name).Put("key", "3"));
    ASSERT_NO_FATAL_FAILURE(Open());
    EXPECT_EQ(Scan(OpenKeyspace(name)), "key=3");
  }
}

TEST_F(DropsTest, AFailedOneDropsNothing) {
  Open();
  Keyspace a = OpenKeyspace("a");
  ASSERT_OK(a.Put("key", "value"));
  Fail(FileOperation::kAppend, ".log");
  EXPECT_THAT(db_->DropKeyspace("a"), StatusIs(absl::StatusCode::kUnknown));
  world_.files->SetFault(nullptr);
  EXPECT_EQ(Scan(a), "key=value");
  ASSERT_OK(db_->Resume());
  EXPECT_EQ(Scan(a), "key=value");
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Scan(OpenKeyspace("a")), "key=value");
}

struct StepBeforeACrash {
  std::string name;  // of a keyspace that is dropped, or that gets a key
  bool drops = false;
  bool flushes = false;
};

// The process or the machine crashes at each operation on files: a prefix of the writes is left,
// drops among them.
TEST_F(DropsTest, ACrashLeavesAPrefix) {
  const std::vector<StepBeforeACrash> steps = {
      {"own"},         {"small"}, {"own", false, true}, {"small"}, {"own"},      {"own", true},
      {"small", true}, {"small"}, {"own", false, true}, {"own"},   {"own", true}};
  using Contents = std::map<std::string, std::string>;  // by name: how many keys, as "k1=1 k2=1"
  const auto after = [&](size_t count) {
    Contents contents = {{"own", ""}};
    for (size_t i = 0; i < count; ++i) {
      std::string& keys = contents[steps[i].name];
      keys += Concat(keys.empty() ? "" : " ", "k", 10 + i, "=1");
      if (steps[i].drops) contents.erase(steps[i].name);
    }
    return contents;
  };
  size_t done = 0, durable = 0;
  const auto work = [&]() -> absl::Status {
    TRELLIS_ASSIGN_OR_RETURN(db_, DB::Open(kStorePath, options_));
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].drops) {
        TRELLIS_RETURN_IF_ERROR(db_->DropKeyspace(steps[i].name));
      } else {
        TRELLIS_ASSIGN_OR_RETURN(Keyspace keyspace, db_->OpenKeyspace(steps[i].name));
        TRELLIS_RETURN_IF_ERROR(keyspace.Put(Concat("k", 10 + i), "1"));
      }
      done = i + 1;
      if (!steps[i].flushes) continue;
      TRELLIS_RETURN_IF_ERROR(db_->Flush());
      durable = done;
      TRELLIS_RETURN_IF_ERROR(db_->WaitForBackgroundWork());
    }
    TRELLIS_RETURN_IF_ERROR(db_->Close());
    durable = done;
    return absl::OkStatus();
  };
  ASSERT_NO_FATAL_FAILURE(Open());
  MakeOwnTrees({"own"});
  db_ = nullptr;
  const std::unique_ptr<MemoryFileSystem> begun = world_.files->Clone();
  world_.files = begun->Clone();
  options_ = world_.SmallOptions();
  world_.files->ResetCounts();
  ASSERT_OK(work());
  const uint64_t operations = world_.files->operation_count();
  ASSERT_GT(operations, 30u);
  for (const auto unsynced :
       {MemoryFileSystem::Unsynced::kLost, MemoryFileSystem::Unsynced::kKept}) {
    const bool is_process = unsynced == MemoryFileSystem::Unsynced::kKept;
    for (uint64_t at = 0; at < operations; ++at) {
      SCOPED_TRACE(Concat(is_process ? "process " : "machine ", at));
      db_ = nullptr;
      world_.files = begun->Clone();
      options_ = world_.SmallOptions();
      world_.files->ResetCounts();
      world_.files->CrashAt(at);
      done = durable = 0;
      work().IgnoreError();
      db_ = nullptr;
      world_.files->Restart(unsynced);
      ASSERT_NO_FATAL_FAILURE(Open());
      Contents there;
      for (const std::string& name : List()) {
        if (name != "default") there[name] = Scan(OpenKeyspace(name));
      }
      // A creation alone may be left, too.
      bool is_prefix = false;
      for (size_t count = is_process ? done : durable; count <= done + 1; ++count) {
        if (count > steps.size()) break;
        Contents contents = after(count);
        is_prefix |= contents == there;
        if (count == steps.size() || steps[count].drops) continue;
        contents[steps[count].name];
        is_prefix |= contents == there;
      }
      ASSERT_TRUE(is_prefix) << testing::PrintToString(there) << " after " << done << " steps, "
                             << durable << " of them durable";
    }
  }
}

}  // namespace
}  // namespace lsm
