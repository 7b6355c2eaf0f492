// Engine: flushes, compactions, and how their outcome becomes what readers see.
#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/picker.h"
#include "lsm/engine/engine.h"
#include "lsm/events/job_events.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// How long a job waits for readers of what it made superfluous, before it lets others come first.
constexpr int kCollectTrials = 10;
constexpr uint64_t kCollectNanos = 1'000'000;

}  // namespace

bool Engine::MayBegin() {
  return !closing_.load(std::memory_order_relaxed) && !is_recovering_ &&
         failures_.OfLogOrManifest().ok();
}

void Engine::ScheduleWork() {
  if (!MayBegin()) return;
  ScheduleFlush();
  // While space is short one at a time, so that the reserve is enough.
  const int compactions_max = IsRoomShort() ? std::min(1, compactions_max_) : compactions_max_;
  if (!schedule_.MayChoose() || compactions_ >= compactions_max ||
      !failures_.Of(FailureKind::kCompaction).ok())
    return;
  const Version& version = *current_view_->version;
  const bool is_due = schedule_.IsDue(version, options_);
  if (!is_due && !level0_account_.IsPaid(version, options_, schedule_.running())) return;
  // A merge that only readers need is scheduled again by one of them.
  const std::optional<FailureKind> kind =
      is_due ? std::optional(FailureKind::kCompaction) : std::nullopt;
  if (!Schedule(Scheduler::Lane::kCompaction, kind, [this] { CompactOne(); })) return;
  schedule_.NoteScheduled();
  ++compactions_;
}

void Engine::NoteReads() {
  if (options_.mode == OpenMode::kReadOnly) return;
  const Level0Reads now = level0_account_.CountReads();
  if (!mutex_.TryLock()) return;
  // An iterator may outlive the store, which keeps its lock for as long as jobs may begin; and go
  // in a child that the process forked.
  if (MayBegin() && CatchOutOfMemory([this] { return CheckProcess(); }).ok()) {
    const Version& version = *current_view_->version;
    const RunningPlans running = schedule_.running();
    if (level0_account_.AddReads(now, version, options_, running)) schedule_.NoteChange();
    // Also if it was paid before: there may have been no memory to schedule it.
    if (level0_account_.IsPaid(version, options_, running)) ScheduleWork();
  }
  mutex_.Unlock();
}

void Engine::ScheduleFlush() {
  const bool flushes = !current_view_->sealed.empty();
  if (flush_scheduled_ || (!flushes && !NextLogIsDue() && !ReserveIsDue())) return;
  if (!MayBegin() || !failures_.Of(FailureKind::kFlush).ok()) return;
  // Without a log that is made ahead of time, or a larger reserve, nothing fails.
  const std::optional<FailureKind> kind =
      flushes ? std::optional(FailureKind::kFlush) : std::nullopt;
  flush_scheduled_ = Schedule(Scheduler::Lane::kFlush, kind, [this] { FlushOne(); });
}

bool Engine::NextLogIsDue() {
  const auto is_half_full = [this](const Memtable& memtable) {
    return memtable.memory_bytes() >= options_.write_buffer_bytes / 2;
  };
  const ReadView& view = *current_view_;
  return next_log_ == NextLog::kNotBegun &&
         (is_half_full(*view.memtable) ||
          (!view.sealed.empty() && is_half_full(*view.sealed.front())));
}

bool Engine::Schedule(Scheduler::Lane lane, std::optional<FailureKind> kind,
                      std::function<void()> job) {
  const absl::Status status = CatchOutOfMemory([&] {
    scheduler_->Schedule(lane, std::move(job));
    return absl::OkStatus();
  });
  if (!status.ok() && kind) AddFailure(*kind, status);
  return status.ok();
}

void Engine::FinishJob(FailureKind kind, const absl::Status& status, Compaction* compaction) {
  {
    MutexLock lock(&mutex_);
    const bool gave_up = absl::IsAborted(status) && closing_.load(std::memory_order_relaxed);
    const bool is_failure = !status.ok() && !gave_up;
    if (is_failure && compaction != nullptr && !absl::IsAborted(status) &&
        !absl::IsDataLoss(status) &&
        schedule_.IsForReadersAlone(*compaction, *current_view_->version, options_)) {
      // A store that is only read must not fail for lack of space.  Readers pay again before the
      // next attempt.  A failure of the manifest was counted when it was noted.
      if (failures_.OfLogOrManifest().ok()) counters_.Add(Counter::kBackgroundErrors, 1);
      level0_account_.Forfeit();
    } else if (is_failure) {
      AddFailure(kind, status);
    }
    if (compaction != nullptr) {
      const CompactionPlan* const plan = compaction->plan.get();
      if (plan != nullptr && plan->level == 0) level0_account_.NoteMerge();
      if (plan != nullptr && plan == level0_plan_) {
        level0_plan_ = nullptr;
        level0_room_.End(store_.environment.clock->MonotonicNanos(), status.ok());
      }
      schedule_.End(compaction, status);
      ScheduleWork();
    } else if (flush_room_.runs()) {
      flush_room_.End(store_.environment.clock->MonotonicNanos(), status.ok());
    }
  }
  if (compaction != nullptr) *compaction = {};  // holds tables that may be obsolete
  // Without the lock: closes tables, removes files.
  const size_t views = CollectPatiently();
  BuildReserves(Reserve::Effort::kUsual);
  events_->Deliver();
  MutexLock lock(&mutex_);
  if (kind == FailureKind::kFlush) {
    flush_scheduled_ = false;
  } else {
    --compactions_;
  }
  if (views > 0) ScheduleCollection();
  ScheduleWork();
  work_done_.SignalAll();
}

size_t Engine::CollectPatiently() {
  size_t views = CollectGarbage();
  for (int i = 0; views > 0 && i < kCollectTrials && !closing_.load(std::memory_order_relaxed);
       ++i) {
    scheduler_->Pause(kCollectNanos);
    views = CollectGarbage();
  }
  return views;
}

void Engine::ScheduleCollection() {
  if (collection_scheduled_ || closing_.load(std::memory_order_relaxed)) return;
  const auto collect = [this] {
    const size_t views = CollectPatiently();
    MutexLock lock(&mutex_);
    collection_scheduled_ = false;
    if (views > 0) ScheduleCollection();
    work_done_.SignalAll();
  };
  // Where there is no memory for it, the next job collects.
  collection_scheduled_ = Schedule(Scheduler::Lane::kCompaction, std::nullopt, collect);
}

bool Engine::BeginFlush() {
  if (current_view_->sealed.empty()) return false;
  flush_room_.Begin(store_.environment.clock->MonotonicNanos(),
                    current_view_->sealed.back()->memory_bytes());
  return true;
}

template <typename Job>
absl::Status Engine::WithReserve(const Job& job) {
  const uint64_t releases = counters_.SumOf(Counter::kReserveReleases);
  absl::Status status = CatchOutOfMemory(job);
  if (!IsDiskFull(status)) return status;
  {
    // DB::Resume, which begins other files, releases it then.
    MutexLock lock(&mutex_);
    if (!failures_.OfLogOrManifest().ok()) return status;
  }
  // Another job may have released it meanwhile.
  const bool has_more = ReleaseReserves() || counters_.SumOf(Counter::kReserveReleases) != releases;
  return has_more ? CatchOutOfMemory(job) : status;
}

void Engine::FlushOne() {
  bool flushes = false;
  {
    MutexLock lock(&mutex_);
    flushes = BeginFlush();
  }
  // Before the flush: the writer that fills the next memtable goes on as soon as that is done.
  PrepareLog(/*seal_is_near=*/false);
  absl::Status status;
  if (flushes) status = WithReserve([this] { return FlushOldest(); });
  FinishJob(FailureKind::kFlush, status);
}

void Engine::PrepareLog(bool seal_is_near) {
  uint64_t number = 0;
  {
    MutexLock lock(&mutex_);
    const bool is_due = NextLogIsDue() || (seal_is_near && next_log_ == NextLog::kNotBegun &&
                                           !current_view_->memtable->empty());
    if (!MayBegin() || !is_due) return;
    next_log_ = NextLog::kBeingMade;
    number = manifest_.NewFileNumber();
  }
  // Its failure concerns no one yet: the writer that needs the log makes it, and gets the error.
  CatchOutOfMemory([&] {
    const uint64_t file_id = LogFileId(log_seed_, number);
    std::optional<NewFiles> made(std::in_place);
    const absl::Status status = CatchOutOfMemory([&] {
      return made->AddMade(&store_.log_directory(), LogFileName(number),
                           [&] { return logs_.Prepare(number, file_id); });
    });
    if (status.ok()) {
      made->Keep();
      return status;
    }
    // A thread that verifies the logs under this lock must find each file whose name it has seen.
    MutexLock manifest_lock(manifest_.mutex());
    made.reset();
    return status;
  }).IgnoreError();
  MutexLock lock(&mutex_);
  next_log_ = NextLog::kTried;
  work_done_.SignalAll();
}

absl::Status Engine::FlushOldest() {
  JobStart start;
  Sequence last_sequence = 0;
  FlushReason reason = FlushReason::kMemtable;
  uint64_t next_log = 0;
  {
    MutexLock lock(&mutex_);
    start = BeginJob();
    last_sequence = memtable_logs_[0].last_sequence;
    reason = memtable_logs_[0].reason;
    next_log = memtable_logs_[1].number;
  }
  const std::shared_ptr<const Memtable> memtable = start.view->sealed.back();  // the oldest
  TRELLIS_ASSIGN_OR_RETURN(const TableFilter filter,
                           PlanFlush(job_context_, *start.view->version, memtable->entry_count()));
  start.view.reset();  // holds tables that a compaction may make superfluous meanwhile
  return WithFlushEvents(
      events_.get(), store_.environment.clock, reason, *memtable, [&](JobResult* result) {
        return FlushMemtable(*memtable, filter, last_sequence, next_log, start.snapshots, result);
      });
}

absl::Status Engine::FlushMemtable(const Memtable& memtable, const TableFilter& filter,
                                   Sequence last_sequence, uint64_t next_log,
                                   const SnapshotList& snapshots, JobResult* result) {
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  const std::unique_ptr<Iterator> entries = memtable.NewIterator();
  // The manifest will demand that the next log is there.
  TRELLIS_RETURN_IF_ERROR(logs_.SyncNames());
  TRELLIS_ASSIGN_OR_RETURN(*result, RunFlush(job_context_, *entries, filter, snapshots));
  VersionEdit edit;
  edit.oldest_log = next_log;
  edit.last_sequence = last_sequence;
  for (const auto& table : result->outputs) edit.added.push_back({0, table->meta});
  TRELLIS_RETURN_IF_ERROR(ApplyEdit(std::move(edit), result->outputs, [&](ReadView* view) {
    view->sealed.pop_back();
    // A caller that waits for the flush is woken by the view, and must find it counted.
    counters_.Add(Counter::kFlushes, 1);
    counters_.Add(Counter::kFlushBytesWritten, result->bytes_written);
    counters_.Add(Counter::kFlushNanos, store_.environment.clock->MonotonicNanos() - from);
  }));
  {
    MutexLock lock(&mutex_);
    memtable_logs_.erase(memtable_logs_.begin());
  }
  logs_.Remove(next_log);
  return absl::OkStatus();
}

void Engine::CompactOne() {
  Compaction compaction;
  absl::Status status = CatchOutOfMemory([&] { return ChooseCompaction(&compaction); });
  if (status.ok()) BeginCompaction(&compaction);
  if (compaction.plan != nullptr) {
    const CompactionReason reason = compaction.request != nullptr  ? CompactionReason::kRequest
                                    : compaction.plan->for_readers ? CompactionReason::kReaders
                                                                   : CompactionReason::kLevel;
    status = CatchOutOfMemory([&] {
      return WithCompactionEvents(
          events_.get(), store_.environment.clock, reason, *compaction.plan,
          [&](JobResult* result) {
            const auto compact = [&] { return Compact(&compaction, result); };
            // Those for readers are not worth the reserve.
            return compaction.plan->for_readers ? compact() : WithReserve(compact);
          });
    });
  }
  FinishJob(FailureKind::kCompaction, status, &compaction);
}

absl::Status Engine::ChooseCompaction(Compaction* compaction) {
  CompactionSchedule::Plans running;
  uint64_t paid_bytes = 0;
  {
    MutexLock lock(&mutex_);
    JobStart start = BeginJob();
    compaction->version = start.view->version;  // not the view, which holds memtables too
    compaction->snapshots = std::move(start.snapshots);
    running = schedule_.StartChoosing(compaction);
    paid_bytes = level0_account_.paid_bytes();
  }
  // Plans that end meanwhile change nothing: this one leaves alone what they took and wrote.
  const Version& version = *compaction->version;
  const CompactionSchedule::Request* const request = compaction->request;
  std::optional<CompactionPlan> plan =
      request != nullptr ? PlanRange(version, request->level, request->from, request->to)
                         : PickCompaction(version, options_, running, paid_bytes);
  if (closing_.load(std::memory_order_relaxed)) return absl::OkStatus();
  // While a request waits, no other compaction begins, or the request might wait for ever.
  compaction->found_nothing = request == nullptr ? !plan : plan && Conflicts(*plan, running);
  if (plan && !compaction->found_nothing)
    compaction->plan = std::make_shared<const CompactionPlan>(*std::move(plan));
  return absl::OkStatus();
}

void Engine::BeginCompaction(Compaction* compaction) {
  MutexLock lock(&mutex_);
  if (schedule_.Begin(compaction)) counters_.Add(Counter::kCompactionsAtOnce, 1);
  const CompactionPlan* const plan = compaction->plan.get();
  if (plan != nullptr && plan->level == 0) {
    level0_account_.Spend(*plan);
    if (!plan->trivial_move && level0_plan_ == nullptr) {
      level0_plan_ = plan;
      level0_room_.Begin(store_.environment.clock->MonotonicNanos(), BytesTakenBy(*plan));
    }
  }
  ScheduleWork();
}

absl::Status Engine::CompactPlan(const Version& version, const CompactionPlan& plan,
                                 const SnapshotList& snapshots, JobResult* result) {
  if (plan.trivial_move && !MoveKeepsTooMuch(job_context_, version, plan)) {
    counters_.Add(Counter::kTrivialMoves, 1);
    counters_.Add(Counter::kCompactionsForReaders, plan.for_readers);
    return ApplyEdit(EditOf(plan, nullptr), {}, nullptr);
  }
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  const auto stop = [this] { return closing_.load(std::memory_order_relaxed); };
  TRELLIS_ASSIGN_OR_RETURN(*result, RunCompaction(job_context_, version, plan, snapshots, stop));
  TRELLIS_RETURN_IF_ERROR(ApplyCompaction(plan, *result, nullptr));
  counters_.Add(Counter::kCompactions, 1);
  counters_.Add(Counter::kCompactionsForReaders, plan.for_readers);
  counters_.Add(Counter::kCompactionNanos, store_.environment.clock->MonotonicNanos() - from);
  return absl::OkStatus();
}

absl::Status Engine::ApplyCompaction(const CompactionPlan& plan, const JobResult& result,
                                     const std::function<void(ReadView*)>& change) {
  ObsoleteFiles::Tables superseded;
  for (const auto& table : TablesRemovedBy(plan))
    superseded.emplace_back(table->meta.number, table);
  TRELLIS_RETURN_IF_ERROR(ApplyEdit(EditOf(plan, &result), result.outputs, change));
  obsolete_.Add(std::move(superseded));
  counters_.Add(Counter::kCompactionBytesRead, result.bytes_read);
  counters_.Add(Counter::kCompactionBytesWritten, result.bytes_written);
  return absl::OkStatus();
}

absl::Status Engine::ApplyEdit(VersionEdit edit, const OpenTables& outputs,
                               const std::function<void(ReadView*)>& change) {
  NewFiles made;  // until the manifest may name them
  for (const auto& table : outputs)
    made.Add(store_.directory.get(), TableFileName(table->meta.number));
  MutexLock manifest_lock(manifest_.mutex());
  TRELLIS_RETURN_IF_ERROR(manifest_.status());
  std::shared_ptr<const Version> base;
  {
    MutexLock lock(&mutex_);
    base = current_view_->version;
  }
  edit.next_file_number = manifest_.next_file_number();
  std::shared_ptr<const Version> version = base;
  if (!edit.added.empty() || !edit.removed.empty()) {
    TRELLIS_ASSIGN_OR_RETURN(version, Version::Create(LevelsAfter(*base, edit, outputs)));
  }
  if (version == base && change == nullptr) return manifest_.Record(edit);
  // What is recorded must become visible, so the view has its memory beforehand.
  const auto view = std::make_shared<ReadView>();
  ReadViewCell::Prepared prepared;
  {
    MutexLock lock(&mutex_);
    view->sealed.reserve(current_view_->sealed.size() + 1);
    prepared = view_.Prepare(view);
  }
  made.Keep();
  TRELLIS_RETURN_IF_ERROR(manifest_.Record(edit));
  MutexLock lock(&mutex_);
  // Only a holder of the manifest's mutex changes the version.  A writer may have sealed a memtable
  // meanwhile, but no more than one as long as none is removed.
  assert(current_view_->sealed.size() <= view->sealed.capacity());
  *view = *current_view_;
  view->version = std::move(version);
  if (change != nullptr) change(view.get());
  PublishView(std::move(prepared));
  return absl::OkStatus();
}

size_t Engine::CollectGarbage() {
  const size_t views = view_.Collect();
  if (!obsolete_.empty()) obsolete_.RemoveUnused();
  events_->Deliver();
  return views;
}

absl::Status Engine::RequestRange(CompactionSchedule::Request* request) {
  MutexLock lock(&mutex_);
  schedule_.Add(request);
  ScheduleWork();
  while (!request->done) {
    // After a failure nothing is begun any more; what was begun is waited for, since it uses the
    // request.
    absl::Status failure =
        failures_.FirstOf({FailureKind::kLog, FailureKind::kManifest, FailureKind::kCompaction});
    failure.Update(CheckOpen());
    if (!failure.ok() && !request->in_hand) {
      schedule_.Withdraw(request);
      return failure;
    }
    scheduler_->Wait(&mutex_, &work_done_);
  }
  // Close ended it early, or before it was begun.
  TRELLIS_RETURN_IF_ERROR(CheckOpen());
  return request->status;
}

absl::Status Engine::CompactRange(std::optional<std::string_view> from,
                                  std::optional<std::string_view> to) {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::CompactRange"));
  const Call call(this);
  TRELLIS_RETURN_IF_ERROR(call.status());
  TRELLIS_RETURN_IF_ERROR(Flush());
  if (from && to && *from >= *to) return absl::OkStatus();
  const auto deepest_level = [this] {
    const EpochGuard guard;
    return view_.Load()->version->deepest_level();
  };
  for (int level = 0; level < kLevels; ++level) {
    // The last level has nothing to go down to: what is in it is rewritten where it is.
    CompactionSchedule::Request request{level, from, to};
    TRELLIS_RETURN_IF_ERROR(RequestRange(&request));
    // Looked at afterwards: while the request waited, another job may have moved it down.
    if (level > 0 && level >= deepest_level()) break;
  }
  return absl::OkStatus();
}

absl::Status Engine::WaitForBackgroundWork() {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::WaitForBackgroundWork"));
  const Call call(this);
  TRELLIS_RETURN_IF_ERROR(call.status());
  MutexLock lock(&mutex_);
  while (flush_scheduled_ || compactions_ > 0) scheduler_->Wait(&mutex_, &work_done_);
  return failures_.First();
}

}  // namespace lsm
