#include "lsm/compaction/compaction_schedule.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lsm/compaction/level0_account.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The sum over all trees.
AgedTables AgedTablesIn(const Version& version, uint64_t wall_seconds) {
  AgedTables aged;
  for (const auto& [id, tree] : version.trees()) {
    const AgedTables here = AgedTablesOf(*tree, wall_seconds);
    aged.old += here.old;
    aged.future += here.future;
  }
  return aged;
}

// Whether a drop or a level over its limit waits in any tree.
bool IsAnyDue(const Version& version, const TreeOptions& options, RunningPlans running,
              HasSnapshotIn has_snapshot) {
  const bool has_others = version.trees().size() > 1;
  return std::any_of(version.trees().begin(), version.trees().end(), [&](const auto& entry) {
    const Tree& tree = *entry.tree;
    return options.IsCompacted(tree) &&
           (HasDrop(tree, running, has_snapshot) ||
            DueLevel({&tree, &options.Of(tree), has_others}, running).has_value());
  });
}

std::vector<TreeToCompact> TreesOf(const Version& version, const TreeOptions& options) {
  const bool has_others = version.trees().size() > 1;
  std::vector<TreeToCompact> trees;
  for (const auto& [id, tree] : version.trees()) {
    if (!options.IsCompacted(*tree)) continue;
    trees.push_back(
        {tree.get(), &options.Of(*tree), has_others, Level0Account(*tree).paid_bytes()});
  }
  return trees;
}

}  // namespace

void CompactionSchedule::Add(Request* request) {
  requests_.push_back(request);
  NoteChange();
}

bool CompactionSchedule::IsDue(const Version& version, const TreeOptions& options,
                               HasSnapshotIn has_snapshot) const {
  return !requests_.empty() || IsAnyDue(version, options, running_, has_snapshot);
}

void CompactionSchedule::Withdraw(Request* request) { std::erase(requests_, request); }

bool CompactionSchedule::MayFree(const Version& version) const {
  const bool runs = std::any_of(running_.begin(), running_.end(),
                                [](const auto& plan) { return plan->for_tombstones; });
  if (runs || rest_until_ != 0) return false;
  const auto has_gain = [](const auto& entry) {
    return entry.tree->tombstone_gain() >= static_cast<double>(kBytesMergedPerJob);
  };
  return rent_is_due_ || may_have_expired_ ||
         std::any_of(version.trees().begin(), version.trees().end(), has_gain) ||
         AgedTablesIn(version, wall_seconds_).any();
}

void CompactionSchedule::NoteTime(const Version& version, uint64_t wall_seconds) {
  const AgedTables before = AgedTablesIn(version, wall_seconds_);
  wall_seconds_ = wall_seconds;
  if (AgedTablesIn(version, wall_seconds) != before) NoteChange();
  // If the clock ran back, the rest ends no later than it would from now on.
  if (rest_until_ == 0) return;
  rest_until_ = std::min(rest_until_, wall_seconds + kRestSeconds);
  if (wall_seconds < rest_until_) return;
  rest_until_ = 0;
  NoteChange();
}

bool CompactionSchedule::NoteOldestSnapshot(Sequence oldest) {
  // A job that is choosing might find plans held by the snapshot that is gone.
  if (!is_choosing_ && oldest < held_until_) return false;
  if (!is_choosing_ && held_until_ == kSequenceMax) return false;
  held_until_ = kSequenceMax;
  NoteChange();
  return true;
}

bool CompactionSchedule::NoteReleased(const Version& version, Sequence released) {
  const auto is_it = [&](Sequence from, Sequence to) { return from <= released && released < to; };
  const auto holds_any = [&](const auto& entry) {
    const std::vector<NeedlessTable>& tables = entry.tree->needless();
    return std::any_of(tables.begin(), tables.end(),
                       [&](const NeedlessTable& needless) { return needless.IsHeld(is_it); });
  };
  if (std::none_of(version.trees().begin(), version.trees().end(), holds_any)) return false;
  NoteChange();
  return true;
}

CompactionSchedule::Plans CompactionSchedule::StartChoosing(uint64_t wall_seconds, Job* job) {
  ForgetEndedFlushes();  // the job's version is newer
  Plans running = running_;
  running.insert(running.end(), flushes_.begin(), flushes_.end());
  NoteTime(*job->version, wall_seconds);
  job->revision = revision_;
  using Turn = PickMoment::Turn;
  PickMoment& moment = job->moment;
  moment.wall_seconds = wall_seconds;
  if (!job->snapshots.empty()) moment.oldest_snapshot = job->snapshots.front();
  moment.tombstones = !MayFree(*job->version)                  ? Turn::kNever
                      : plans_since_ + 1 < kPlansPerTombstones ? Turn::kAfterLevels
                                                               : Turn::kFirst;
  if (!requests_.empty()) {
    job->request = requests_.front();
    job->request->in_hand = true;
  }
  return running;
}

void CompactionSchedule::Choose(const Options& options, const Plans& running, Job* job) {
  const Request* const request = job->request;
  CompactionChoice choice;
  if (request == nullptr) {
    PickMoment moment = job->moment;
    moment.snapshots = job->snapshots;
    choice = PickCompaction(
        TreesOf(*job->version, TreeOptions(options, &job->own_options, &job->dropped)), running,
        moment);
  } else if (const Tree* const tree = job->version->TreeOf(request->keyspace);
             tree == nullptr || job->dropped.contains(request->keyspace)) {
    // There is nothing to do.
  } else if (request->drops) {
    choice.plan = PickDrop(*tree, running, job->snapshots, SpanOf(request->from, request->to));
  } else {
    choice.plan = PlanRange(*tree, request->level, request->from, request->to);
  }
  job->held_until = choice.held_until;
  job->is_rule_idle = choice.is_rule_idle;
  for (const auto& [table, bytes] : choice.lacking)
    table->rent->SetPrice(table->rent->paid_bytes() + bytes);
  // While a request waits, no other compaction begins.  Otherwise the request might wait for ever.
  job->found_nothing =
      request == nullptr ? !choice.plan : choice.plan && Conflicts(*choice.plan, running);
  if (choice.plan && !job->found_nothing) {
    const KeyspaceId keyspace = choice.plan->keyspace;
    job->tree = job->version->ShareTree(keyspace);
    job->filter_index_bytes_beside = job->version->FilterIndexBytesBeside(keyspace);
    job->plan = std::make_shared<const CompactionPlan>(*std::move(choice.plan));
  }
  job->version = nullptr;
}

bool CompactionSchedule::TakeForFlush(const std::shared_ptr<const CompactionPlan>& plan,
                                      const Version& version) {
  const Tree* const tree = version.TreeOf(plan->keyspace);
  const OpenTables tables = tree == nullptr ? OpenTables() : tree->level(0);
  if (std::find(tables.begin(), tables.end(), plan->inputs.front()) == tables.end() ||
      Conflicts(*plan, running_))
    return false;
  flushes_.push_back(plan);
  return true;
}

void CompactionSchedule::EndFlush() {
  if (flushes_.empty()) return;
  // A plan that is being chosen may have one of its tables.
  ended_flushes_ = is_choosing_ ? flushes_.size() : 0;
  if (!is_choosing_) flushes_.clear();
  NoteChange();
}

void CompactionSchedule::ForgetEndedFlushes() {
  flushes_.erase(flushes_.begin(), flushes_.begin() + static_cast<ptrdiff_t>(ended_flushes_));
  ended_flushes_ = 0;
}

bool CompactionSchedule::Begin(Job* job) {
  is_choosing_ = false;
  job->has_begun = true;
  if (job->plan != nullptr && Conflicts(*job->plan, flushes_)) {
    job->plan = nullptr;
    job->found_nothing = true;
  }
  ForgetEndedFlushes();
  if (job->found_nothing) idle_revision_ = job->revision;
  if (job->found_nothing && job->revision == revision_) may_have_expired_ = false;
  held_until_ = std::min(held_until_, job->held_until);
  if (job->is_rule_idle && job->revision == revision_) rent_is_due_ = false;
  if (job->request != nullptr) {
    if (job->found_nothing) {
      std::exchange(job->request, nullptr)->in_hand = false;
    } else {
      std::erase(requests_, job->request);
    }
  }
  if (job->plan == nullptr) return false;
  plans_since_ = job->plan->for_tombstones ? 0 : plans_since_ + 1;
  running_.push_back(job->plan);  // Reserve took the memory
  if (running_.size() <= most_running_) return false;
  most_running_ = running_.size();
  return true;
}

bool CompactionSchedule::IsOptional(const Job& job, const Version& version,
                                    const TreeOptions& options, HasSnapshotIn has_snapshot) const {
  if (job.plan != nullptr) return job.plan->for_readers || job.plan->for_tombstones;
  return job.request == nullptr && !IsAnyDue(version, options, running_, has_snapshot);
}

void CompactionSchedule::RestAfter(const Job& job) {
  if (job.plan == nullptr || job.plan->for_tombstones) rest_until_ = wall_seconds_ + kRestSeconds;
}

void CompactionSchedule::End(Job* job, absl::Status status) {
  if (!job->has_begun) Begin(job);
  std::erase(running_, job->plan);
  if (job->request != nullptr) {
    job->request->status = std::move(status);
    job->request->done = true;
  }
  if (!job->found_nothing) NoteChange();
}

void CompactionSchedule::Replace(Job* job, const std::shared_ptr<const CompactionPlan>& plan) {
  const auto running = std::find(running_.begin(), running_.end(), job->plan);
  if (plan->inputs.empty()) {
    running_.erase(running);
  } else {
    *running = plan;
  }
  job->plan = plan;
}

}  // namespace lsm
