// Engine: how the store recovers from failures without being opened again.
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status Engine::GetFailure() {
  MutexLock lock(&mutex_);
  TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
  return refresher_ != nullptr ? refresher_->status() : jobs_.failures().First();
}

absl::Status Engine::Resume() {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::Resume"));
  TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
  const Call call(&lifetime_);
  TRELLIS_RETURN_IF_ERROR(call.status());
  if (refresher_ != nullptr) return refresher_->Refresh();
  if (IsForReading(options_.mode)) return absl::OkStatus();  // nothing was written
  Writer resume{Writer::Task::kResume};
  const absl::Status status = Enqueue(&resume);
  // Also if nothing had failed: there may be space again.
  if (status.ok()) BuildReserves(Reserve::Effort::kInsist);
  return status;
}

// After a failure it is unknown what is in the log and in the manifest, and which manifest is the
// current one.  So none of them is used any more.  The store continues from what readers see now,
// which is exactly what was acknowledged: the memtables become tables, and there are a new log and
// a new manifest, as when a store is opened.
absl::Status Engine::RecoverFromFailures() {
  const absl::Status failure = jobs_.failures().First();
  if (failure.ok() || IsTakenOver(failure)) return failure;
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  jobs_.BeginRecovery();
  while (jobs_.HasFlushOrCompaction() || memtable_logs_.is_next_being_made()) jobs_.Wait(&mutex_);
  // Only jobs and the writer whose turn it is replace views.
  const std::shared_ptr<const ReadView> view = CurrentView();
  mutex_.Unlock();
  absl::Status forgotten;
  const auto start_over = [&] { return StartOver(*view, &forgotten); };
  absl::Status status = CatchOutOfMemory(start_over);
  if (IsDiskFull(status) && reserves_.Release()) status = CatchOutOfMemory(start_over);
  mutex_.Lock();
  Resumed event;
  event.nanos = store_.environment.clock->MonotonicNanos() - from;
  event.status = status;
  events_->Add(std::move(event));
  schedule_.NoteChange();
  jobs_.EndRecovery(status.ok());
  // The existing log may have lost its name, and the next sync would not report that.
  if (!status.ok() && !forgotten.ok()) jobs_.AddFailure(FailureKind::kLog, forgotten);
  if (IsTakenOver(status)) jobs_.AddFailure(FailureKind::kLog, status);
  ScheduleWork();
  jobs_.WakeAll();
  // Failures from here on, even immediate ones, are not returned: an error would say that nothing
  // was recovered, and leave the outcome of earlier writes open.
  return status;
}

// Sets `forgotten` to the error of a failed sync of names, if there was one.  From then on the
// names that the sync was for cannot be relied on.
absl::Status Engine::StartOver(const ReadView& view, absl::Status* forgotten) {
  forgotten->Update(store_.directory->ForgetFailedSync());
  forgotten->Update(store_.log_directory().ForgetFailedSync());
  TRELLIS_ASSIGN_OR_RETURN(const Current current, ReadCurrent(*store_.directory, kCurrentFileName));
  ManifestState state;
  state.digest_seed = job_context_.digest_seed;
  std::array<OpenTables, kLevels> levels = view.version->Levels();
  NewFiles made;
  for (auto sealed = view.sealed.rbegin(); sealed != view.sealed.rend(); ++sealed)
    TRELLIS_RETURN_IF_ERROR(
        FlushTo(**sealed, FlushReason::kResume, (*sealed)->last_number(), &levels, &made));
  if (!view.memtable->empty())
    TRELLIS_RETURN_IF_ERROR(FlushTo(*view.memtable, FlushReason::kResume,
                                    view.memtable->last_number(), &levels, &made));
  return StartWriting(std::move(state), current.Encode(), std::move(levels), &made);
}

}  // namespace lsm
