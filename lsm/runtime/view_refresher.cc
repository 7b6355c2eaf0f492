#include "lsm/runtime/view_refresher.h"

#include <utility>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kPauseNanos = 500'000'000;

}  // namespace

absl::StatusOr<bloom::DigestSeed> ViewRefresher::Begin() {
  MutexLock lock(&refresh_mutex_);
  return follower_->Begin();
}

absl::Status ViewRefresher::Start() {
  TRELLIS_RETURN_IF_ERROR(Refresh());
  TRELLIS_ASSIGN_OR_RETURN(thread_, RepeatingThread::Start(kPauseNanos, [this] {
                             Refresh().IgnoreError();  // status() has it
                           }));
  return absl::OkStatus();
}

void ViewRefresher::Stop() {
  thread_ = nullptr;
  MutexLock lock(&refresh_mutex_);
  follower_ = nullptr;
}

absl::Status ViewRefresher::Refresh() {
  const uint64_t from = parts_.clock->MonotonicNanos();
  const absl::Status status = CatchOutOfMemory([this] {
    MutexLock lock(&refresh_mutex_);
    return RefreshAlone();
  });
  // Relaxed: it orders nothing.
  if (status.ok()) refreshed_nanos_.store(from, std::memory_order_relaxed);
  Note(status);
  // Frees views that no reader uses any more, and delivers events.
  parts_.views->Collect();
  return status;
}

absl::Status ViewRefresher::RefreshAlone() {
  TRELLIS_ASSIGN_OR_RETURN(StoreFollower::View followed, follower_->Refresh(*parts_.context));
  if (followed.went_back) {
    ViewWentBack event;
    event.from_sequence = followed.went_back->from;
    event.to_sequence = followed.went_back->to;
    parts_.events->Add(event);
  }
  if (IsCurrent(followed)) return absl::OkStatus();
  const auto view = std::make_shared<ReadView>();
  view->memtable = std::make_shared<Memtable>();  // takes no writes
  view->sealed = std::move(followed.memtables);
  view->version = std::move(followed.version);
  view->keyspaces = std::move(followed.keyspaces);
  view->sequence_max = followed.sequence;
  LiveViews::Prepared prepared = parts_.views->Prepare(view);
  MutexLock lock(mutex_);
  parts_.views->AssertHeld();
  parts_.keyspaces->AssertHeld();
  // First the flags of dropped keyspaces, then the view.  A reader loads the view first.
  const std::shared_ptr<const ReadView>& last = parts_.views->Current();
  if (last == nullptr || last->keyspaces != view->keyspaces) {
    TRELLIS_ASSIGN_OR_RETURN(Keyspaces::NextView next,
                             parts_.keyspaces->PrepareView(*view->keyspaces, path_));
    parts_.keyspaces->Apply(std::move(next));
  }
  parts_.views->ShowUpTo(kSequenceMax);  // the view says how far
  parts_.views->Publish(std::move(prepared));
  sequences_->Start(view->sequence_max);
  return absl::OkStatus();
}

bool ViewRefresher::IsCurrent(const StoreFollower::View& followed) {
  MutexLock lock(mutex_);
  parts_.views->AssertHeld();
  const std::shared_ptr<const ReadView>& view = parts_.views->Current();
  return view != nullptr && view->version == followed.version &&
         view->keyspaces == followed.keyspaces && view->sequence_max == followed.sequence &&
         view->sealed == followed.memtables;
}

void ViewRefresher::Note(const absl::Status& status) {
  MutexLock lock(&status_mutex_);
  if (!status.ok() && status_.ok()) parts_.counters->Add(Counter::kBackgroundErrors, 1);
  status_ = status;
}

absl::Status ViewRefresher::status() {
  MutexLock lock(&status_mutex_);
  return status_;
}

}  // namespace lsm
