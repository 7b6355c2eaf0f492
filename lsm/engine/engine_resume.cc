// Engine: what failed, and how the store recovers without being opened again.
#include <string>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

void Engine::AddFailure(FailureKind kind, const absl::Status& status) {
  if (!failures_.Add(kind, status)) return;
  counters_.Add(Counter::kBackgroundErrors, 1);
  Failure event;
  event.kind = kind;
  event.status = status;
  event.writes_stopped = kind == FailureKind::kLog || kind == FailureKind::kManifest;
  events_->Add(std::move(event));
  work_done_.SignalAll();
}

absl::Status Engine::Refusal(const absl::Status& failure) {
  return absl::AbortedError(
      Concat("the store takes no more writes after an earlier failure (DB::Resume tries to recover "
             "it): ",
             MessageOf(failure)));
}

absl::Status Engine::GetFailure() {
  MutexLock lock(&mutex_);
  TRELLIS_RETURN_IF_ERROR(CheckOpen());
  return failures_.First();
}

absl::Status Engine::Resume() {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::Resume"));
  TRELLIS_RETURN_IF_ERROR(CheckOpen());
  if (options_.mode == OpenMode::kReadOnly) return absl::OkStatus();  // nothing was written
  Writer resume{Writer::Task::kResume, nullptr, false, false, {}, {}};
  const Call call(this);
  TRELLIS_RETURN_IF_ERROR(call.status());
  const absl::Status status = Enqueue(&resume);
  // Also where nothing had failed: there may be space again.
  if (status.ok()) BuildReserves(Reserve::Effort::kInsist);
  return status;
}

// After a failure it is unknown what is in the log and in the manifest, and which manifest is the
// current one.  So none of them is used any more.  What readers see now, which is exactly what was
// acknowledged, is what the store goes on from: its memtables become tables, and there are a new
// log and a new manifest, as when a store is opened.
absl::Status Engine::RecoverFromFailures() {
  if (failures_.First().ok()) return absl::OkStatus();
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  is_recovering_ = true;
  while (flush_scheduled_ || compactions_ > 0 || next_log_ == NextLog::kBeingMade)
    scheduler_->Wait(&mutex_, &work_done_);
  // Only jobs and the writer whose turn it is replace views.
  const std::shared_ptr<const ReadView> view = current_view_;
  mutex_.Unlock();
  absl::Status forgotten;
  const auto start_over = [&] { return StartOver(*view, &forgotten); };
  absl::Status status = CatchOutOfMemory(start_over);
  if (IsDiskFull(status) && ReleaseReserves()) status = CatchOutOfMemory(start_over);
  mutex_.Lock();
  is_recovering_ = false;
  Resumed event;
  event.nanos = store_.environment.clock->MonotonicNanos() - from;
  event.status = status;
  events_->Add(std::move(event));
  schedule_.NoteChange();
  if (status.ok()) failures_.Clear();
  // The log that is there may have lost its name, and the next sync would not tell.
  if (!status.ok() && !forgotten.ok()) AddFailure(FailureKind::kLog, forgotten);
  ScheduleWork();
  work_done_.SignalAll();
  // Not what fails from here on, perhaps at once: an error would say that nothing was recovered,
  // and leave the outcome of the writes before it open.
  return status;
}

// `forgotten` is set to the failed sync of names, if there was one, on which from then on none may
// be relied.
absl::Status Engine::StartOver(const ReadView& view, absl::Status* forgotten) {
  forgotten->Update(store_.directory->ForgetFailedSync());
  forgotten->Update(store_.log_directory().ForgetFailedSync());
  TRELLIS_ASSIGN_OR_RETURN(const Current current, ReadCurrent(*store_.directory, kCurrentFileName));
  ManifestState state;
  state.digest_seed = digest_seed_;
  std::array<OpenTables, kLevels> levels;
  for (int i = 0; i < kLevels; ++i) levels[static_cast<size_t>(i)] = view.version->level(i);
  NewFiles made;
  for (auto sealed = view.sealed.rbegin(); sealed != view.sealed.rend(); ++sealed)
    TRELLIS_RETURN_IF_ERROR(FlushTo(**sealed, FlushReason::kResume, &levels, &made));
  if (!view.memtable->empty())
    TRELLIS_RETURN_IF_ERROR(FlushTo(*view.memtable, FlushReason::kResume, &levels, &made));
  return StartWriting(std::move(state), current.Encode(), std::move(levels), &made);
}

}  // namespace lsm
