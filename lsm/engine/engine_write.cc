// Engine: the write path.  Writers queue up; the first one makes room, and also commits for those
// after it (group commit).
#include <new>
#include <optional>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/base/range_map.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/events/job_events.h"
#include "lsm/runtime/early_seal.h"
#include "lsm/threads/epoch.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Made when the program starts, for when there is no memory to say more.
const absl::Status& unknown_out_of_memory = *new absl::Status(
    absl::StatusCode::kUnknown, "unknown whether this write is in the store: out of memory");

// The error of a group that may be in the log.  Any other code would say that it is not.
absl::Status UnknownOutcome(const absl::Status& cause) {
  try {
    return WithCode(absl::StatusCode::kUnknown, cause,
                    "unknown whether this write is in the store");
  } catch (const std::bad_alloc&) {
    return unknown_out_of_memory;
  }
}

Counter CounterOf(StallCause cause) {
  switch (cause) {
    case StallCause::kMemtable:
      return Counter::kStallsMemtable;
    case StallCause::kLevel0:
      return Counter::kStallsLevel0;
    case StallCause::kReserve:
      return Counter::kStallsReserve;
    case StallCause::kLog:
      break;
  }
  return Counter::kStallsLog;
}

// The error of a write that was refused before it began.
absl::Status Refusal(const absl::Status& failure) {
  if (IsTakenOver(failure)) return failure;
  return absl::AbortedError(
      Concat("the store takes no more writes after an earlier failure (DB::Resume tries to recover "
             "it): ",
             MessageOf(failure)));
}

absl::Status CheckWritable(const Options& options) {
  if (!IsForReading(options.mode)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat("the store is open for reading only (OpenMode::",
             options.mode == OpenMode::kFollow ? "kFollow)" : "kReadOnly)"));
}

// Counts entries of keyspaces other than the default one for their trees.
void CountByTree(const WriteBatch& batch, const Version& version) {
  uint64_t elsewhere = 0;
  KeyspaceId last = kDefaultKeyspace;
  uint64_t writes = 0;  // in a row, to that one
  const auto add = [&] {
    if (last == kDefaultKeyspace) return;
    elsewhere += writes;
    if (const Tree* const tree = version.TreeOf(last); tree != nullptr)
      TreeCounters::Here(&tree->reads().counters).Add(TreeCounters::kWrites, writes);
  };
  EncodedBatch::ForEachKeyspace(batch, [&](KeyspaceId keyspace) {
    if (keyspace != last) {
      add();
      last = keyspace;
      writes = 0;
    }
    ++writes;
  });
  add();
  TreeCounters::Here(&version.default_tree()->reads().counters)
      .Add(TreeCounters::kWritesElsewhere, elsewhere);
}

}  // namespace

absl::Status Engine::Write(const WriteBatch& batch, const WriteOptions& options) {
  TRELLIS_RETURN_IF_ERROR(batch.status());
  TRELLIS_RETURN_IF_ERROR(CheckWritable(options_));
  TRELLIS_RETURN_IF_ERROR(CheckProcess());
  TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
  const bool names_keyspaces = !EncodedBatch::KeyspacesOf(batch).empty();
  if (names_keyspaces) [[unlikely]]
    TRELLIS_RETURN_IF_ERROR(keyspaces_.CheckOwner(batch));
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("a write"));
  if (batch.count() == 0 && !options.sync) return absl::OkStatus();
  const Counters::Here counters(&counters_);
  const bool is_timed = counters.Of(Counter::kWrites) % kWritesPerTime == 0;
  const uint64_t from = is_timed ? store_.environment.clock->MonotonicNanos() : 0;
  const auto write = [&] {
    Writer writer{Writer::Task::kWrite, &batch, options.sync};
    return Enqueue(&writer);
  };
  absl::Status status = write();
  if (IsDiskFull(status) && batch.has_puts()) {
    // Refused: perhaps there is space by now, or the memtables fit into the reserve after a flush.
    LookForSpace(batch.size_bytes());
    status = write();
  }
  TRELLIS_RETURN_IF_ERROR(status);
  if (is_timed) counters_.AddTime(Timed::kWrite, store_.environment.clock->MonotonicNanos() - from);
  counters.Add(Counter::kWrites, 1);
  counters.Add(Counter::kWriteEntries, batch.count());
  counters.Add(Counter::kUserBytesWritten, batch.user_bytes());
  if (!names_keyspaces) [[likely]]
    return absl::OkStatus();
  CatchOutOfMemory([&] {
    const EpochGuard guard;
    if (const ReadView* const view = views_.Load(); view != nullptr)
      CountByTree(batch, *view->version);
    return absl::OkStatus();
  }).IgnoreError();
  return absl::OkStatus();
}

absl::Status Engine::Enqueue(Writer* writer) {
  {
    MutexLock lock(&mutex_);
    TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
    if (writers_.Join(writer, &mutex_, store_.environment.scheduler)) writer->status = Lead(writer);
  }
  events_->Deliver();
  return std::move(writer->status);
}

absl::Status Engine::Lead(Writer* leader) {
  absl::Status status;
  const Writer* last = leader;
  // The writers after this one wait for its end, so an exception must not escape.
  try {
    switch (leader->task) {
      case Writer::Task::kWrite:
        if (!EncodedBatch::KeyspacesOf(*leader->batch).empty()) [[unlikely]]
          status = EncodedBatch::CheckNoneDropped(*leader->batch);
        if (status.ok() && leader->batch->has_puts())
          status = CheckMayPut(leader->batch->size_bytes());
        if (status.ok()) status = MakeRoom(/*seal_now=*/false);
        if (status.ok()) status = Commit(leader, &last);
        break;
      case Writer::Task::kSealMemtable:
        status = MakeRoom(/*seal_now=*/true);
        break;
      case Writer::Task::kResume:
        status = RecoverFromFailures();
        break;
      case Writer::Task::kKeyspace:
        status = ChangeKeyspace(leader);
        break;
    }
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  }
  const bool has_more = writers_.Finish(leader, last, status);
  if (!has_more && lifetime_.is_closing()) jobs_.WakeAll();
  return status;
}

absl::Status Engine::Commit(Writer* leader, const Writer** last) {
  keyspaces_.AssertHeld();
  const uint64_t memtable_bytes = CurrentView()->bytes_to_flush(keyspaces_.other_count());
  const WriterQueue::Group group = writers_.BuildGroup(*leader, [&](uint64_t bytes) {
    // Otherwise the put leads a group of its own: it is refused, or builds a larger reserve.
    return !reserves_.IsShort() && reserves_.Fits(memtable_bytes + bytes);
  });
  *last = group.last;
  std::string& batch = *group.bytes;
  const uint32_t entries = EncodedBatch::CountOf(batch);
  if (!sequences_.HaveRoomFor(entries)) {
    return absl::ResourceExhaustedError(
        "all sequence numbers are used up: the store can only be read");
  }
  StoreFixed64(batch.data(), sequences_.last() + 1);
  // Only the leader changes limits, so these hold for the whole group.
  const std::shared_ptr<const LimitTable> limits = keyspaces_.limits();
  const uint32_t now = limits == nullptr ? 0 : keyspaces_.Now();
  // Only the leader replaces the memtable, so it stays the one of this view.
  Memtable* memtable = CurrentView()->memtable.get();
  std::optional<RangeMap> ranges;  // of the group, in the default keyspace
  mutex_.Unlock();
  const auto has_limit = [&](KeyspaceId keyspace) { return limits->Has(keyspace); };
  const Memtable::IsTimed is_timed = has_limit;
  // First all steps that may fail without leaving a trace.
  absl::Status status = CatchOutOfMemory([&] {
    if (limits != nullptr && entries > 0) [[unlikely]]
      EncodedBatch::SetTime(&batch, now);
    TRELLIS_RETURN_IF_ERROR(
        memtable->PrepareBatch(batch, &ranges, limits == nullptr ? nullptr : &is_timed));
    logs_.Reserve(batch.size());
    return absl::OkStatus();
  });
  const bool begun = status.ok();
  if (begun) {
    status = CatchOutOfMemory([&]() -> absl::Status {
      // A group without entries only asks for a sync.
      if (entries > 0) {
        TRELLIS_ASSIGN_OR_RETURN(const uint64_t log_bytes, logs_.Append(batch));
        const Counters::Here counters(&counters_);
        counters.Add(Counter::kWriteGroups, 1);
        counters.Add(Counter::kLogBytesWritten, log_bytes);
      }
      if (group.sync) {
        TRELLIS_ASSIGN_OR_RETURN(const std::vector<uint64_t> first_time, logs_.Sync());
        if (!first_time.empty()) {
          VersionEdit edit;
          edit.synced_logs = first_time;
          TRELLIS_RETURN_IF_ERROR(ApplyEdit(std::move(edit), {}, nullptr));
        }
        counters_.Add(Counter::kLogSyncs, 1);
      }
      memtable->AddPrepared();
      return absl::OkStatus();
    });
  }
  mutex_.Lock();
  if (!begun) return status;
  if (!status.ok()) {
    // Whether the group's records are in the log is unknown, so nothing may follow them.
    jobs_.AddFailure(FailureKind::kLog, status);
    return UnknownOutcome(status);
  }
  writers_.throttle().Spend(batch.size());
  sequences_.Advance(entries);
  views_.ShowUpTo(sequences_.last());
  // If the memtable is due, the flush job or the next leader seals it.  This leader does not,
  // because it would have to wait for files.
  if (ranges && CurrentView()->sealed.empty()) [[unlikely]] {
    mutex_.Unlock();
    SealIfDue([&](const ReadView& view, const SnapshotList& snapshots) {
      return AreRangesDue(view, *ranges, snapshots, options_);
    });
    mutex_.Lock();
  }
  return absl::OkStatus();
}

void Engine::WaitStalled(StallCause cause, StallEvents* stall, bool* counted) {
  if (stall->Begin(cause)) {
    mutex_.Unlock();
    events_->Deliver();
    mutex_.Lock();
    return;  // it may have nothing to wait for any more
  }
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  jobs_.Wait(&mutex_);
  if (!std::exchange(*counted, true)) counters_.Add(CounterOf(cause), 1);
  counters_.Add(Counter::kStallNanos, store_.environment.clock->MonotonicNanos() - from);
}

absl::Status Engine::MakeRoom(bool seal_now) {
  bool delayed = false, memtable_stall_counted = false, level0_stall_counted = false,
       log_stall_counted = false;
  StallEvents stall(events_.get(), store_.environment.clock);
  for (;;) {
    if (const absl::Status failure = jobs_.failures().OfLogOrManifest(); !failure.ok())
      return Refusal(failure);
    TRELLIS_RETURN_IF_ERROR(lifetime_.Check());  // no job makes room any more
    const ReadView& view = *CurrentView();
    keyspaces_.AssertHeld();
    const Tree& fullest = keyspaces_.FullestTree(*view.version);
    const size_t level0_tables = fullest.level0_tables();
    // After a failed compaction no job makes room in level 0, so slowing writes for it is useless.
    const bool has_compactions = jobs_.failures().Of(FailureKind::kCompaction).ok();
    const uint64_t slowdown_nanos =
        seal_now || delayed ? 0 : writers_.throttle().NanosToWait(view, fullest, has_compactions);
    if (slowdown_nanos > 0) {
      delayed = true;
      mutex_.Unlock();
      const uint64_t from = store_.environment.clock->MonotonicNanos();
      store_.environment.scheduler->Pause(slowdown_nanos);
      counters_.Add(Counter::kSlowdowns, 1);
      counters_.Add(Counter::kStallNanos, store_.environment.clock->MonotonicNanos() - from);
      mutex_.Lock();
    } else if (!seal_now && memtable_logs_.is_seal_left() && view.sealed.empty()) {
      TRELLIS_RETURN_IF_ERROR(SealMemtable(FlushReason::kTombstones, &stall, &log_stall_counted));
    } else if (seal_now ? view.memtable->empty()
                        : view.memtable->memory_bytes() < options_.write_buffer_bytes) {
      ScheduleFlush();  // makes the next log or a larger reserve, if due
      return absl::OkStatus();
    } else if (!view.sealed.empty()) {
      if (const absl::Status& failure = jobs_.failures().Of(FailureKind::kFlush); !failure.ok())
        return Refusal(failure);
      WaitStalled(StallCause::kMemtable, &stall, &memtable_stall_counted);
    } else if (level0_tables >= static_cast<size_t>(options_.level0_stop_tables)) {
      if (const absl::Status& failure = jobs_.failures().Of(FailureKind::kCompaction);
          !failure.ok())
        return Refusal(failure);
      WaitStalled(StallCause::kLevel0, &stall, &level0_stall_counted);
    } else if (memtable_logs_.is_next_being_made()) {
      // Meanwhile the memtable takes more: a writer waits only for a log that takes longer to make
      // than one and a half memtables take to fill.
      if (!seal_now && view.memtable->memory_bytes() / 2 < options_.write_buffer_bytes)
        return absl::OkStatus();
      WaitStalled(StallCause::kLog, &stall, &log_stall_counted);
    } else {
      const FlushReason reason = seal_now ? FlushReason::kRequest : FlushReason::kMemtable;
      TRELLIS_RETURN_IF_ERROR(SealMemtable(reason, &stall, &log_stall_counted));
      seal_now = false;
    }
  }
}

absl::Status Engine::SealMemtable(FlushReason reason, StallEvents* stall, bool* counted) {
  // Allocates all memory first: once the log exists, it takes the records, and its memtable must
  // exist.
  const auto view = std::make_shared<ReadView>();
  // No number is given before the memtable becomes the active one: this writer leads, or none does.
  view->memtable = std::make_shared<Memtable>(sequences_.last(),
                                              Memtable::RecentMax(options_.write_buffer_bytes),
                                              store_.environment.clock->MonotonicNanos());
  view->sealed.reserve(CurrentView()->sealed.size() + 1);
  memtable_logs_.Reserve();
  LiveViews::Prepared prepared = views_.Prepare(view);
  std::optional<uint64_t> log_number = logs_.StartPrepared();
  if (!log_number && stall == nullptr) return absl::UnavailableError("no log was made for it");
  if (!log_number) {
    TRELLIS_ASSIGN_OR_RETURN(log_number, StartLog(stall, counted));
  }
  const ReadView& current = *CurrentView();
  view->sealed.push_back(current.memtable);
  view->sealed.insert(view->sealed.end(), current.sealed.begin(), current.sealed.end());
  view->version = current.version;
  memtable_logs_.Seal(sequences_.last(), reason, *log_number);
  PublishView(std::move(prepared));
  ScheduleWork();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Engine::StartLog(StallEvents* stall, bool* counted) {
  const uint64_t number = manifest_.NewFileNumber();
  const uint64_t file_id = memtable_logs_.FileIdOf(number);
  memtable_logs_.BeginNext();  // so no job makes it too
  // Makes and syncs a file.  Meanwhile this writer still leads, so no other seals or writes.
  stall->Begin(StallCause::kLog);
  mutex_.Unlock();
  events_->Deliver();
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  const absl::Status started = CatchOutOfMemory([&] { return logs_.Start(number, file_id); });
  if (!std::exchange(*counted, true)) counters_.Add(Counter::kStallsLog, 1);
  counters_.Add(Counter::kStallNanos, store_.environment.clock->MonotonicNanos() - from);
  mutex_.Lock();
  memtable_logs_.EndNext(started.ok());
  if (started.ok()) return number;
  jobs_.AddFailure(FailureKind::kLog, started);
  return started;
}

absl::Status Engine::Flush() {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::Flush"));
  TRELLIS_RETURN_IF_ERROR(CheckWritable(options_));
  const Call call(&lifetime_);
  TRELLIS_RETURN_IF_ERROR(call.status());
  // Before this call's turn, so that no writer waits for the log.
  PrepareLog(/*seal_is_near=*/true).IgnoreError();
  {
    MutexLock lock(&mutex_);
    while (memtable_logs_.is_next_being_made()) jobs_.Wait(&mutex_);
  }
  Writer seal{Writer::Task::kSealMemtable};
  TRELLIS_RETURN_IF_ERROR(Enqueue(&seal));
  const auto failure = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return jobs_.failures().FirstOf(
        {FailureKind::kLog, FailureKind::kManifest, FailureKind::kFlush});
  };
  MutexLock lock(&mutex_);
  while (!CurrentView()->sealed.empty() && failure().ok()) {
    TRELLIS_RETURN_IF_ERROR(lifetime_.Check());
    jobs_.Wait(&mutex_);
  }
  return CurrentView()->sealed.empty() ? absl::OkStatus() : failure();
}

// --- the reserves ---

void Engine::BuildReserves(Reserve::Effort effort, uint64_t batch_bytes) {
  uint64_t table_bytes = 0, memtable_bytes = 0;
  {
    MutexLock lock(&mutex_);
    table_bytes = CurrentView()->version->bytes();
    keyspaces_.AssertHeld();
    memtable_bytes = CurrentView()->bytes_to_flush(keyspaces_.other_count()) + batch_bytes;
  }
  reserves_.Build(table_bytes, memtable_bytes, effort);
}

absl::Status Engine::CheckMayPut(uint64_t batch_bytes) {
  // MakeRoom refuses the write for that.
  if (!jobs_.failures().OfLogOrManifest().ok()) return absl::OkStatus();
  keyspaces_.AssertHeld();
  if (!reserves_.Fits(CurrentView()->bytes_to_flush(keyspaces_.other_count()) + batch_bytes)) {
    mutex_.Unlock();
    // Other writers wait for this one.
    reserves_.CountStall([&] { BuildReserves(Reserve::Effort::kNoWait, batch_bytes); });
    mutex_.Lock();
  }
  return reserves_.CheckMayPut();
}

void Engine::LookForSpace(uint64_t batch_bytes) {
  const Call call(&lifetime_);
  if (!call.status().ok()) return;
  BuildReserves(Reserve::Effort::kNoWait, batch_bytes);
  // A reserve that is too small for the memtables is large enough once they are tables.
  if (!reserves_.IsShort() || reserves_.ArePutsRefused()) return;
  reserves_.CountStall([&] {
    Flush().IgnoreError();
    BuildReserves(Reserve::Effort::kUsual, batch_bytes);
  });
}

}  // namespace lsm
