#include "lsm/compaction/compaction_schedule.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lsm::inline TRELLIS_ABI {

void CompactionSchedule::Add(Request* request) {
  requests_.push_back(request);
  NoteChange();
}

void CompactionSchedule::Withdraw(Request* request) { std::erase(requests_, request); }

bool CompactionSchedule::MayFree(const Version& version) const {
  const bool runs = std::any_of(running_.begin(), running_.end(),
                                [](const auto& plan) { return plan->for_tombstones; });
  if (runs || rest_until_ != 0) return false;
  return rent_is_due_ || version.tombstone_gain() >= static_cast<double>(kBytesMergedPerJob) ||
         AgedTablesOf(version, wall_seconds_).any();
}

void CompactionSchedule::NoteTime(const Version& version, uint64_t wall_seconds) {
  const AgedTables before = AgedTablesOf(version, wall_seconds_);
  wall_seconds_ = wall_seconds;
  if (AgedTablesOf(version, wall_seconds) != before) NoteChange();
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
  if (std::none_of(version.needless().begin(), version.needless().end(),
                   [&](const NeedlessTable& needless) { return needless.IsHeld(is_it); }))
    return false;
  NoteChange();
  return true;
}

CompactionSchedule::Plans CompactionSchedule::StartChoosing(uint64_t paid_bytes,
                                                            uint64_t wall_seconds, Job* job) {
  Plans running = running_;
  NoteTime(*job->version, wall_seconds);
  job->revision = revision_;
  using Turn = PickMoment::Turn;
  PickMoment& moment = job->moment;
  moment.paid_bytes = paid_bytes;
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
    choice = PickCompaction(*job->version, options, running, moment);
  } else if (request->drops) {
    choice.plan =
        PickDrop(*job->version, running, job->snapshots, SpanOf(request->from, request->to));
  } else {
    choice.plan = PlanRange(*job->version, request->level, request->from, request->to);
  }
  job->held_until = choice.held_until;
  job->is_rule_idle = choice.is_rule_idle;
  for (const auto& [table, bytes] : choice.lacking)
    table->rent->SetPrice(table->rent->paid_bytes() + bytes);
  // While a request waits, no other compaction begins.  Otherwise the request might wait for ever.
  job->found_nothing =
      request == nullptr ? !choice.plan : choice.plan && Conflicts(*choice.plan, running);
  if (choice.plan && !job->found_nothing)
    job->plan = std::make_shared<const CompactionPlan>(*std::move(choice.plan));
}

bool CompactionSchedule::Begin(Job* job) {
  is_choosing_ = false;
  job->has_begun = true;
  if (job->found_nothing) idle_revision_ = job->revision;
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

bool CompactionSchedule::IsOptional(const Job& job, const Version& version, const Options& options,
                                    HasSnapshotIn has_snapshot) const {
  if (job.plan != nullptr) return job.plan->for_readers || job.plan->for_tombstones;
  return job.request == nullptr && !HasDrop(version, running_, has_snapshot) &&
         !DueLevel(version, options, running_);
}

void CompactionSchedule::RestAfter(const Job& job) {
  if (job.plan == nullptr || job.plan->for_tombstones) rest_until_ = wall_seconds_ + kRestSeconds;
}

void CompactionSchedule::End(Job* job, const absl::Status& status) {
  if (!job->has_begun) Begin(job);
  std::erase(running_, job->plan);
  if (job->request != nullptr) {
    job->request->status = status;
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
