#include "lsm/runtime/reserves.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "lsm/bytes/status.h"
#include "lsm/event_listener.h"
#include "tests/lsm/runtime/runtime_world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::StatusIs;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class SpaceListener : public EventListener {
 public:
  void OnSpaceChange(const SpaceChange& event) override {
    text += event.puts_refused ? "refused " : "taken ";
  }
  void OnStallBegin(const StallBegin&) override { text += "stall "; }
  std::string text;
};

class ReservesTest : public testing::Test {
 protected:
  ReservesTest() : listener_(std::make_shared<SpaceListener>()), world_(listener_) {
    options_ = world_.SmallOptions();
    options_.reserve_bytes = 8 * kMiB;
    Open();
  }
  void Open() {
    reserves_.reset();
    store_ = {};
    store_ = StoreDirectory::Open(kStorePath, options_).value();
    reserves_ = std::make_unique<Reserves>(&store_, options_, &world_.counters, &world_.events);
  }
  void Build(uint64_t table_bytes = kMiB, uint64_t memtable_bytes = 0) {
    reserves_->Build(table_bytes, memtable_bytes, Reserve::Effort::kInsist);
  }
  std::string Told() {
    world_.events.Deliver();
    return std::exchange(listener_->text, "");
  }

  std::shared_ptr<SpaceListener> listener_;
  RuntimeWorld world_;
  Options options_;
  StoreDirectory store_;
  std::unique_ptr<Reserves> reserves_;
};

TEST_F(ReservesTest, ReserveMatchesTheTables) {
  EXPECT_TRUE(reserves_->IsDue(1));
  Build();
  EXPECT_EQ(reserves_->held_bytes(), kMiB);
  EXPECT_FALSE(reserves_->IsShort());
  EXPECT_OK(reserves_->CheckMayPut());
  EXPECT_TRUE(reserves_->Fits(kMiB / 2));
  EXPECT_FALSE(reserves_->Fits(kMiB));
  EXPECT_FALSE(reserves_->IsDue(kMiB / 2));
  EXPECT_TRUE(reserves_->IsDue(kMiB / 2 + 1));
  EXPECT_EQ(Told(), "");
}

TEST_F(ReservesTest, ReportsEachChangeOnce) {
  Build();
  world_.files->SetFreeBytes(0);
  EXPECT_TRUE(reserves_->Release());
  EXPECT_TRUE(reserves_->ArePutsRefused());
  EXPECT_THAT(reserves_->CheckMayPut(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(Told(), "refused ");
  EXPECT_FALSE(reserves_->Release()) << "there is none";
  world_.files->SetFreeBytes(0);
  Build();
  EXPECT_EQ(Told(), "");
  world_.files->SetFreeBytes(100 * kMiB);
  Build();
  EXPECT_FALSE(reserves_->ArePutsRefused());
  EXPECT_EQ(Told(), "taken ");
  EXPECT_EQ(world_.counters.SumOf(Counter::kReserveReleases), 1u);
}

TEST_F(ReservesTest, OpeningDoesNotReportAgain) {
  reserves_->SetToldRefused(true);
  world_.files->SetFreeBytes(0);
  Build();
  EXPECT_TRUE(reserves_->ArePutsRefused());
  EXPECT_EQ(Told(), "");
}

TEST_F(ReservesTest, LogDirectoriesHaveTheirOwnReserve) {
  options_.log_directory = "/logs";
  Open();
  Build();
  const std::string path = Concat("/logs/", kReserveFileName);
  EXPECT_FALSE(world_.files->FileBytes(path).empty());
  EXPECT_TRUE(reserves_->Release());
  EXPECT_TRUE(world_.files->FileBytes(path).empty());
  EXPECT_TRUE(reserves_->ArePutsRefused());
}

TEST_F(ReservesTest, RunsTheJobAgainAfterAFullDisk) {
  Build();
  int runs = 0;
  const auto job = [&] { return ++runs == 1 ? DiskFull("full") : absl::OkStatus(); };
  EXPECT_OK(reserves_->RunWithReserve(job, [] { return true; }));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(reserves_->held_bytes(), 0u);
  runs = 0;
  EXPECT_TRUE(IsDiskFull(reserves_->RunWithReserve(job, [] { return true; })));
  EXPECT_EQ(runs, 1) << "no reserve is left";
}

TEST_F(ReservesTest, KeepsAReserveThatDoesNotHelp) {
  Build();
  int runs = 0;
  const auto full = [&] { return ++runs, DiskFull("full"); };
  EXPECT_TRUE(IsDiskFull(reserves_->RunWithReserve(full, [] { return false; })));
  const auto broken = [&] { return ++runs, absl::UnavailableError("device"); };
  EXPECT_THAT(reserves_->RunWithReserve(broken, [] { return true; }),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(reserves_->held_bytes(), kMiB);
}

TEST_F(ReservesTest, ReleasesOfOtherJobsCount) {
  Build();
  int runs = 0;
  const auto job = [&] {
    if (++runs == 2) return absl::OkStatus();
    reserves_->Release();
    return DiskFull("full");
  };
  EXPECT_OK(reserves_->RunWithReserve(job, [] { return true; }));
  EXPECT_EQ(runs, 2);
}

TEST_F(ReservesTest, CountsAndReportsStalls) {
  std::string told_before;
  reserves_->CountStall([&] { told_before = Told(); });
  EXPECT_EQ(told_before, "stall ");
  EXPECT_EQ(world_.counters.SumOf(Counter::kStallsReserve), 1u);
  EXPECT_GT(world_.counters.SumOf(Counter::kStallNanos), 0u);
}

}  // namespace
}  // namespace lsm
