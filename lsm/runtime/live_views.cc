#include "lsm/runtime/live_views.h"

#include <optional>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// How long a job waits for readers of obsolete views and tables before it ends.
constexpr int kCollectTrials = 10;
constexpr uint64_t kCollectNanos = 1'000'000;

}  // namespace

void LiveViews::LetGo(std::shared_ptr<const ReadView> view) {
  // If others hold the view, one of them will be the last.
  const std::weak_ptr<const ReadView> left = view;
  if (view.use_count() > 1) view.reset();
  // Freeing the view's memtables and files may take long: a job does it.
  if (view != nullptr && Retire(&view)) return;
  view.reset();
  if (left.expired() && !obsolete_.empty()) Collect();
}

bool LiveViews::Retire(std::shared_ptr<const ReadView>* view) {
  Prepared last;
  const absl::Status prepared = CatchOutOfMemory([&] {
    // In a forked child, a thread that does not exist there may hold the lock.
    TRELLIS_RETURN_IF_ERROR(store_.CheckHolder());
    last = Prepare(*view);
    return absl::OkStatus();
  });
  if (!prepared.ok()) return false;
  MutexLock lock(mutex_);
  // Closing waits, under this lock, for jobs that were scheduled before.
  if (!jobs_->TakesJobs()) return false;
  view->reset();
  cell_.Retire(std::move(last));
  ScheduleCollection();
  return true;
}

bool LiveViews::Publish(Prepared prepared) {
  const bool is_other_version = current_ == nullptr || current_->version != (*prepared)->version;
  current_ = *prepared;
  if (refusal_.ok()) cell_.Publish(std::move(prepared));
  return is_other_version;
}

void LiveViews::NoteLock(Lock which, const absl::Status& state) {
  if (IsTakenOver(refusal_) || current_ == nullptr) return;
  locks_[static_cast<size_t>(which)] = state;
  const absl::Status& refusal = IsTakenOver(locks_[1]) || locks_[0].ok() ? locks_[1] : locks_[0];
  if (!refusal.ok()) {
    if (refusal_.ok()) cell_.Close();
    refusal_ = refusal;
  } else if (!refusal_.ok()) {
    const std::shared_ptr<const ReadView> view = current_;
    Prepared again;
    const absl::Status prepared = CatchOutOfMemory([&] {
      again = Prepare(view);
      return absl::OkStatus();
    });
    if (!prepared.ok()) return;  // the next call admits the readers
    refusal_ = absl::OkStatus();
    cell_.Publish(std::move(again));
  }
}

absl::Status LiveViews::WhyNone() const {
  // In a forked child, a thread that does not exist there may hold the lock.
  TRELLIS_RETURN_IF_ERROR(store_.CheckHolder());
  {
    MutexLock lock(mutex_);
    if (!refusal_.ok() && !lifetime_.is_closing()) return refusal_;
  }
  return StoreIsClosed();
}

size_t LiveViews::Collect() {
  const size_t views = cell_.Collect();
  if (!obsolete_.empty()) obsolete_.RemoveUnused();
  events_.Deliver();
  return views;
}

size_t LiveViews::CollectPatiently() {
  size_t views = Collect();
  for (int i = 0; views > 0 && i < kCollectTrials && !lifetime_.is_closing(); ++i) {
    scheduler_->Pause(kCollectNanos);
    views = Collect();
  }
  return views;
}

void LiveViews::CollectToTheEnd() {
  if (CollectPatiently() == 0) return;
  MutexLock lock(mutex_);
  ScheduleCollection();
}

void LiveViews::ScheduleCollection() {
  if (!jobs_->MaySchedule(BackgroundJobs::Job::kCollection)) return;
  // If there is no memory for this job, the next job collects.
  jobs_->Schedule(BackgroundJobs::Job::kCollection, std::nullopt, [this] { RunCollection(); });
}

void LiveViews::RunCollection() {
  CollectPatiently();
  MutexLock lock(mutex_);
  // Asked under the lock: a reader that retires a view from now on finds that no job is scheduled.
  // One that has retired it since the last collection relies on this job.
  const bool goes_on =
      cell_.CountRetired() > 0 &&
      jobs_->ScheduleAgain(BackgroundJobs::Job::kCollection, [this] { RunCollection(); });
  if (!goes_on) jobs_->End(BackgroundJobs::Job::kCollection);
}

void LiveViews::Close() {
  cell_.Close();
  cell_.Collect();
  obsolete_.RemoveUnused();
  // Another store may soon have files of the same names; the next opening removes files that are
  // left.
  obsolete_.Close();
}

}  // namespace lsm
