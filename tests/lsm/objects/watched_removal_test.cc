// Events of files that are removed together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lsm/event_listener.h"
#include "lsm/events/event_queue.h"
#include "lsm/events/watched_directory.h"
#include "lsm/file_system.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/objects/object_fixture.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::StatusIs;

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
  absl::Status RemoveAll() {
    const std::string names[] = {"none", "a", "b"};
    const absl::Status status = directory_->RemoveAll(names);
    events_.Deliver();
    return status;
  }

  testing_support::ManualClock clock_;
  const std::shared_ptr<RemovedFiles> removed_ = std::make_shared<RemovedFiles>();
  EventQueue events_{removed_, &clock_, kStore};
};

TEST_F(WatchedRemovalTest, EachRemovedFileIsReported) {
  EXPECT_THAT(RemoveAll(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(removed_->Take(), ElementsAre("/store/a 1", "/store/b 2"));
  EXPECT_THAT(RemoveAll(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(removed_->Take(), IsEmpty());
}

TEST_F(WatchedRemovalTest, FilesThatStayAreNotReported) {
  a_.pool.SetHooks({[](ObjectCall call, const std::string&, uint64_t) {
                      return call == ObjectCall::kWrite ? MemoryObjectPool::Fate::kRefused
                                                        : MemoryObjectPool::Fate::kApplied;
                    },
                    nullptr});
  EXPECT_FALSE(RemoveAll().ok());
  EXPECT_THAT(removed_->Take(), IsEmpty());
  a_.pool.SetHooks({});
  RemoveAll().IgnoreError();
  EXPECT_THAT(removed_->Take(), ElementsAre("/store/a 1", "/store/b 2"));
}

TEST_F(WatchedRemovalTest, LostAnswersLoseNoEvent) {
  a_.pool.SetHooks({nullptr, [](ObjectCall call, const std::string&, uint64_t) {
                      return call != ObjectCall::kWrite;
                    }});
  EXPECT_FALSE(RemoveAll().ok());
  EXPECT_THAT(removed_->Take(), ElementsAre("/store/a 1", "/store/b 2"));
}

}  // namespace
}  // namespace lsm
