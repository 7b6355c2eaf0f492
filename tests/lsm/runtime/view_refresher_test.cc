#include "lsm/runtime/view_refresher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "lsm/base/keyspace_state.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/runtime/keyspaces.h"
#include "lsm/table/block_cache.h"
#include "tests/lsm/runtime/runtime_world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

class ViewRefresherTest : public testing::Test {
 protected:
  ViewRefresherTest()
      : writer_(DB::Open(kStorePath, world_.SmallOptions()).value()), store_(OpenToFollow()) {
    context_.block_cache = &block_cache_;
    context_.counters = &world_.counters;
    context_.digest_seed = refresher_.Begin().value();
  }
  ~ViewRefresherTest() override {
    EXPECT_FALSE(lifetime_.BeginClosing([] { return false; }));
    refresher_.Stop();
    views_.Close();
  }

  StoreDirectory OpenToFollow() {
    Options options = world_.SmallOptions();
    options.mode = OpenMode::kFollow;
    return StoreDirectory::Open(kStorePath, options).value();
  }
  void Break(bool is_broken) {
    world_.files->SetFault([is_broken](FileOperation operation, const std::string& path, uint64_t) {
      return is_broken && operation == FileOperation::kOpenRead && path.ends_with("CURRENT")
                 ? absl::UnavailableError("broken")
                 : absl::OkStatus();
    });
  }
  uint64_t Errors() { return world_.counters.SumOf(Counter::kBackgroundErrors); }

  RuntimeWorld world_;
  std::unique_ptr<DB> writer_;
  StoreDirectory store_;
  BlockCache block_cache_{1 << 20};
  TableContext context_;
  BackgroundJobs jobs_{nullptr, &world_.counters, &world_.events};
  Sequences sequences_;
  Lifetime lifetime_{&world_.mutex, &jobs_};
  LiveViews views_{&store_, &world_.events, &world_.mutex, &jobs_, &lifetime_};
  Options options_;
  Keyspaces keyspaces_{&options_, &world_.mutex, &world_.clock};
  ViewRefresher refresher_{
      {&context_, &views_, &keyspaces_, &world_.counters, &world_.events, &world_.clock},
      {world_.files.get(), kStorePath, world_.files.get(), std::nullopt},
      &world_.mutex,
      &sequences_};
};

TEST_F(ViewRefresherTest, PublishesNewWrites) {
  ASSERT_OK(refresher_.Refresh());
  const std::shared_ptr<const ReadView> empty = views_.Share();
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(views_.VisibleIn(*empty), 0u);
  ASSERT_OK(writer_->Put("a", "1"));
  ASSERT_OK(writer_->Put("b", "2"));
  ASSERT_OK(refresher_.Refresh());
  EXPECT_EQ(views_.VisibleIn(*views_.Share()), 2u);
  EXPECT_EQ(views_.VisibleIn(*empty), 0u);
  MutexLock lock(&world_.mutex);
  EXPECT_EQ(sequences_.last(), 2u);
}

TEST_F(ViewRefresherTest, AQuietStoreKeepsItsView) {
  ASSERT_OK(writer_->Put("a", "1"));
  ASSERT_OK(refresher_.Refresh());
  const std::shared_ptr<const ReadView> view = views_.Share();
  ASSERT_OK(refresher_.Refresh());
  EXPECT_EQ(views_.Share(), view);
}

TEST_F(ViewRefresherTest, AViewHasTheKeyspacesOfItsNumber) {
  const auto find = [this](std::string_view name) {
    MutexLock lock(&world_.mutex);
    keyspaces_.AssertHeld();
    return keyspaces_.Find(name);
  };
  ASSERT_OK(writer_->OpenKeyspace("a"));
  ASSERT_OK(refresher_.Refresh());
  const std::shared_ptr<const ReadView> view = views_.Share();
  EXPECT_TRUE(view->keyspaces->Has(2, "a"));
  const std::shared_ptr<const KeyspaceState> state = find("a");
  ASSERT_NE(state, nullptr);
  ASSERT_OK(writer_->Put("key", "value"));
  ASSERT_OK(refresher_.Refresh());
  EXPECT_NE(views_.Share(), view);
  EXPECT_EQ(views_.Share()->keyspaces, view->keyspaces) << "none has changed";
  EXPECT_EQ(find("a"), state);
  ASSERT_OK(writer_->DropKeyspace("a"));
  ASSERT_OK(refresher_.Refresh());
  EXPECT_FALSE(views_.Share()->keyspaces->Has(2));
  EXPECT_TRUE(IsDropped(state.get()));
  EXPECT_EQ(find("a"), nullptr);
}

TEST_F(ViewRefresherTest, KeepsTheErrorOfTheLastRefresh) {
  ASSERT_OK(refresher_.Refresh());
  EXPECT_OK(refresher_.status());
  Break(true);
  EXPECT_THAT(refresher_.Refresh(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(refresher_.Refresh(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(refresher_.status(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(Errors(), 1u);
  EXPECT_NE(views_.Share(), nullptr);
  world_.clock.Advance(5'000'000'000);
  EXPECT_GT(refresher_.AgeNanos(), 5'000'000'000u);
  Break(false);
  ASSERT_OK(refresher_.Refresh());
  EXPECT_OK(refresher_.status());
  EXPECT_LT(refresher_.AgeNanos(), 1'000'000'000u);
  EXPECT_EQ(Errors(), 1u);
}

TEST_F(ViewRefresherTest, FreesViewsThatReadersHaveLeft) {
  ASSERT_OK(refresher_.Refresh());
  const std::weak_ptr<const ReadView> old = views_.Share();
  ASSERT_OK(writer_->Put("a", "1"));
  ASSERT_OK(refresher_.Refresh());
  ASSERT_OK(refresher_.Refresh());
  EXPECT_TRUE(old.expired());
}

TEST_F(ViewRefresherTest, AThreadRefreshes) {
  ASSERT_OK(refresher_.Start());
  ASSERT_OK(writer_->Put("a", "1"));
  // Slow machines run threads late.
  for (int i = 0; i < 3000 && views_.VisibleIn(*views_.Share()) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(views_.VisibleIn(*views_.Share()), 1u);
}

}  // namespace
}  // namespace lsm
