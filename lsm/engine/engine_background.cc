// Engine: flushes, compactions, and how their outcome becomes visible.
#include <algorithm>
#include <cassert>
#include <functional>
#include <new>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/compaction/compaction_run.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/compaction/flush_run.h"
#include "lsm/compaction/level0_account.h"
#include "lsm/compaction/picker.h"
#include "lsm/engine/engine.h"
#include "lsm/events/job_events.h"
#include "lsm/fs/file_names.h"
#include "lsm/runtime/early_seal.h"
#include "lsm/threads/epoch.h"
#include "lsm/version/common_keys.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// `tree` may be null.
void AddTablesOf(const Tree* tree, ObsoleteFiles::Tables* tables) {
  for (int level = 0; tree != nullptr && level < kLevels; ++level) {
    for (const auto& table : tree->level(level)) tables->emplace_back(table->meta.number, table);
  }
}

ObsoleteFiles::Tables ByNumber(const OpenTables& tables) {
  ObsoleteFiles::Tables by_number;
  for (const auto& table : tables) by_number.emplace_back(table->meta.number, table);
  return by_number;
}

// nullopt: there is none.
std::optional<KeyspaceRecord> RecordIn(const ManifestState& state, KeyspaceId id) {
  const auto found = state.keyspaces.all().find(id);
  return found == state.keyspaces.all().end() ? std::nullopt : std::optional(found->second);
}

// Whether to seal the memtable for the drop of this keyspace (Keyspaces::LargestDropped).  If
// another memtable is sealed, the drop may be in that one, and then its flush removes the tree.
bool IsDropLeft(const ReadView& view, KeyspaceId dropped, const Options& options) {
  return dropped != kDefaultKeyspace && view.sealed.empty() && IsDropDue(view, dropped, options);
}

// Whether readers have paid for a merge in any tree.
bool IsAnyPaid(const Version& version, const TreeOptions& options, RunningPlans running) {
  return std::any_of(version.trees().begin(), version.trees().end(), [&](const auto& entry) {
    const Tree& tree = *entry.tree;
    return options.IsCompacted(tree) && Level0Account(tree).IsPaid(options.Of(tree), running);
  });
}

// Adds up the counts of each tree's readers so far, for ChargeReaders.
void CountReaders(const Version& version, const Counters& counters) {
  for (const auto& [id, tree] : version.trees()) {
    const Level0Account account(*tree);
    account.Note(account.CountReads(counters));
  }
}

// Charges the readers of all trees, and tells the schedule if that may make work due.
void ChargeReaders(const Version& version, const TreeOptions& options,
                   CompactionSchedule* schedule) {
  for (const auto& [id, tree] : version.trees()) {
    const Level0Account account(*tree);
    if (account.TakeRent()) schedule->NoteRent();
    if (options.IsCompacted(*tree) && account.Charge(options.Of(*tree), schedule->running()))
      schedule->NoteChange();
  }
}

// Calls `act` with the account of the plan's tree; null: with those of all trees.  A tree that is
// gone has no account.
void ForAccounts(const Version& version, const CompactionPlan* plan,
                 absl::FunctionRef<void(const Level0Account& account)> act) {
  for (const auto& [id, tree] : version.trees()) {
    if (plan == nullptr || plan->keyspace == id) act(Level0Account(*tree));
  }
}

}  // namespace

void Engine::PublishView(LiveViews::Prepared prepared) {
  views_.AssertHeld();
  if (views_.Publish(std::move(prepared))) schedule_.NoteChange();
  jobs_.WakeAll();
}

void Engine::ScheduleWork() {
  if (!jobs_.MayBegin()) return;
  ScheduleFlush();
  // While space is short, compactions run one at a time, so that the reserve is enough.
  if (!schedule_.MayChoose() || !jobs_.MaySchedule(Job::kCompaction, reserves_.IsShort())) return;
  const Version& version = *CurrentView()->version;
  keyspaces_.AssertHeld();
  const TreeOptions tree_options(options_, &keyspaces_.own_options(), &keyspaces_.dropped());
  const bool is_due = schedule_.IsDue(version, tree_options, sequences_.HasSnapshotIn());
  if (!is_due && !schedule_.may_have_expired() && !schedule_.MayFree(version) &&
      !IsAnyPaid(version, tree_options, schedule_.running()))
    return;
  // A merge that only readers or tombstones need is scheduled again by a later look (NoteReads).
  const std::optional<FailureKind> failure =
      is_due ? std::optional(FailureKind::kCompaction) : std::nullopt;
  if (jobs_.Schedule(Job::kCompaction, failure, [this] { CompactOne(); }))
    schedule_.NoteScheduled();
}

void Engine::NoteReads(bool is_look) {
  if (IsForReading(options_.mode)) return;
  CatchOutOfMemory([this] {
    const EpochGuard guard;
    if (const ReadView* const view = views_.Load(); view != nullptr)
      CountReaders(*view->version, counters_);
    return absl::OkStatus();
  }).IgnoreError();
  const uint64_t wall_seconds = is_look ? WallSecondsOf(*store_.environment.clock) : 0;
  std::optional<SnapshotList> snapshots;
  std::optional<Keyspaces::UnrecordedLimits> limits;
  if (is_look) {
    mutex_.Lock();
  } else if (!mutex_.TryLock()) {
    return;
  }
  // An iterator may end after the store was closed, or in a forked child.  While jobs may begin,
  // the store has its lock, which CheckProcess asks.
  const bool may_begin =
      jobs_.MayBegin() && CatchOutOfMemory([this] { return CheckProcess(); }).ok();
  if (may_begin) {
    const Version& version = *CurrentView()->version;
    keyspaces_.AssertHeld();
    const TreeOptions tree_options(options_, &keyspaces_.own_options(), &keyspaces_.dropped());
    ChargeReaders(version, tree_options, &schedule_);
    if (is_look) schedule_.NoteTime(version, wall_seconds);
    if (is_look && keyspaces_.MayHaveExpired(version)) schedule_.NoteExpired();
    try {
      if (is_look) limits = keyspaces_.Unrecorded();
      if (is_look) snapshots = keyspaces_.ForJob(sequences_);
    } catch (const std::bad_alloc&) {
      // The next look seals the memtable, if it is due.
    }
    // Also if there was work before: there may have been no memory to schedule it.
    if (IsAnyPaid(version, tree_options, schedule_.running()) || schedule_.may_have_expired() ||
        schedule_.MayFree(version))
      ScheduleWork();
  }
  mutex_.Unlock();
  if (!snapshots) return;
  SealIfDue([&](const ReadView& view, const SnapshotList&) {
    // While a memtable is sealed, its flush may be the one that records the change.
    const bool may_record = limits && view.sealed.empty();
    return IsSealDue(view, views_.VisibleIn(view), *snapshots,
                     store_.environment.clock->MonotonicNanos(), job_context_.digest_seed,
                     options_) ||
           (may_record && AreLimitsDue(view, limits->present, limits->recorded, options_));
  });
}

void Engine::SealIfDue(IsDue is_due) {
  std::shared_ptr<const ReadView> view;
  KeyspaceId dropped = kDefaultKeyspace;  // none
  bool seals = false;
  CatchOutOfMemory([&] {
    SnapshotList snapshots;
    {
      MutexLock lock(&mutex_);
      const auto level0_stop_tables = static_cast<size_t>(options_.level0_stop_tables);
      keyspaces_.AssertHeld();
      if (!jobs_.MayBegin() ||
          keyspaces_.FullestTree(*CurrentView()->version).level0_tables() >= level0_stop_tables)
        return absl::OkStatus();
      snapshots = sequences_.Snapshots();
      view = CurrentView();
      dropped = keyspaces_.LargestDropped(*view->version);
    }
    seals = IsDropLeft(*view, dropped, options_) || is_due(*view, snapshots);
    return absl::OkStatus();
  }).IgnoreError();
  if (view == nullptr) return;
  if (seals) {
    MutexLock lock(&mutex_);
    if (jobs_.MayBegin() && CurrentView()->memtable == view->memtable) {
      memtable_logs_.WantSeal();
      ScheduleFlush();
    }
  }
  views_.LetGo(std::move(view));
}

void Engine::ScheduleFlush() {
  const ReadView& view = *CurrentView();
  keyspaces_.AssertHeld();
  const bool flushes = !view.sealed.empty();
  const bool is_due = flushes || memtable_logs_.is_seal_wanted() ||
                      memtable_logs_.IsNextDue(view, options_.write_buffer_bytes) ||
                      reserves_.IsDue(view.bytes_to_flush(keyspaces_.other_count()));
  if (!is_due || !jobs_.MaySchedule(Job::kFlush)) return;
  // It is no failure if the next log is not made ahead of time, or the reserve is not enlarged.
  const std::optional<FailureKind> failure =
      flushes ? std::optional(FailureKind::kFlush) : std::nullopt;
  jobs_.Schedule(Job::kFlush, failure, [this] { FlushOne(); });
}

void Engine::EndJob(FailureKind kind, absl::Status status, Compaction* compaction) {
  {
    MutexLock lock(&mutex_);
    const bool gave_up =
        absl::IsCancelled(status) || (absl::IsAborted(status) && lifetime_.is_closing());
    const bool is_failure = !status.ok() && !gave_up;
    keyspaces_.AssertHeld();
    const TreeOptions tree_options(options_, &keyspaces_.own_options(), &keyspaces_.dropped());
    if (is_failure && compaction != nullptr && !absl::IsAborted(status) &&
        !absl::IsDataLoss(status) &&
        schedule_.IsOptional(*compaction, *CurrentView()->version, tree_options,
                             sequences_.HasSnapshotIn())) {
      // A store that is only read must not fail for lack of space.  Before the next attempt readers
      // pay again, and the rule for tombstones rests.  A failure of the manifest was counted when
      // it was noted.
      if (jobs_.failures().OfLogOrManifest().ok()) counters_.Add(Counter::kBackgroundErrors, 1);
      schedule_.RestAfter(*compaction);
      if (compaction->plan == nullptr || compaction->plan->for_readers)
        ForAccounts(*CurrentView()->version, compaction->plan.get(),
                    [](const Level0Account& account) { account.Forfeit(); });
    } else if (is_failure) {
      jobs_.AddFailure(kind, status);
    }
    if (compaction != nullptr) {
      const CompactionPlan* const plan = compaction->plan.get();
      if (plan != nullptr)
        ForAccounts(*CurrentView()->version, plan,
                    [&](const Level0Account& account) { account.NoteMerge(*plan); });
      writers_.throttle().EndCompaction(compaction, status.ok());
      // Given away, so that only the waiting thread still uses it: ThreadSanitizer does not see the
      // counts of references in Abseil's library.
      schedule_.End(compaction, std::move(status));
      ScheduleWork();
    } else {
      writers_.throttle().EndFlush(status.ok());
      schedule_.EndFlush();
    }
  }
  if (compaction != nullptr) *compaction = {};  // holds tables that may be obsolete
  // Without the lock, because this closes tables and removes files.
  views_.CollectToTheEnd();
  BuildReserves(Reserve::Effort::kUsual);
  events_->Deliver();
  MutexLock lock(&mutex_);
  jobs_.End(kind == FailureKind::kFlush ? Job::kFlush : Job::kCompaction);
  ScheduleWork();
}

absl::Status Engine::WithReserve(absl::FunctionRef<absl::Status()> job) {
  return reserves_.RunWithReserve(job, [this] {
    // After a failure of log or manifest, DB::Resume begins other files, and releases the reserve.
    MutexLock lock(&mutex_);
    return jobs_.failures().OfLogOrManifest().ok();
  });
}

void Engine::FlushOne() {
  bool flushes = false, seals = false;
  {
    MutexLock lock(&mutex_);
    const ReadView& view = *CurrentView();
    flushes = !view.sealed.empty();
    if (flushes) writers_.throttle().BeginFlush(*view.sealed.back());
    seals = !flushes && memtable_logs_.is_seal_wanted();
  }
  if (seals) {
    // The tombstones free space, so the log may take that of the reserve.
    WithReserve([this] { return PrepareLog(/*seal_is_near=*/true); }).IgnoreError();
    MutexLock lock(&mutex_);
    // A writer that is queued may be in the middle of its commit, or wait for this job.
    const bool may_seal = jobs_.MayBegin() && writers_.empty() && memtable_logs_.is_seal_wanted() &&
                          memtable_logs_.is_next_made() && CurrentView()->sealed.empty();
    try {
      if (may_seal) SealMemtable(FlushReason::kTombstones, nullptr, nullptr).IgnoreError();
    } catch (const std::bad_alloc&) {
      // The next writer seals it.
    }
    memtable_logs_.LeaveSeal();
    flushes = !CurrentView()->sealed.empty();
    if (flushes) writers_.throttle().BeginFlush(*CurrentView()->sealed.back());
  } else {
    // Before the flush, because a writer may need the next log as soon as the flush is done.
    PrepareLog(/*seal_is_near=*/false).IgnoreError();
  }
  absl::Status status;
  if (flushes) status = WithReserve([this] { return FlushOldest(); });
  // A drop beside the flush could not seal its memtable.
  if (flushes && status.ok()) SealIfDue([](const ReadView&, const SnapshotList&) { return false; });
  EndJob(FailureKind::kFlush, std::move(status));
}

absl::Status Engine::PrepareLog(bool seal_is_near) {
  uint64_t number = 0, file_id = 0;
  {
    MutexLock lock(&mutex_);
    const ReadView& view = *CurrentView();
    const bool is_due = memtable_logs_.IsNextDue(view, options_.write_buffer_bytes) ||
                        (seal_is_near && memtable_logs_.IsNextNeeded(view));
    if (!jobs_.MayBegin() || !is_due) return absl::OkStatus();
    memtable_logs_.BeginNext();
    number = manifest_.NewFileNumber();
    file_id = memtable_logs_.FileIdOf(number);
  }
  absl::Status outcome = CatchOutOfMemory([&] {
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
  });
  MutexLock lock(&mutex_);
  memtable_logs_.EndNext(outcome.ok());
  jobs_.WakeAll();
  return outcome;
}

absl::Status Engine::FlushOldest() {
  std::shared_ptr<const Memtable> memtable;
  SnapshotList snapshots;
  OwnOptions own_options;
  MemtableLogs::MemtableLog log;
  uint64_t next_log = 0;
  VersionEdit edit;
  {
    // Memtable and snapshots must be of one moment: a snapshot that is taken between the two would
    // be missed.
    MutexLock lock(&mutex_);
    memtable = CurrentView()->sealed.back();  // the oldest
    keyspaces_.AssertHeld();
    snapshots = keyspaces_.ForJob(sequences_);
    log = memtable_logs_.oldest();
    next_log = memtable_logs_.number_after_oldest();
    own_options = keyspaces_.OwnOptionsIn(*CurrentView()->version);
    keyspaces_.AddTo(memtable->changes(), &edit);
  }
  // Memtables are flushed in their order, so all older entries are in tables.
  FlushRun::Calls calls;
  calls.version_now = [this] {
    MutexLock lock(&mutex_);
    return CurrentView()->version;
  };
  calls.may_leave = [this](KeyspaceId id) {
    if (reserves_.IsShort()) return false;
    MutexLock lock(&mutex_);
    keyspaces_.AssertHeld();
    return keyspaces_.MayLeave(id);
  };
  // The directory may have options that later memtables hold.
  calls.record_of = [this](KeyspaceId id) {
    MutexLock lock(manifest_.mutex());
    return RecordIn(manifest_.state(), id);
  };
  calls.stop = [this] { return lifetime_.is_closing(); };
  calls.note_more_bytes = [this](uint64_t bytes) {
    MutexLock lock(&mutex_);
    writers_.throttle().AddToFlush(bytes);
  };
  calls.take_along = [this](const std::shared_ptr<const CompactionPlan>& plan) {
    if (reserves_.IsShort()) return false;
    MutexLock lock(&mutex_);
    return schedule_.TakeForFlush(plan, *CurrentView()->version);
  };
  FlushRun run(&job_context_, std::move(own_options), std::move(calls));
  return WithFlushEvents(
      events_.get(), store_.environment.clock, log.reason, *memtable,
      [&](JobResult* result) -> absl::Status {
        const uint64_t from = store_.environment.clock->MonotonicNanos();
        // The manifest will require the next log to exist.
        TRELLIS_RETURN_IF_ERROR(logs_.SyncNames());
        TRELLIS_RETURN_IF_ERROR(run.Run(ListsToFlush(*memtable), log.last_sequence, snapshots,
                                        memtable->AgeNanos(from), &edit, result));
        // Without a table, because nothing was left, the edit still says that the log is obsolete.
        edit.oldest_log = next_log;
        edit.last_sequence = log.last_sequence;
        TRELLIS_RETURN_IF_ERROR(ApplyEdit(std::move(edit), result->outputs, [&](ReadView* view) {
          view->sealed.pop_back();
          // The view wakes callers that wait for the flush, and they must find it counted.
          counters_.Add(Counter::kFlushes, 1);
          counters_.Add(Counter::kFlushBytesWritten, result->bytes_written);
          counters_.Add(Counter::kFlushNanos, store_.environment.clock->MonotonicNanos() - from);
          counters_.Add(Counter::kTombstonesDroppedByFlushes, result->tombstones_dropped);
        }));
        views_.Supersede(ByNumber(run.replaced()));
        {
          MutexLock lock(&mutex_);
          memtable_logs_.RemoveOldest();
          keyspaces_.AssertHeld();
          if (keyspaces_.Forget(memtable->changes(), *CurrentView()->version))
            schedule_.NoteExpired();
          if (run.leaver() && run.leaves()) keyspaces_.NoteLeft(*run.leaver());
          if (run.leaver() && !run.leaves()) keyspaces_.NoteStays(*run.leaver());
        }
        logs_.Remove(next_log);
        return absl::OkStatus();
      });
}

void Engine::CompactOne() {
  Compaction compaction;
  CompactionSchedule::Plans running;
  const uint64_t wall_seconds = WallSecondsOf(*store_.environment.clock);
  absl::Status status = CatchOutOfMemory([&] {
    {
      MutexLock lock(&mutex_);
      compaction.version = CurrentView()->version;  // not the view, which holds memtables too
      keyspaces_.AssertHeld();
      compaction.snapshots = keyspaces_.ForJob(sequences_);
      compaction.own_options = keyspaces_.OwnOptionsIn(*compaction.version);
      compaction.dropped = keyspaces_.dropped();
      running = schedule_.StartChoosing(wall_seconds, &compaction);
    }
    CompactionSchedule::Choose(options_, running, &compaction);
    return absl::OkStatus();
  });
  running.clear();  // holds tables
  if (lifetime_.is_closing()) {
    compaction.plan = nullptr;
    compaction.found_nothing = false;
  }
  if (status.ok()) {
    MutexLock lock(&mutex_);
    if (schedule_.Begin(&compaction)) counters_.Add(Counter::kCompactionsAtOnce, 1);
    const CompactionPlan* const plan = compaction.plan.get();
    if (plan != nullptr)
      ForAccounts(*CurrentView()->version, plan,
                  [&](const Level0Account& account) { account.Spend(*plan); });
    keyspaces_.AssertHeld();
    writers_.throttle().BeginCompaction(&compaction,
                                        keyspaces_.FullestTree(*CurrentView()->version));
    ScheduleWork();
  }
  if (compaction.plan != nullptr) status = CatchOutOfMemory([&] { return Compact(&compaction); });
  EndJob(FailureKind::kCompaction, std::move(status), &compaction);
}

absl::Status Engine::Compact(Compaction* compaction) {
  const KeyspaceId keyspace = compaction->plan->keyspace;
  std::shared_ptr<const KeyspaceState> state;  // null in the common tree
  {
    MutexLock lock(&mutex_);
    keyspaces_.AssertHeld();
    state = keyspaces_.StateOf(keyspace);
  }
  CompactionRun::Calls calls;
  calls.now = [this, keyspace] {
    MutexLock lock(&mutex_);
    const Version& version = *CurrentView()->version;
    const bool is_gone = version.TreeOf(keyspace) == nullptr;
    keyspaces_.AssertHeld();
    return CompactionRun::Now{is_gone ? nullptr : version.ShareTree(keyspace),
                              keyspaces_.ForJob(sequences_)};
  };
  calls.is_room_short = [this] { return reserves_.IsShort(); };
  calls.stop = [this, &state] { return lifetime_.is_closing() || IsDropped(state.get()); };
  calls.apply = [&](const CompactionPlan& plan, const JobResult* result,
                    const CompactionRun::Plan& left) {
    return result == nullptr ? ApplyEdit(EditOf(plan, nullptr), {}, nullptr, keyspace)
                             : ApplyCompaction(compaction, plan, *result, left);
  };
  calls.collect = [this] { views_.CollectPatiently(); };
  const CompactionPlan& plan = *compaction->plan;
  TRELLIS_ASSIGN_OR_RETURN(JobContext context,
                           ContextOfTree(job_context_, compaction->own_options, keyspace,
                                         compaction->filter_index_bytes_beside));
  SetTree(*compaction->tree, &context);
  {
    std::shared_ptr<const Version> version;
    {
      MutexLock lock(&mutex_);
      version = CurrentView()->version;
    }
    TRELLIS_ASSIGN_OR_RETURN(
        context.trees_beside,
        TreesBeside(job_context_, compaction->own_options, *version, {&keyspace, 1}));
  }
  CompactionRun run(&context, &counters_, std::move(calls), compaction);
  const bool for_readers = plan.for_readers;
  const CompactionReason reason = plan.drops                       ? CompactionReason::kDrop
                                  : compaction->request != nullptr ? CompactionReason::kRequest
                                  : for_readers                    ? CompactionReason::kReaders
                                  : plan.for_tombstones            ? CompactionReason::kTombstones
                                                                   : CompactionReason::kLevel;
  absl::Status status = WithCompactionEvents(events_.get(), store_.environment.clock, reason, plan,
                                             [&](JobResult* result) {
                                               const auto once = [&] { return run.Run(result); };
                                               // Compactions for readers are not worth the reserve.
                                               return for_readers ? once() : WithReserve(once);
                                             });
  return absl::IsAborted(status) && IsDropped(state.get()) ? TreeIsGone() : status;
}

absl::Status Engine::ApplyCompaction(Compaction* compaction, const CompactionPlan& plan,
                                     const JobResult& result,
                                     const std::shared_ptr<const CompactionPlan>& left) {
  ObsoleteFiles::Tables superseded = ByNumber(TablesRemovedBy(plan));
  // At the same moment as the view, so that no other compaction of the outputs is chosen before.
  const auto replace = [&](ReadView*) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    schedule_.Replace(compaction, left);
  };
  std::function<void(ReadView*)> change;
  if (left != nullptr) change = replace;
  TRELLIS_RETURN_IF_ERROR(ApplyEdit(EditOf(plan, &result), result.outputs, change, plan.keyspace));
  views_.Supersede(std::move(superseded));
  counters_.Add(Counter::kCompactionBytesRead, result.bytes_read);
  counters_.Add(Counter::kCompactionBytesWritten, result.bytes_written);
  return absl::OkStatus();
}

absl::Status Engine::ApplyEdit(VersionEdit edit, const OpenTables& outputs,
                               const std::function<void(ReadView*)>& change, KeyspaceId tree) {
  NewFiles made;  // until the manifest may name them
  for (const auto& table : outputs)
    made.Add(store_.directory.get(), TableFileName(table->meta.number));
  MutexLock manifest_lock(manifest_.mutex());
  TRELLIS_RETURN_IF_ERROR(manifest_.status());
  std::shared_ptr<const Version> base;
  {
    MutexLock lock(&mutex_);
    base = CurrentView()->version;
  }
  if (base->TreeOf(tree) == nullptr) return TreeIsGone();
  ObsoleteFiles::Tables superseded;
  for (const KeyspaceId id : edit.dropped_keyspaces) AddTablesOf(base->TreeOf(id), &superseded);
  edit.next_file_number = manifest_.next_file_number();
  std::shared_ptr<const Version> version = base;
  if (!edit.added.empty() || !edit.removed.empty() || !edit.dropped_keyspaces.empty() ||
      !edit.keyspaces.empty()) {
    TRELLIS_ASSIGN_OR_RETURN(version, base->After(edit, outputs));
  }
  if (version == base && change == nullptr) return manifest_.Record(edit);
  // A recorded edit must become visible, so the view's memory is allocated beforehand.
  const auto view = std::make_shared<ReadView>();
  LiveViews::Prepared prepared;
  {
    MutexLock lock(&mutex_);
    view->sealed.reserve(CurrentView()->sealed.size() + 1);
    prepared = views_.Prepare(view);
  }
  made.Keep();
  TRELLIS_RETURN_IF_ERROR(manifest_.Record(edit));
  {
    MutexLock lock(&mutex_);
    // Only a holder of the manifest's mutex changes the version.  A writer may have sealed a
    // memtable meanwhile, but no more than one as long as none is removed.
    assert(CurrentView()->sealed.size() <= view->sealed.capacity());
    *view = *CurrentView();
    view->version = std::move(version);
    if (change != nullptr) change(view.get());
    PublishView(std::move(prepared));
  }
  views_.Supersede(std::move(superseded));
  return absl::OkStatus();
}

absl::Status Engine::RequestRange(CompactionSchedule::Request* request) {
  MutexLock lock(&mutex_);
  schedule_.Add(request);
  ScheduleWork();
  while (!request->done) {
    // After a failure no job begins any more.  This waits for a job that has begun, since it uses
    // the request.
    absl::Status failure = jobs_.failures().FirstOf(
        {FailureKind::kLog, FailureKind::kManifest, FailureKind::kCompaction});
    failure.Update(lifetime_.Check());
    if (!failure.ok() && !request->in_hand) {
      schedule_.Withdraw(request);
      return failure;
    }
    jobs_.Wait(&mutex_);
  }
  // Close may have ended the request early, or before it began.
  TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
  return request->status;
}

absl::Status Engine::CompactRange(const KeyspaceState* state, std::optional<std::string_view> from,
                                  std::optional<std::string_view> to) {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::CompactRange"));
  const Call call(&lifetime_);
  TRELLIS_RETURN_IF_ERROR(call.status());
  TRELLIS_RETURN_IF_ERROR(CheckNotDropped(state));
  TRELLIS_RETURN_IF_ERROR(Flush());
  if (from && to && *from >= *to) return absl::OkStatus();
  KeyspaceId keyspace = KeyspaceIdOf(state);  // of the tree
  const bool has_own_tree = [&] {
    MutexLock lock(&mutex_);
    return CurrentView()->version->TreeOf(keyspace) != nullptr;
  }();
  CommonBounds bounds;
  if (!has_own_tree) {
    bounds = CommonBoundsOf(keyspace, from.value_or(""), to);
    from = bounds.from;
    to = bounds.to;
    keyspace = kCommonTree;
  }
  const auto request_range = [&](CompactionSchedule::Request* request) {
    const absl::Status status = RequestRange(request);
    return absl::IsCancelled(status) && IsDropped(state) ? DroppedKeyspace(*state) : status;
  };
  const auto deepest_level = [&] {
    MutexLock lock(&mutex_);
    const Tree* const tree = CurrentView()->version->TreeOf(keyspace);
    return tree == nullptr ? 0 : tree->deepest_level();
  };
  const auto has_drop = [&] {
    MutexLock lock(&mutex_);
    const Tree* const tree = CurrentView()->version->TreeOf(keyspace);
    return tree != nullptr &&
           HasDrop(*tree, schedule_.running(), sequences_.HasSnapshotIn(), SpanOf(from, to));
  };
  // So that dead tables are not read.  A request of their own, because no other compaction begins
  // while one waits.  Each drops tables of one level; a drop may leave range deletes over nothing.
  for (int i = 0; i < kLevels && has_drop(); ++i) {
    CompactionSchedule::Request request{
        .from = from, .to = to, .drops = true, .keyspace = keyspace};
    TRELLIS_RETURN_IF_ERROR(request_range(&request));
  }
  for (int level = 0; level < kLevels; ++level) {
    // The last level is rewritten in place.
    CompactionSchedule::Request request{
        .level = level, .from = from, .to = to, .keyspace = keyspace};
    TRELLIS_RETURN_IF_ERROR(request_range(&request));
    // Asked afterwards, because another job may have moved tables down while the request waited.
    if (level > 0 && level >= deepest_level()) break;
  }
  return absl::OkStatus();
}

absl::Status Engine::WaitForBackgroundWork() {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::WaitForBackgroundWork"));
  const Call call(&lifetime_);
  TRELLIS_RETURN_IF_ERROR(call.status());
  NoteReads(/*is_look=*/true);
  MutexLock lock(&mutex_);
  while (jobs_.HasFlushOrCompaction()) jobs_.Wait(&mutex_);
  return jobs_.failures().First();
}

}  // namespace lsm
