#include "lsm/runtime/background_jobs.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

Scheduler::Lane LaneOf(BackgroundJobs::Job job) {
  switch (job) {
    case BackgroundJobs::Job::kFlush:
      return Scheduler::Lane::kFlush;
    case BackgroundJobs::Job::kScrub:
      return Scheduler::Lane::kScrub;
    case BackgroundJobs::Job::kCompaction:
    case BackgroundJobs::Job::kCollection:
      break;
  }
  return Scheduler::Lane::kCompaction;
}

}  // namespace

bool BackgroundJobs::MaySchedule(Job job, bool one_at_a_time) const {
  switch (job) {
    case Job::kFlush:
      return Count(job) == 0 && MayBegin() && failures_.Of(FailureKind::kFlush).ok();
    case Job::kCompaction: {
      const int limit = one_at_a_time ? std::min(1, compactions_max_) : compactions_max_;
      return Count(job) < limit && MayBegin() && failures_.Of(FailureKind::kCompaction).ok();
    }
    case Job::kCollection:
    case Job::kScrub:
      break;
  }
  return Count(job) == 0 && !is_stopping_;
}

bool BackgroundJobs::Schedule(Job job, std::optional<FailureKind> failure,
                              std::function<void()> run) {
  const absl::Status status = CatchOutOfMemory([&] {
    scheduler_->Schedule(LaneOf(job), std::move(run));
    return absl::OkStatus();
  });
  if (status.ok()) {
    ++counts_[static_cast<size_t>(job)];
  } else if (failure) {
    AddFailure(*failure, status);
  }
  return status.ok();
}

bool BackgroundJobs::ScheduleAgain(Job job, std::function<void()> run) {
  if (is_stopping_ || !Schedule(job, std::nullopt, std::move(run))) return false;
  --counts_[static_cast<size_t>(job)];
  return true;
}

void BackgroundJobs::End(Job job) {
  --counts_[static_cast<size_t>(job)];
  WakeAll();
}

void BackgroundJobs::AddFailure(FailureKind kind, const absl::Status& status) {
  if (on_taken_over_ != nullptr && IsTakenOver(status)) on_taken_over_(status);
  if (!failures_.Add(kind, status)) return;
  counters_.Add(Counter::kBackgroundErrors, 1);
  Failure event;
  event.kind = kind;
  event.status = status;
  event.writes_stopped = kind == FailureKind::kLog || kind == FailureKind::kManifest;
  events_.Add(std::move(event));
  WakeAll();
}

void BackgroundJobs::EndRecovery(bool has_recovered) {
  is_recovering_ = false;
  if (has_recovered) failures_.Clear();
}

void BackgroundJobs::Stop() {
  is_stopping_ = true;
  WakeAll();
}

}  // namespace lsm
