#include "lsm/runtime/live_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "lsm/threads/epoch.h"
#include "tests/lsm/runtime/runtime_world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class CallingListener : public EventListener {
 public:
  void OnResume(const Resumed&) override {
    if (call) call();
  }
  std::function<void()> call;
};

class LiveViewsTest : public testing::Test {
 protected:
  LiveViewsTest()
      : listener_(std::make_shared<CallingListener>()),
        world_(listener_),
        store_(StoreDirectory::Open(kStorePath, world_.SmallOptions()).value()) {
    version_ = Version::Create({}).value();
    Publish();
  }
  ~LiveViewsTest() override {
    EXPECT_FALSE(lifetime_.BeginClosing([] { return false; }));
    views_.Close();
  }

  // Publishes a view with a new memtable.  Returns true if its version differs from the one before.
  bool Publish() {
    auto view = std::make_shared<ReadView>();
    view->memtable = std::make_shared<Memtable>();
    view->version = version_;
    LiveViews::Prepared prepared = views_.Prepare(std::move(view));
    MutexLock lock(&world_.mutex);
    views_.AssertHeld();
    return views_.Publish(std::move(prepared));
  }
  // Makes the file of a table.
  void MakeTableFile(uint64_t number) {
    ASSERT_OK(store_.directory->CreateExclusive(TableFileName(number)).status());
  }

  const std::shared_ptr<CallingListener> listener_;
  RuntimeWorld world_;
  StoreDirectory store_;
  BackgroundJobs jobs_{&world_.scheduler, &world_.counters, &world_.events};
  Lifetime lifetime_{&world_.mutex, &jobs_};
  LiveViews views_{&store_, &world_.events, &world_.mutex, &jobs_, &lifetime_};
  std::shared_ptr<const Version> version_;
};

TEST_F(LiveViewsTest, PublishReportsNewVersions) {
  EXPECT_FALSE(Publish());
  version_ = Version::Create({}).value();
  EXPECT_TRUE(Publish());
  const EpochGuard guard;
  MutexLock lock(&world_.mutex);
  views_.AssertHeld();
  EXPECT_EQ(views_.Load(), views_.Current().get());
  EXPECT_EQ(views_.Load()->version, version_);
}

TEST_F(LiveViewsTest, GuardsKeepViews) {
  const std::weak_ptr<const ReadView> first = views_.Share();
  {
    const EpochGuard guard;
    ASSERT_NE(views_.Load(), nullptr);
    Publish();
    EXPECT_EQ(views_.Collect(), 1u);
    EXPECT_FALSE(first.expired());
  }
  EXPECT_EQ(views_.Collect(), 0u);
  EXPECT_TRUE(first.expired());
}

TEST_F(LiveViewsTest, JobsFreeTheLastReadersView) {
  std::shared_ptr<const ReadView> shared = views_.Share();
  const std::weak_ptr<const ReadView> first = shared;
  Publish();
  EXPECT_EQ(views_.Collect(), 0u);
  views_.LetGo(std::move(shared));
  EXPECT_FALSE(first.expired());
  EXPECT_EQ(world_.scheduler.queued_count(), 1u);
  world_.scheduler.RunAll();
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(jobs_.HasAny());
}

// The job has collected, and ends soon.
TEST_F(LiveViewsTest, JobsFreeViewsThatReadersLetGoMeanwhile) {
  std::shared_ptr<const ReadView> shared[2];
  for (std::shared_ptr<const ReadView>& view : shared) {
    view = views_.Share();
    Publish();
  }
  EXPECT_EQ(views_.Collect(), 0u);
  const std::weak_ptr<const ReadView> second = shared[1];
  views_.LetGo(std::move(shared[0]));
  listener_->call = [&] { views_.LetGo(std::move(shared[1])); };
  world_.events.Add(Resumed());  // delivered in the collection, after the views were freed
  world_.scheduler.RunAll();
  EXPECT_EQ(shared[1], nullptr) << "the event was not delivered";
  EXPECT_TRUE(second.expired());
  EXPECT_FALSE(jobs_.HasAny());
}

TEST_F(LiveViewsTest, SharedViewsNeedNoJob) {
  std::shared_ptr<const ReadView> shared = views_.Share();
  views_.LetGo(std::move(shared));
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
}

TEST_F(LiveViewsTest, LastReaderOfAClosedStoreFreesTheView) {
  std::shared_ptr<const ReadView> shared = views_.Share();
  const std::weak_ptr<const ReadView> first = shared;
  Publish();
  views_.Collect();
  jobs_.Stop();
  views_.LetGo(std::move(shared));
  EXPECT_TRUE(first.expired());
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
}

TEST_F(LiveViewsTest, CollectsUntilNoViewIsLeft) {
  {
    const EpochGuard guard;
    ASSERT_NE(views_.Load(), nullptr);
    Publish();
    views_.CollectToTheEnd();
    EXPECT_TRUE(jobs_.HasAny());
    world_.scheduler.Pause(0);  // runs the job
    EXPECT_TRUE(jobs_.HasAny()) << "the view is still read";
  }
  world_.scheduler.RunAll();
  EXPECT_FALSE(jobs_.HasAny());
  EXPECT_EQ(views_.Collect(), 0u);
}

TEST_F(LiveViewsTest, RemovesFilesWithoutReaders) {
  MakeTableFile(7);
  auto table = std::make_shared<const OpenTable>();
  ObsoleteFiles::Tables superseded;
  superseded.emplace_back(7, table);
  views_.Supersede(std::move(superseded));
  views_.Collect();
  EXPECT_TRUE(views_.IsHeld(7));
  EXPECT_THAT(world_.FilesOf(FileKind::kTable), SizeIs(1));
  table.reset();
  views_.Collect();
  EXPECT_FALSE(views_.IsHeld(7));
  EXPECT_THAT(world_.FilesOf(FileKind::kTable), IsEmpty());
}

TEST_F(LiveViewsTest, CloseLeavesFilesWithReaders) {
  MakeTableFile(7);
  MakeTableFile(8);
  const auto held = std::make_shared<const OpenTable>();
  ObsoleteFiles::Tables superseded;
  superseded.emplace_back(7, held);
  superseded.emplace_back(8, std::weak_ptr<const OpenTable>());
  views_.Supersede(std::move(superseded));
  views_.Close();
  EXPECT_THAT(world_.FilesOf(FileKind::kTable), SizeIs(1));
  EXPECT_EQ(views_.Share(), nullptr);
}

TEST_F(LiveViewsTest, ReadersSeeShownWrites) {
  ReadView view;
  EXPECT_EQ(views_.VisibleIn(view), 0u);
  views_.ShowUpTo(12);
  EXPECT_EQ(views_.VisibleIn(view), 12u);
  view.sequence_max = 11;
  EXPECT_EQ(views_.VisibleIn(view), 11u);
}

}  // namespace
}  // namespace lsm
