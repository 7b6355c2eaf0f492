#include "lsm/store/manifest_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "lsm/base/internal_key.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::StatusIs;

class ManifestKeeperTest : public testing::Test {
 protected:
  ManifestKeeperTest() : store_(StoreDirectory::Open(kStorePath, world_.SmallOptions()).value()) {}

  absl::Status Begin(std::optional<std::string_view> expected_current = std::nullopt) {
    MutexLock lock(keeper_.mutex());
    NewFiles made;
    ManifestState state;
    state.digest_seed = bloom::DigestSeed(42);
    state.started = true;
    const absl::StatusOr<uint64_t> number =
        keeper_.Begin(std::move(state), expected_current, &made);
    if (!number.ok()) keeper_.Fail(number.status());
    return number.status();
  }
  absl::Status Record(uint64_t last_sequence) {
    VersionEdit edit;
    edit.last_sequence = last_sequence;
    return Record(edit);
  }
  absl::Status Record(const VersionEdit& edit) {
    MutexLock lock(keeper_.mutex());
    return keeper_.Record(edit);
  }
  uint64_t LastSequence() {
    MutexLock lock(keeper_.mutex());
    return keeper_.state().last_sequence;
  }
  // The contents that an opening would read.
  ManifestContents OnDisk() { return ReadManifest(*store_.directory).value(); }
  void FailSyncs(bool fail) {
    world_.files->SetFault([fail](FileOperation operation, const std::string&, uint64_t) {
      return fail && operation == FileOperation::kSyncFile ? absl::UnavailableError("device")
                                                           : absl::OkStatus();
    });
  }

  World world_;
  StoreDirectory store_;
  std::vector<absl::Status> failures_;
  ManifestKeeper keeper_{&store_,
                         [this](const absl::Status& status) { failures_.push_back(status); }};
};

TEST_F(ManifestKeeperTest, RecordsEditsInOrder) {
  keeper_.SetNextFileNumber(7);
  ASSERT_OK(Begin());
  ASSERT_OK(Record(5));
  ASSERT_OK(Record(9));
  EXPECT_EQ(LastSequence(), 9u);
  const ManifestContents contents = OnDisk();
  EXPECT_EQ(contents.current.manifest_number, 7u);
  EXPECT_EQ(contents.edit_count, 3u);  // the snapshot is one
  EXPECT_EQ(contents.state.last_sequence, 9u);
  EXPECT_EQ(contents.state.next_file_number, 8u);
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(ManifestKeeperTest, FailedBeginsLeaveNoFile) {
  FailSyncs(true);
  EXPECT_THAT(Begin(), StatusIs(absl::StatusCode::kUnavailable));
  FailSyncs(false);
  EXPECT_THAT(world_.FilesOf(FileKind::kManifest), IsEmpty());
  EXPECT_EQ(failures_.size(), 1u);
  EXPECT_THAT(Record(5), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(ManifestKeeperTest, FirstFailureStaysUntilAManifestBegins) {
  ASSERT_OK(Begin());
  ASSERT_OK(Record(5));
  FailSyncs(true);
  EXPECT_THAT(Record(6), StatusIs(absl::StatusCode::kUnavailable));
  FailSyncs(false);
  EXPECT_THAT(Record(7), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(failures_.size(), 1u);
  {
    MutexLock lock(keeper_.mutex());
    EXPECT_THAT(keeper_.status(), StatusIs(absl::StatusCode::kUnavailable));
  }
  const std::string current = OnDisk().current_bytes;
  ASSERT_OK(Begin(current));
  ASSERT_OK(Record(8));
  EXPECT_EQ(LastSequence(), 8u);
  EXPECT_EQ(OnDisk().state.last_sequence, 8u);
}

TEST_F(ManifestKeeperTest, ConflictingEditsFail) {
  ASSERT_OK(Begin());
  ASSERT_OK(Record(5));
  EXPECT_THAT(Record(4), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_EQ(failures_.size(), 1u);
}

TEST_F(ManifestKeeperTest, ReplacesLongManifests) {
  keeper_.SetNextFileNumber(10'000);
  ASSERT_OK(Begin());
  const auto number = [this] {
    return ReadCurrent(*store_.directory, kCurrentFileName).value().manifest_number;
  };
  const uint64_t first = number();
  // Each edit is about as long as the keys of its table, and removes the table before.
  constexpr uint64_t kEditBytes = 128 << 10;
  VersionEdit::Added table;
  AppendInternalKey(&table.table.smallest, std::string(kEditBytes / 2, 'a'), 2, EntryKind::kPut);
  AppendInternalKey(&table.table.largest, std::string(kEditBytes / 2, 'b'), 1, EntryKind::kPut);
  table.table.entries = 2;
  uint64_t edits = 0;
  for (; number() == first && edits < 1000; ++edits) {
    VersionEdit edit;
    if (edits > 0) edit.removed.push_back({0, edits});
    table.table.number = edits + 1;
    edit.added.push_back(table);
    ASSERT_OK(Record(edit));
  }
  constexpr uint64_t kEdits = ManifestKeeper::kBytesMin / kEditBytes;
  EXPECT_NEAR(edits, kEdits, kEdits / 16);  // records are framed
  EXPECT_EQ(OnDisk().edit_count, 1u);
  EXPECT_EQ(OnDisk().state.levels[0].size(), 1u);
  EXPECT_EQ(world_.FilesOf(FileKind::kManifest).size(), 1u);
  ASSERT_OK(Record(5));
  EXPECT_EQ(OnDisk().state.last_sequence, 5u);
  EXPECT_EQ(OnDisk().state.next_file_number, keeper_.next_file_number());
}

TEST_F(ManifestKeeperTest, ClosesWithoutAManifest) {
  MutexLock lock(keeper_.mutex());
  EXPECT_OK(keeper_.Close());
}

TEST_F(ManifestKeeperTest, ThreadsGetDifferentFileNumbers) {
  std::vector<std::vector<uint64_t>> numbers(4);
  std::vector<std::thread> threads;
  for (auto& mine : numbers) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) mine.push_back(keeper_.NewFileNumber());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : numbers) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), 4000u);
  EXPECT_EQ(*all.rbegin() + 1, keeper_.next_file_number());
}

}  // namespace
}  // namespace lsm
