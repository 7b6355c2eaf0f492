// Compactions that run at the same time, whole or in steps.  Compactions that the picker allows at
// the same time may end in any order.  In this test jobs and steps do all their work when they
// begin.  That makes no difference, because they read only the version from their beginning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/picker.h"
#include "lsm/compaction/steps.h"
#include "lsm/memtable/memtable.h"
#include "tests/lsm/compaction/job_world.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/table_text.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// A store without files of its own: a version, the running jobs, and everything that was ever
// written.
class Simulation : private JobWorld {
 public:
  Simulation(uint64_t seed, bool may_step, bool with_ranges)
      : JobWorld(seed, 100, "blocked"), may_step_(may_step), with_ranges_(with_ranges) {
    options_.table_bytes = 400;
    options_.level1_bytes = 1500;
    options_.block_bytes = 256;
    options_.level0_compaction_tables = 1 + static_cast<int>(Roll(3));
    maker_.oldest_tombstone = kBeganSeconds;
    tree_ = Tree::Create({}).value();
    ChangeStyle();
  }

  void Step() {
    switch (Roll(12)) {
      case 0:
      case 1:
      case 2:
        return Flush();
      case 3:
        return snapshots_.size() < 3 ? TakeSnapshot() : ReleaseSnapshot();
      case 4:
        return Roll(20) == 0 ? ChangeStyle() : BeginRange();
      case 5:
      case 6:
      case 7:
        return End();
      default:
        return Begin(PickCompaction(*tree_, options_, Running(), AnyMoment(),
                                    kBytesMergedPerJob * Roll(2) + Roll(5000))
                         .plan);
    }
  }

  void Check() {
    std::map<std::string, std::vector<Entry>> found;  // newest first, as lookups ask
    for (int level = 0; level < kLevels; ++level) {
      for (const auto& table : tree_->level(level)) {
        for (auto& [key, versions] : VersionsIn(*table)) {
          auto& all = found[key];
          all.insert(all.end(), versions.begin(), versions.end());
        }
      }
    }
    for (const auto& [key, versions] : found) {
      // Steps leave copies.  Below the newest version they may be in any order, since a version
      // above may be dropped before its copy.
      for (size_t i = 1; i < versions.size(); ++i) {
        const Entry& above = versions[in_steps_ > 0 ? 0 : i - 1];
        const bool may_be_copy = in_steps_ > 0 && above.sequence == versions[i].sequence;
        ASSERT_TRUE(above.sequence > versions[i].sequence || may_be_copy)
            << key << ": " << TextOf(versions);
      }
    }
    std::vector<Sequence> moments(snapshots_.begin(), snapshots_.end());
    moments.push_back(last_sequence_);
    for (const auto& [key, written] : written_) {
      for (const Sequence moment : moments)
        ASSERT_EQ(ValueAt(found[key], moment), ValueAt(written, moment)) << key << "@" << moment;
    }
  }

  size_t most_at_once() const { return most_at_once_; }
  size_t for_readers() const { return for_readers_; }
  size_t for_tombstones() const { return for_tombstones_; }
  size_t drops() const { return drops_; }
  size_t steps() const { return steps_; }
  size_t ranges() const { return ranges_; }
  const std::set<std::pair<int, int>>& levels_at_once() const { return levels_at_once_; }

 private:
  static constexpr uint64_t kBeganSeconds = 1'600'000'000;  // the time of the clock

  struct Job {
    std::shared_ptr<const CompactionPlan> plan;
    VersionEdit edit;
    OpenTables outputs;
    std::optional<PlanLeft> left;  // in steps
    CompactionPlan step;
  };

  uint64_t Roll(uint64_t sides) { return random_.Next() % sides; }
  PickMoment AnyMoment() {
    using Turn = PickMoment::Turn;
    PickMoment moment;
    moment.tombstones = Roll(3) != 0   ? Turn::kNever
                        : Roll(2) == 0 ? Turn::kFirst
                                       : Turn::kAfterLevels;
    if (!snapshots_.empty()) moment.oldest_snapshot = *snapshots_.begin();
    // All tombstones are due, or none.
    moment.wall_seconds = kBeganSeconds + kTombstoneSecondsMax * Roll(2);
    all_snapshots_.assign(snapshots_.begin(), snapshots_.end());
    if (Roll(2) == 0) {
      // They hold all covered tables, so merges meet these.
      all_snapshots_.resize(last_sequence_);
      std::iota(all_snapshots_.begin(), all_snapshots_.end(), 1);
    }
    moment.snapshots = all_snapshots_;
    return moment;
  }
  // Draws few keys, from a narrow range, so that a table overlaps some of the others but not all.
  std::string KeyIn(uint64_t from, uint64_t width) {
    const std::string digits = std::to_string(1000 + (from + Roll(width)) % 200);
    return "k" + digits;
  }

  static std::string KeyOf(uint64_t number) { return "k" + std::to_string(1000 + number); }

  // The versions of each key in a table, newest first.  Range deletes count as deletes.
  static std::map<std::string, std::vector<Entry>> VersionsIn(const OpenTable& table) {
    std::map<std::string, std::vector<Entry>> versions;
    for (const Entry& entry : EntriesOf(*table.table->NewIterator({})))
      versions[entry.user_key].push_back(entry);
    const RangeMap& ranges = table.table->ranges();
    for (uint64_t number = 0; number < 200 && !ranges.empty(); ++number) {
      const std::string key = KeyOf(number);
      for (Sequence at = ranges.NewestAt(key, kSequenceMax); at != 0;
           at = ranges.NewestAt(key, at - 1))
        versions[key].push_back(DeleteOf(key, at));
    }
    for (auto& [key, all] : versions) {
      std::sort(all.begin(), all.end(),
                [](const Entry& a, const Entry& b) { return a.sequence > b.sequence; });
    }
    return versions;
  }

  // `entries`: newest first.
  static std::optional<std::string> ValueAt(const std::vector<Entry>& entries, Sequence moment) {
    for (const Entry& entry : entries) {
      if (entry.sequence > moment) continue;
      if (entry.kind == EntryKind::kDelete) return std::nullopt;
      return entry.value;
    }
    return std::nullopt;
  }

  std::vector<std::shared_ptr<const CompactionPlan>> Running() const {
    std::vector<std::shared_ptr<const CompactionPlan>> plans;
    for (const Job& job : jobs_) plans.push_back(job.plan);
    return plans;
  }

  void ChangeStyle() {
    options_.compaction_style =
        std::array{CompactionStyle::kLeveled, CompactionStyle::kLeveled, CompactionStyle::kTiered,
                   CompactionStyle::kLazyLeveled}[Roll(4)];
  }
  void TakeSnapshot() { snapshots_.insert(last_sequence_); }
  void ReleaseSnapshot() {
    auto gone = snapshots_.begin();
    std::advance(gone, static_cast<std::ptrdiff_t>(Roll(snapshots_.size())));
    snapshots_.erase(gone);
  }

  // Writes a range delete, perhaps of few keys, or without end.
  void WriteRange(TextRanges* ranges) {
    const uint64_t from = Roll(200), to = from + 1 + (Roll(3) == 0 ? Roll(200) : Roll(10));
    const Sequence sequence = ++last_sequence_;
    ranges->Add(
        Concat(KeyOf(from), "..", to < 200 || Roll(2) == 0 ? KeyOf(to) : "", "@", sequence));
    for (uint64_t number = from; number < std::min<uint64_t>(to, 200); ++number) {
      auto& versions = written_[KeyOf(number)];
      versions.insert(versions.begin(), DeleteOf(KeyOf(number), sequence));
    }
    ++ranges_;
  }

  // A table as a flush writes it, which drops what no reader needs, or with all that was written.
  OpenTables TableOf(const std::vector<Entry>& entries, const TextRanges& ranges) {
    if (Roll(2) == 0) return {maker_.Make(next_number_++, entries, 0, 0, ranges.Map())};
    Memtable memtable;
    for (const Entry& entry : entries)
      memtable.Add(entry.sequence, entry.kind, entry.user_key, entry.value);
    return RunFlush(context_, *memtable.NewIterator(), ranges.Map(), TableFilter(),
                    SnapshotList(snapshots_.begin(), snapshots_.end()), [&] { return tree_; })
        .value()
        .outputs;
  }

  void Flush() {
    if (tree_->level(0).size() > 12) return;
    std::vector<Entry> entries;
    TextRanges ranges;
    const uint64_t from = Roll(200), width = Roll(4) == 0 ? 200 : 1 + Roll(40);
    const bool has_ranges = with_ranges_ && Roll(3) == 0, has_only_ranges = Roll(4) == 0;
    for (uint64_t i = 0, count = 1 + Roll(8); i < count; ++i) {
      if (has_ranges && (has_only_ranges || Roll(3) == 0)) {
        WriteRange(&ranges);
        continue;
      }
      const std::string key = KeyIn(from, width);
      const Sequence sequence = ++last_sequence_;
      entries.push_back(Roll(3) == 0 ? DeleteOf(key, sequence)
                                     : PutOf(key, sequence, "v" + std::to_string(sequence)));
      written_[key].insert(written_[key].begin(), entries.back());
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.user_key, b.sequence) < std::tie(b.user_key, a.sequence);
    });
    auto levels = LevelsAfter(*tree_, {}, {});
    for (const auto& table : TableOf(entries, ranges)) levels[0].push_back(table);
    tree_ = Tree::Create(std::move(levels)).value();
  }

  void BeginRange() {
    std::optional<std::string> from, to;
    if (Roll(2) == 0) from = KeyIn(0, 200);
    if (Roll(2) == 0) to = KeyIn(0, 200);
    std::optional<CompactionPlan> plan =
        PlanRange(*tree_, static_cast<int>(Roll(kLevels - 1)), from, to);
    if (plan && !Conflicts(*plan, Running())) Begin(std::move(plan));
  }

  void Begin(std::optional<CompactionPlan> plan) {
    if (!plan || jobs_.size() >= 4) return;
    Job job;
    job.plan = std::make_shared<const CompactionPlan>(*std::move(plan));
    if (job.plan->drops) {
      const JobResult nothing;
      job.edit = EditOf(*job.plan, &nothing);
      drops_ += job.plan->inputs.size();
    } else if (job.plan->trivial_move) {
      job.edit = EditOf(*job.plan, nullptr);
    } else if (may_step_ && Roll(3) == 0) {
      job.left = AllOf(*job.plan);
      ++in_steps_;
      if (!BeginStep(&job)) FAIL() << "a plan without a step";
    } else {
      Run(*job.plan, &job);
    }
    for (const Job& other : jobs_) levels_at_once_.insert({other.plan->level, job.plan->level});
    if (job.plan->for_readers) ++for_readers_;
    if (job.plan->for_tombstones) ++for_tombstones_;
    jobs_.push_back(std::move(job));
    most_at_once_ = std::max(most_at_once_, jobs_.size());
  }

  void Run(const CompactionPlan& plan, Job* job) {
    JobResult result =
        RunCompaction(context_, *tree_, plan, SnapshotList(snapshots_.begin(), snapshots_.end()),
                      [] { return false; })
            .value();
    if (plan.for_tombstones && plan.level == plan.output_level && !job->left) {
      for (const auto& table : result.outputs)
        EXPECT_EQ(table->meta.dead, DeadEntries()) << "it would be due again";
    }
    job->edit = EditOf(plan, &result);
    job->outputs = std::move(result.outputs);
  }

  // False if there is none left.
  bool BeginStep(Job* job) {
    std::optional<CompactionPlan> step = NextStep(*tree_, *job->left, options_.table_bytes);
    if (!step) return false;
    job->step = *std::move(step);
    Run(job->step, job);
    ++steps_;
    return true;
  }

  void End() {
    if (jobs_.empty()) return;
    auto job = jobs_.begin();
    std::advance(job, static_cast<std::ptrdiff_t>(Roll(jobs_.size())));
    absl::StatusOr<std::shared_ptr<const Tree>> next =
        Tree::Create(LevelsAfter(*tree_, job->edit, job->outputs));
    ASSERT_OK(next);
    tree_ = *std::move(next);
    bool goes_on = false;
    if (job->left) {
      job->left = LeftAfter(*job->left, job->step, job->outputs);
      job->plan = std::make_shared<const CompactionPlan>(job->left->plan);
      // One in many fails between two steps.
      goes_on = Roll(12) != 0 && BeginStep(&*job);
    }
    if (!goes_on) jobs_.erase(job);
    Check();
  }

  const bool may_step_;
  const bool with_ranges_;
  size_t ranges_ = 0;  // so far
  Sequence last_sequence_ = 0;
  std::set<Sequence> snapshots_;
  std::vector<Sequence> all_snapshots_;                // of the last moment
  std::map<std::string, std::vector<Entry>> written_;  // newest first
  std::shared_ptr<const Tree> tree_;
  std::list<Job> jobs_;
  size_t most_at_once_ = 0;
  size_t for_readers_ = 0, for_tombstones_ = 0;  // compactions
  size_t drops_ = 0;                             // tables
  size_t in_steps_ = 0;                          // compactions so far
  size_t steps_ = 0;
  std::set<std::pair<int, int>> levels_at_once_;  // of a job that runs, and of one that begins
};

class ParallelCompactionTest : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithRanges, ParallelCompactionTest, testing::Bool());

TEST_P(ParallelCompactionTest, LosesAndRevivesNothingInAnyOrder) {
  size_t most_at_once = 0, for_readers = 0, for_tombstones = 0, drops = 0, steps = 0, ranges = 0;
  std::set<std::pair<int, int>> levels_at_once;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Simulation simulation(seed, /*may_step=*/seed % 2 == 0, GetParam());
    for (int step = 0; step < 400; ++step) {
      simulation.Step();
      if (testing::Test::HasFatalFailure()) return;
    }
    simulation.Check();
    most_at_once = std::max(most_at_once, simulation.most_at_once());
    for_readers += simulation.for_readers();
    for_tombstones += simulation.for_tombstones();
    drops += simulation.drops();
    steps += simulation.steps();
    ranges += simulation.ranges();
    levels_at_once.insert(simulation.levels_at_once().begin(), simulation.levels_at_once().end());
  }
  EXPECT_EQ(most_at_once, 4u);
  const bool with_ranges = GetParam();
  EXPECT_GT(for_readers, with_ranges ? 90u : 60u);
  EXPECT_GT(for_tombstones, with_ranges ? 700u : 800u);
  EXPECT_GT(steps, with_ranges ? 2500u : 3000u);
  if (with_ranges) {
    EXPECT_GT(ranges, 10'000u);
    EXPECT_GT(drops, 1500u);
  } else {
    EXPECT_EQ(ranges + drops, 0u);
  }
  // Jobs ran at the same time in one level, in neighbouring levels, and in distant levels.
  for (const auto& pair : {std::pair(0, 0), {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 1}, {0, 2}, {2, 0}})
    EXPECT_TRUE(levels_at_once.contains(pair)) << pair.first << ", " << pair.second;
}

}  // namespace
}  // namespace lsm
