// Events of files that are removed together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/event_listener.h"
#include "lsm/events/event_queue.h"
#include "lsm/events/watched_directory.h"
#include "lsm/file_system.h"
#include "lsm/fs/forwarding_directory.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing_support::IsOk;
using testing_support::StatusIs;

auto NotFound() { return StatusIs(absl::StatusCode::kNotFound); }

class RemovedFiles final : public EventListener {
 public:
  void OnFileRemoved(const FileRemoved& event) override {
    files.push_back(event.path + " " + std::to_string(event.bytes));
  }
  std::vector<std::string> Take() { return std::exchange(files, {}); }

  std::vector<std::string> files;
};

class WatchedRemovalTest : public ObjectFixture {
 protected:
  void SetUp() override {
    ObjectFixture::SetUp();
    Write("a", "1");
    Write("b", "22");
    directory_ = WatchDirectory(std::move(directory_), &events_);
  }
  // Removes three files, the first of which does not exist.
  std::vector<absl::Status> RemoveAll() {
    const std::string names[] = {"none", "a", "b"};
    std::vector<absl::Status> outcomes = directory_->RemoveAll(names);
    events_.Deliver();
    return outcomes;
  }

  testing_support::ManualClock clock_;
  const std::shared_ptr<RemovedFiles> removed_ = std::make_shared<RemovedFiles>();
  EventQueue events_{removed_, &clock_, kStore};
};

TEST_F(WatchedRemovalTest, EachRemovedFileIsReported) {
  EXPECT_THAT(RemoveAll(), ElementsAre(NotFound(), IsOk(), IsOk()));
  EXPECT_THAT(removed_->Take(), ElementsAre("/store/a 1", "/store/b 2"));
  EXPECT_THAT(RemoveAll(), Each(NotFound()));
  EXPECT_THAT(removed_->Take(), IsEmpty());
}

TEST_F(WatchedRemovalTest, FilesThatStayAreNotReported) {
  a_.pool.SetHooks({[](ObjectCall call, const std::string&, uint64_t) {
                      return call == ObjectCall::kWrite ? MemoryObjectPool::Fate::kRefused
                                                        : MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  EXPECT_THAT(RemoveAll(), Each(Not(IsOk())));
  EXPECT_THAT(removed_->Take(), IsEmpty());
  a_.pool.SetHooks({});
  RemoveAll();
  EXPECT_THAT(removed_->Take(), ElementsAre("/store/a 1", "/store/b 2"));
}

TEST_F(WatchedRemovalTest, LostAnswersLoseNoEvent) {
  a_.pool.SetHooks({nullptr, [](ObjectCall call, const std::string&, uint64_t) {
                      return call != ObjectCall::kWrite;
                    }});
  EXPECT_THAT(RemoveAll(), Each(Not(IsOk())));
  EXPECT_THAT(removed_->Take(), ElementsAre("/store/a 1", "/store/b 2"));
}

// Fails to remove "b", and fails all later calls.
class BreakingDirectory final : public ForwardingDirectory {
 public:
  using ForwardingDirectory::ForwardingDirectory;
  absl::Status Remove(std::string_view name) override {
    if (name == "b") is_broken_ = true;
    return is_broken_ ? absl::UnavailableError("broken") : directory().Remove(name);
  }
  std::vector<absl::Status> RemoveAll(std::span<const std::string> names) override {
    return Directory::RemoveAll(names);
  }
  absl::StatusOr<FileInfo> Stat(std::string_view name) override {
    if (is_broken_) return absl::UnavailableError("broken");
    return directory().Stat(name);
  }

 private:
  bool is_broken_ = false;
};

TEST_F(WatchedRemovalTest, AFileThatStaysHidesNoEvent) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Directory> inner,
                       a_.files.OpenDirectory(kStore, /*create=*/false));
  directory_ = WatchDirectory(std::make_unique<BreakingDirectory>(std::move(inner)), &events_);
  EXPECT_THAT(RemoveAll(), ElementsAre(NotFound(), IsOk(), Not(IsOk())));
  EXPECT_THAT(removed_->Take(), ElementsAre("/store/a 1"));
}

}  // namespace
}  // namespace lsm
