// OpenMode::kFollow beside a writer in the same process, on files in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/threads/repeating_thread.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/follow/follow_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::StatusIs;

TEST_F(FollowTest, SeesWritesWithoutAFlush) {
  OpenWriter();
  Put("a", "1");
  OpenFollower();
  EXPECT_EQ(Shown(), "a=1");
  Put("b", "2");
  ASSERT_OK(writer_->Delete("a"));
  EXPECT_EQ(Shown(), "a=1");
  EXPECT_EQ(Now(), "b=2");
}

TEST_F(FollowTest, SeesFlushesAndCompactions) {
  OpenBoth();
  for (int round = 0; round < 6; ++round) {
    Put("round", std::to_string(round));
    Fill(round);
    if (round % 2 == 1) {
      ASSERT_OK(writer_->Flush());
    }
    if (round % 3 == 2) {
      ASSERT_OK(writer_->CompactRange());
    }
    Refresh();
    EXPECT_EQ(*ReadAll(*follower_), *ReadAll(*writer_));
  }
  EXPECT_GT(writer_->GetStatistics().compactions, 0u);
}

TEST_F(FollowTest, FollowsOpeningsOfTheWriter) {
  OpenBoth();
  for (int round = 0; round < 4; ++round) {
    Put(Concat("k", round), "v");
    const std::string before = Now();
    if (round % 2 == 0) {
      ASSERT_OK(writer_->Close());
    } else {
      KillWriter();
    }
    EXPECT_EQ(Now(), before);
    OpenWriter();
    EXPECT_EQ(Now(), before);
  }
  EXPECT_EQ(Now(), "k0=v k1=v k2=v k3=v");
  EXPECT_THAT(listener_->seen, IsEmpty());
}

TEST_F(FollowTest, SnapshotsAndIteratorsKeepTheirFiles) {
  OpenBoth();
  Put("a", "old");
  Fill(0);
  ASSERT_OK(writer_->Flush());
  Put("b", "old");
  Refresh();
  const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  const std::unique_ptr<Iterator> iterator = follower_->NewIterator();
  for (int round = 1; round < 4; ++round) {
    Put("a", "new");
    Put("b", "new");
    Fill(round);
    ASSERT_OK(writer_->Flush());
    ASSERT_OK(writer_->CompactRange());
    Refresh();
  }
  ReadOptions at;
  at.snapshot = snapshot.get();
  EXPECT_EQ(*follower_->Get("a", at), "old");
  EXPECT_EQ(*follower_->Get("b", at), "old");
  EXPECT_EQ(*follower_->Get("a"), "new");
  const std::string_view keys[] = {"a", "b"};
  for (const auto& value : follower_->MultiGet(keys, at)) EXPECT_EQ(*value, "old");
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->value(), "old");
  EXPECT_EQ(follower_->NewIterator(at)->status(), absl::OkStatus());
}

TEST_F(FollowTest, SnapshotsDoNotSeeLaterWrites) {
  OpenBoth();
  Put("a", "1");
  Refresh();
  const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  ReadOptions at;
  at.snapshot = snapshot.get();
  // These enter the memtable that the view of the snapshot holds.
  Put("b", "2");
  EXPECT_EQ(Now(at), "a=1");
  EXPECT_EQ(Shown(), "a=1 b=2");
  EXPECT_LT(snapshot->sequence(), follower_->GetSnapshot()->sequence());
}

TEST_F(FollowTest, BatchesAreVisibleAsAWhole) {
  OpenBoth();
  for (int round = 0; round < 50; ++round) {
    WriteBatch batch;
    for (int i = 0; i < 20; ++i) batch.Put(Concat("k", i), Concat(round, std::string(500, '.')));
    ASSERT_OK(writer_->Write(batch));
    if (round % 3 == 0) Refresh();
    const absl::StatusOr<Contents> contents = ReadAll(*follower_);
    ASSERT_OK(contents);
    for (const auto& [key, value] : *contents) EXPECT_EQ(value, contents->begin()->second);
  }
}

TEST_F(FollowTest, SaysThatTheViewWentBack) {
  ASSERT_NO_FATAL_FAILURE(ResumeWithoutAWrite());
  EXPECT_EQ(Now(), "a=1");
  EXPECT_THAT(listener_->seen, ElementsAre("2 to 1"));
  Put("c", "3");
  EXPECT_EQ(Now(), "a=1 c=3");
  EXPECT_THAT(listener_->seen, ElementsAre("2 to 1"));
}

// As above, but the number was used again before the follower looked.
TEST_F(FollowTest, NoticesNumbersThatWereUsedAgain) {
  ASSERT_NO_FATAL_FAILURE(ResumeWithoutAWrite());
  Put("c", "3");
  Put("d", "4");
  EXPECT_EQ(Now(), "a=1 c=3 d=4");
  EXPECT_THAT(listener_->seen, ElementsAre("2 to 1"));
}

TEST_F(FollowTest, FollowsARestoredBackup) {
  OpenBoth();
  Put("a", "1");
  ASSERT_OK(writer_->Backup("/backup"));
  Put("b", "2");
  Fill(0, 10);
  EXPECT_EQ(Now().substr(0, 7), "a=1 b=2");
  ASSERT_OK(writer_->Close());
  writer_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  EXPECT_THAT(follower_->Resume(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(Shown().substr(0, 7), "a=1 b=2");  // the last view stays
  ASSERT_OK(DB::Restore("/backup", kStorePath, options_));
  EXPECT_EQ(Now(), "a=1");
  EXPECT_EQ(listener_->seen.size(), 1u);
  OpenWriter();
  Put("c", "3");
  EXPECT_EQ(Now(), "a=1 c=3");
}

TEST_F(FollowTest, FollowsARepairedStore) {
  OpenBoth();
  Put("a", "1");
  ASSERT_OK(writer_->Flush());
  Put("b", "2");
  EXPECT_EQ(Now(), "a=1 b=2");
  ASSERT_OK(writer_->Close());
  writer_ = nullptr;
  ASSERT_OK(DB::Repair(kStorePath, options_));
  EXPECT_EQ(Now(), "a=1 b=2");
}

TEST_F(FollowTest, RefusesAnotherStoreForGood) {
  OpenBoth();
  Put("a", "1");
  EXPECT_EQ(Now(), "a=1");
  writer_ = nullptr;
  ASSERT_OK(DB::Destroy(kStorePath, options_));
  OpenWriter();
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(follower_->Resume(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another store")));
  }
  EXPECT_THAT(follower_->GetFailure(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(Shown(), "a=1");
}

TEST_F(FollowTest, NeedsAStore) {
  EXPECT_THAT(DB::Open(kStorePath, follow_).status(), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(world_.files->OpenDirectory(kStorePath, true));
  EXPECT_THAT(DB::Open(kStorePath, follow_).status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(*(*world_.files->OpenDirectory(kStorePath, false))->List(), IsEmpty());
}

TEST_F(FollowTest, WritesAndCopiesAreRefused) {
  OpenBoth();
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(follower_->Put("a", "1"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("kFollow")));
  EXPECT_THAT(follower_->Flush(), refused);
  EXPECT_THAT(follower_->CompactRange(), refused);
  EXPECT_THAT(follower_->Checkpoint("/copy"), refused);
  EXPECT_THAT(follower_->Backup("/copy").status(), refused);
  EXPECT_OK(follower_->WaitForBackgroundWork());
}

TEST_F(FollowTest, VerifiesTheTablesThatItHasOpen) {
  OpenBoth();
  Fill(0);
  ASSERT_OK(writer_->Flush());
  Refresh();
  const uint64_t tables = follower_->GetStatistics().total.tables;
  Fill(1);
  ASSERT_OK(writer_->Flush());
  ASSERT_OK(writer_->CompactRange());  // removes them
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, follower_->Verify());
  EXPECT_EQ(report.tables, tables);
  EXPECT_TRUE(report.records_left_out);
  EXPECT_THAT(report.problems, IsEmpty());
}

TEST_F(FollowTest, AgeGrowsWhileRefreshesFail) {
  OpenBoth();
  Put("a", "1");
  Refresh();
  EXPECT_EQ(writer_->GetStatistics().view_age_nanos, 0u);
  const uint64_t young = follower_->GetStatistics().view_age_nanos;
  EXPECT_GT(young, 0u);
  world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
    return operation == FileOperation::kOpenRead && path.ends_with("CURRENT")
               ? absl::UnavailableError("broken")
               : absl::OkStatus();
  });
  EXPECT_THAT(follower_->Resume(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(follower_->GetFailure(), StatusIs(absl::StatusCode::kUnavailable));
  world_.clock.Advance(7'000'000'000);
  EXPECT_THAT(follower_->Resume(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GE(follower_->GetStatistics().view_age_nanos, 7'000'000'000u);
  EXPECT_EQ(Shown(), "a=1");
  world_.files->SetFault(nullptr);
  Refresh();
  EXPECT_LT(follower_->GetStatistics().view_age_nanos, 1'000'000'000u);
  EXPECT_OK(follower_->GetFailure());
}

// A view is at most 1 s old if it is refreshed twice a second, and a refresh takes less than half a
// second.  Refreshes are compared with the calls of a thread that makes two a second: on a slow
// machine both are late.
TEST_F(FollowTest, QuietViewsAreRefreshedTwiceASecondWithoutAnyCall) {
  OpenBoth();
  Put("a", "1");
  std::atomic<int> opened{0}, calls{0};
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kOpenRead && path.ends_with("CURRENT")) ++opened;
    return absl::OkStatus();
  });
  // A refresh of the thread may add to one of the five.
  int opened_by_one = 100;
  for (int i = 0; i < 5; ++i) {
    const int before = opened;
    Refresh();
    opened_by_one = std::min(opened_by_one, opened - before);
  }
  ASSERT_GT(opened_by_one, 0);
  const auto wait_until = [](const std::function<bool()>& done) {
    for (int i = 0; i < 6000 && !done(); ++i)  // the bound only ends a test that hangs
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return done();
  };
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<RepeatingThread> thread,
                         RepeatingThread::Start(500'000'000, [&] { ++calls; }));
    const int before = opened;
    EXPECT_TRUE(wait_until([&] { return calls >= 10; }));
    EXPECT_GE((opened - before) / opened_by_one, calls * 7 / 10);
  }
  EXPECT_EQ(Shown(), "a=1");
  // By the clock of the store, which stands still.  The first refresh may have begun before.
  world_.clock.Advance(7'000'000'000);
  const int before = opened;
  EXPECT_TRUE(wait_until([&] { return opened >= before + 3 * opened_by_one; }));
  EXPECT_LT(follower_->GetStatistics().view_age_nanos, 1'000'000'000u);
  world_.files->SetFault(nullptr);
}

TEST_F(FollowTest, AMissingFileIsUnavailable) {
  OpenBoth();
  Fill(0);
  ASSERT_OK(writer_->Flush());
  writer_ = nullptr;
  const std::string table = world_.FilesOf(FileKind::kTable)[0];
  const std::unique_ptr<Directory> directory =
      world_.files->OpenDirectory(kStorePath, false).value();
  ASSERT_OK(directory->Rename(table.substr(7), "away"));
  EXPECT_THAT(follower_->Resume(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(table)));
  ASSERT_OK(directory->Rename("away", table.substr(7)));
  EXPECT_OK(follower_->Resume());
  const std::string manifest = world_.FilesOf(FileKind::kManifest)[0];
  ASSERT_OK(directory->Rename(manifest.substr(7), "away"));
  EXPECT_THAT(DB::Open(kStorePath, follow_).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(manifest)));
}

TEST_F(FollowTest, DamageIsReported) {
  OpenWriter();
  Fill(0);
  ASSERT_OK(writer_->Flush());
  writer_ = nullptr;
  const std::string table = world_.FilesOf(FileKind::kTable)[0];
  std::string bytes = world_.files->FileBytes(table);
  bytes[bytes.size() - 5] ^= 1;
  world_.files->SetFileBytes(table, bytes);
  EXPECT_THAT(DB::Open(kStorePath, follow_).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(table)));
}

TEST_F(FollowTest, FollowsLogsInADirectoryOfTheirOwn) {
  options_.log_directory = "/logs";
  OpenWriter();
  Put("a", "1");
  EXPECT_THAT(DB::Open(kStorePath, follow_).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/logs")));
  follow_.log_directory = "/logs";
  OpenFollower();
  EXPECT_EQ(Shown(), "a=1");
  Put("b", "2");
  EXPECT_EQ(Now(), "a=1 b=2");
}

TEST_F(FollowTest, KeepsNoOpeningOut) {
  OpenBoth();
  OpenFollower();  // another one
  writer_ = nullptr;
  Options read_only = options_;
  read_only.mode = OpenMode::kReadOnly;
  EXPECT_OK(DB::Open(kStorePath, read_only));
  OpenWriter();
  Put("a", "1");
  EXPECT_EQ(Now(), "a=1");
}

TEST_F(FollowTest, AClosedFollowerRefusesReads) {
  OpenBoth();
  Put("a", "1");
  Refresh();
  const std::unique_ptr<const Snapshot> snapshot = follower_->GetSnapshot();
  std::unique_ptr<Iterator> iterator = follower_->NewIterator();
  ASSERT_OK(follower_->Close());
  ReadOptions at;
  at.snapshot = snapshot.get();
  EXPECT_THAT(follower_->Get("a", at), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(follower_->Resume(), StatusIs(absl::StatusCode::kFailedPrecondition));
  follower_ = nullptr;
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->key(), "a");
}

TEST_F(FollowTest, ChangesNoFile) {
  OpenBoth();
  Fill(0);
  writer_ = nullptr;
  const std::vector<std::string> names = *(*world_.files->OpenDirectory(kStorePath, false))->List();
  std::vector<std::string> changes;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    switch (operation) {
      case FileOperation::kOpenDirectory:
      case FileOperation::kOpenRead:
      case FileOperation::kList:
      case FileOperation::kStat:
      case FileOperation::kReadAt:
      case FileOperation::kSize:
        return absl::OkStatus();
      default:
        changes.push_back(Concat(NameOf(operation), " ", path));
        return absl::OkStatus();
    }
  });
  Refresh();
  ASSERT_OK(follower_->Verify());
  OpenFollower();
  ASSERT_OK(follower_->Close());
  follower_ = nullptr;
  world_.files->SetFault(nullptr);
  EXPECT_THAT(changes, IsEmpty());
  EXPECT_EQ(*(*world_.files->OpenDirectory(kStorePath, false))->List(), names);
}

}  // namespace
}  // namespace lsm
