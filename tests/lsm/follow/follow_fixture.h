// A fixture with a writer and a follower in one process, on files in memory.
#ifndef TRELLIS_TESTS_LSM_FOLLOW_FOLLOW_FIXTURE_H_
#define TRELLIS_TESTS_LSM_FOLLOW_FOLLOW_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/status_matchers.h"

namespace lsm {

struct StepsBack : EventListener {
  void OnViewWentBack(const ViewWentBack& event) override {
    seen.push_back(Concat(event.from_sequence, " to ", event.to_sequence));
  }
  std::vector<std::string> seen;
};

class FollowTest : public testing::Test {
 protected:
  FollowTest() : options_(world_.SmallOptions()), follow_(world_.SmallOptions()) {
    follow_.mode = OpenMode::kFollow;
    follow_.listener = listener_;
  }

  void OpenWriter() {
    writer_ = nullptr;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    writer_ = *std::move(db);
  }
  void OpenFollower() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, follow_);
    ASSERT_OK(db);
    follower_ = *std::move(db);
  }
  void OpenBoth() {
    OpenWriter();
    OpenFollower();
  }
  // Ends the writer as if its process had been killed.
  void KillWriter() {
    world_.files->SetFault([this](FileOperation operation, const std::string& path, uint64_t n) {
      const bool is_change = operation == FileOperation::kAppend ||
                             operation == FileOperation::kAtomicReplace ||
                             operation == FileOperation::kRemove;
      if (is_change) return absl::UnavailableError("killed");
      return fault_ == nullptr ? absl::OkStatus() : fault_(operation, path, n);
    });
    writer_ = nullptr;
    world_.files->SetFault(fault_);
  }
  // The log has the record of a write that ended in Unknown, and the writer resumes without it. The
  // follower has seen the write.
  void ResumeWithoutAWrite() {
    OpenBoth();
    Put("a", "1");
    world_.files->SetFault([](FileOperation operation, const std::string& path, uint64_t) {
      return operation == FileOperation::kSyncFile && path.ends_with(".log")
                 ? absl::UnavailableError("broken")
                 : absl::OkStatus();
    });
    WriteOptions sync;
    sync.sync = true;
    EXPECT_THAT(writer_->Put("b", "2", sync),
                testing_support::StatusIs(absl::StatusCode::kUnknown));
    EXPECT_EQ(Now(), "a=1 b=2");
    world_.files->SetFault(nullptr);
    ASSERT_OK(writer_->Resume());
  }
  void Put(std::string_view key, std::string_view value) { ASSERT_OK(writer_->Put(key, value)); }
  void Refresh() { ASSERT_OK(follower_->Resume()); }
  // The contents of the follower, after a refresh.
  std::string Now(const ReadOptions& options = {}) {
    const absl::Status refreshed = follower_->Resume();
    return refreshed.ok() ? Shown(options) : refreshed.ToString();
  }
  std::string Shown(const ReadOptions& options = {}) {
    std::string text;
    const absl::StatusOr<Contents> contents = ReadAll(*follower_, options);
    if (!contents.ok()) return contents.status().ToString();
    for (const auto& [key, value] : *contents) {
      text += Concat(text.empty() ? "" : " ", key, "=", value);
      EXPECT_EQ(*follower_->Get(key, options), value);
    }
    return text;
  }
  // More than a write buffer, so that the writer begins another log and flushes.
  void Fill(int round, int keys = 100) {
    for (int i = 0; i < keys; ++i)
      Put(Concat("fill", 1000 + i), std::string(1000, static_cast<char>('a' + round % 26)));
  }

  World world_;
  MemoryFileSystem::Fault fault_;  // while no other one is set
  Options options_, follow_;
  std::shared_ptr<StepsBack> listener_ = std::make_shared<StepsBack>();
  std::unique_ptr<DB> writer_, follower_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_FOLLOW_FOLLOW_FIXTURE_H_
