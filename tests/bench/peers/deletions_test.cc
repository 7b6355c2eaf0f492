#include "bench/peers/deletions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/peers/fake_peer.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench::peers {
namespace {

using testing_support::StatusIs;

class DeletionsTest : public testing::Test {
 protected:
  DeletionsTest() {
    settings_.keys = 200;
    settings_.idle_seconds = 0;
  }

  absl::StatusOr<std::vector<DeletionFigure>> Run(Deletion deletion, Peer* peer) {
    return MeasureDeletion(deletion, settings_, {}, 1, scratch_.path(), peer,
                           [] { return absl::OkStatus(); });
  }
  // The bytes of the store's directory, as the fake has no files.
  void SetStoreBytes(const char* name, size_t bytes) {
    std::ofstream(scratch_.path() + "/" + name) << std::string(bytes, 'x');
  }
  static double Of(const std::vector<DeletionFigure>& figures, std::string_view name) {
    for (const DeletionFigure& figure : figures) {
      if (figure.name == name) return figure.value;
    }
    ADD_FAILURE() << name;
    return NAN;
  }

  const testing_support::ScratchDir scratch_;
  DeletionSettings settings_;
  Log log_;
};

TEST_F(DeletionsTest, EachWorkloadHasFiguresAndAGoal) {
  for (const DeletionInfo& deletion : kDeletions) {
    SCOPED_TRACE(deletion.name);
    SetStoreBytes("000001.sst", 100);
    FakePeer peer("A", &log_);
    ASSERT_OK_AND_ASSIGN(const std::vector<DeletionFigure> figures, Run(deletion.deletion, &peer));
    int goals = 0;
    for (const DeletionFigure& figure : figures) {
      EXPECT_FALSE(std::isnan(figure.value)) << figure.name;
      goals += figure.goal ? 1 : 0;
    }
    EXPECT_EQ(goals > 0, deletion.deletion != Deletion::kWindow);
    const bool is_all = deletion.deletion <= Deletion::kLargeValues;
    EXPECT_EQ(peer.entries.empty(), is_all);
  }
}

TEST_F(DeletionsTest, TheReserveDoesNotCount) {
  FakePeer peer("A", &log_);
  SetStoreBytes("000001.sst", 1 << 20);
  SetStoreBytes("RESERVE", 1 << 21);
  ASSERT_OK_AND_ASSIGN(const std::vector<DeletionFigure> figures, Run(Deletion::kAll, &peer));
  EXPECT_EQ(Of(figures, "MiB stored"), 1);
  EXPECT_EQ(Of(figures, "% left after idling"), 100);
  EXPECT_TRUE(std::isinf(Of(figures, "seconds until 5 % are left")));
}

// A store that forgets every delete.
class DeafPeer : public FakePeer {
 public:
  using FakePeer::FakePeer;
  absl::Status Delete(std::string_view) override { return absl::OkStatus(); }
  absl::Status DeleteRange(std::string_view, std::string_view) override { return absl::OkStatus(); }
};

TEST_F(DeletionsTest, WrongAnswersEndTheRun) {
  SetStoreBytes("000001.sst", 100);
  for (const DeletionInfo& deletion : kDeletions) {
    if (deletion.deletion == Deletion::kWindow) continue;  // which only writes
    SCOPED_TRACE(deletion.name);
    DeafPeer peer("A", &log_);
    EXPECT_THAT(Run(deletion.deletion, &peer), StatusIs(absl::StatusCode::kInternal));
  }
}

// Each of its gets takes several times as long once it has ranges.
class PeerThatRangesSlow : public FakePeer {
 public:
  using FakePeer::FakePeer;
  absl::Status DeleteRange(std::string_view from, std::string_view to) override {
    has_ranges_ = true;
    return FakePeer::DeleteRange(from, to);
  }
  std::unique_ptr<Reader> NewReader() override {
    return std::make_unique<SlowReader>(FakePeer::NewReader(), has_ranges_ ? 5 : 1);
  }

 private:
  class SlowReader : public Reader {
   public:
    SlowReader(std::unique_ptr<Reader> of, int times) : of_(std::move(of)), times_(times) {}
    Answer Get(std::string_view key, std::string_view* value) override {
      for (int i = 1; i < times_; ++i) of_->Get(key, value);
      return of_->Get(key, value);
    }
    absl::Status MultiGet(std::span<const std::string_view> keys,
                          std::vector<std::optional<std::string_view>>* values) override {
      return of_->MultiGet(keys, values);
    }
    std::unique_ptr<Cursor> NewCursor() override { return of_->NewCursor(); }

   private:
    const std::unique_ptr<Reader> of_;
    const int times_;
  };
  bool has_ranges_ = false;
};

TEST_F(DeletionsTest, GetsBesideRangesAreComparedWithThoseBefore) {
  PeerThatRangesSlow peer("A", &log_);
  ASSERT_OK_AND_ASSIGN(const std::vector<DeletionFigure> figures,
                       Run(Deletion::kGetBesideRanges, &peer));
  const double times = Of(figures, "times as long");
  EXPECT_DOUBLE_EQ(times, Of(figures, "us/get") / Of(figures, "us/get without them"));
  for (const DeletionFigure& figure : figures) {
    const std::string_view name = figure.name;
    EXPECT_EQ(figure.goal, name == "times as long" ? std::optional(1.2) : std::nullopt) << name;
    EXPECT_EQ(figure.share_goal, name == "us/get" ? std::optional(0.2) : std::nullopt) << name;
  }
  EXPECT_GT(times, 1.2);
}

TEST_F(DeletionsTest, TheFirstSeekHasAGoalOfItsOwn) {
  for (const Deletion deletion : {Deletion::kSeek, Deletion::kSeekHeld, Deletion::kSeekRange}) {
    SCOPED_TRACE(static_cast<int>(deletion));
    FakePeer peer("A", &log_);
    peer.slow_seeks = 2;  // the first one is not measured
    ASSERT_OK_AND_ASSIGN(const std::vector<DeletionFigure> figures, Run(deletion, &peer));
    EXPECT_GE(Of(figures, "us, first seek past them"), 1000);
    EXPECT_LT(Of(figures, "us, later ones"), 1000);
    EXPECT_DOUBLE_EQ(Of(figures, "first one, in first plain seeks"),
                     Of(figures, "us, first seek past them") / Of(figures, "us, first plain seek"));
    EXPECT_DOUBLE_EQ(Of(figures, "later ones, in later plain ones"),
                     Of(figures, "us, later ones") / Of(figures, "us, later plain ones"));
    std::vector<std::string> with_goal;
    for (const DeletionFigure& figure : figures) {
      if (figure.goal) with_goal.emplace_back(figure.name);
    }
    std::vector<std::string> expected = {"first one, in first plain seeks",
                                         "later ones, in later plain ones"};
    if (deletion == Deletion::kSeekRange)
      expected.emplace_back("when the store is quiet, in plain ones");
    EXPECT_EQ(with_goal, expected);
  }
}

TEST_F(DeletionsTest, ASnapshotHoldsThePutsOnly) {
  FakePeer peer("A", &log_);
  ASSERT_OK(Run(Deletion::kSeekHeld, &peer).status());
  const auto taken = std::find(log_.begin(), log_.end(), "A snapshot");
  ASSERT_NE(taken, log_.end());
  EXPECT_EQ(std::find(log_.begin(), taken, "A delete"), taken);
  EXPECT_EQ(std::count(log_.begin(), taken, "A put"), 1);
}

TEST_F(DeletionsTest, StopsWhenTold) {
  SetStoreBytes("000001.sst", 100);
  settings_.idle_seconds = 60;
  FakePeer peer("A", &log_);
  EXPECT_THAT(MeasureDeletion(Deletion::kAll, settings_, {}, 1, scratch_.path(), &peer,
                              [] { return absl::CancelledError("told"); }),
              StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace bench::peers
