// DB::Close: its status, the files that it leaves, and the results of later calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

class CloseTest : public StoreTest {};

TEST_F(CloseTest, MakesWritesDurableAndFreesTheDirectory) {
  Open();
  Put("a", "1");
  EXPECT_OK(db_->Close());
  EXPECT_OK(db_->Close());
  const std::unique_ptr<DB> first = std::move(db_);
  world_.files->Restart(MemoryFileSystem::Unsynced::kLost);
  Open();
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(CloseTest, RefusesLaterCalls) {
  Open();
  Put("a", "1");
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  ASSERT_OK(db_->Close());
  const auto closed = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed"));
  std::string value;
  PinnedValue pinned;
  const std::vector<std::string_view> keys = {"a", "b"};
  EXPECT_THAT(db_->Put("b", "2"), closed);
  EXPECT_THAT(db_->Delete("a"), closed);
  EXPECT_THAT(db_->Write(WriteBatch()), closed);
  EXPECT_THAT(db_->Get("a").status(), closed);
  EXPECT_THAT(db_->Get("a", {.snapshot = snapshot.get()}).status(), closed);
  EXPECT_THAT(db_->Get("a", &value).status(), closed);
  EXPECT_THAT(db_->Get("a", &pinned).status(), closed);
  for (const auto& answer : db_->MultiGet(keys)) EXPECT_THAT(answer.status(), closed);
  EXPECT_THAT(db_->NewIterator()->status(), closed);
  EXPECT_THAT(db_->Flush(), closed);
  EXPECT_THAT(db_->CompactRange(), closed);
  EXPECT_THAT(db_->WaitForBackgroundWork(), closed);
  EXPECT_THAT(db_->Resume(), closed);
  EXPECT_THAT(db_->GetFailure(), closed);
  EXPECT_THAT(db_->Explain("a").status(), closed);
  EXPECT_THAT(db_->Verify().status(), closed);
  EXPECT_THAT(db_->Checkpoint("/copy"), closed);
  EXPECT_THAT(db_->Backup("/copy").status(), closed);
  EXPECT_EQ(db_->ApproximateBytes(), 0u);
  EXPECT_EQ(db_->GetStatistics().write_entries, 1u);
  EXPECT_TRUE(db_->GetDamage().empty());
  EXPECT_NE(db_->GetSnapshot(), nullptr);
}

TEST_F(CloseTest, IteratorsAndSnapshotsSurvive) {
  Open();
  Put("a", "1");
  Flush();
  Put("b", "2");
  const std::unique_ptr<Iterator> iterator = db_->NewIterator();
  std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  Open();
  Put("c", "3");
  CompactAll();
  std::string seen;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) seen += iterator->key();
  EXPECT_OK(iterator->status());
  EXPECT_EQ(seen, "ab");
}

TEST_F(CloseTest, ReportsAFailedSync) {
  Open();
  Put("a", "1");
  Fail(FileOperation::kSyncFile, ".log");
  const absl::Status status = db_->Close();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr(".log: broken")));
  EXPECT_EQ(db_->Close(), status);
  world_.files->SetFault(nullptr);
  Open();  // the lock is free; the process lives, so the write is there
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(CloseTest, ReportsAnUnrecordedEnd) {
  Open();
  Put("a", "1");
  Fail(FileOperation::kAppend, ".manifest");
  EXPECT_THAT(db_->Close(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(".manifest: broken")));
}

TEST_F(CloseTest, ReportsEarlierLogFailures) {
  Open();
  Put("a", "1");
  Fail(FileOperation::kAppend, ".log");
  EXPECT_FALSE(db_->Put("b", "2").ok());
  world_.files->SetFault(nullptr);
  EXPECT_THAT(db_->Close(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(".log: broken")));
}

TEST_F(CloseTest, SucceedsAfterAFailedFlush) {
  Open();
  Put("a", "1");
  Fail(FileOperation::kCreate, ".table");
  EXPECT_FALSE(db_->Flush().ok());
  EXPECT_OK(db_->Close());
  world_.files->SetFault(nullptr);
  Open();
  EXPECT_EQ(Get("a"), "1");
}

TEST_F(CloseTest, ClosesAStoreOpenForReading) {
  Open();
  Put("a", "1");
  ASSERT_OK(db_->Close());
  options_.mode = OpenMode::kReadOnly;
  Open();
  EXPECT_EQ(Get("a"), "1");
  EXPECT_OK(db_->Close());
  EXPECT_FALSE(db_->Get("a").ok());
}

}  // namespace
}  // namespace lsm
