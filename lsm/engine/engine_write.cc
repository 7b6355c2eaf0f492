// Engine: the write path.  Writers queue up; the first one commits for those behind it, too (group
// commit).
#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/engine.h"
#include "lsm/events/job_events.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A group is not grown beyond this, so that a small write does not wait for too large a one; and a
// small write's group not beyond its own size plus the second limit.
constexpr size_t kGroupBytesMax = size_t{1} << 20;
constexpr size_t kSmallGroupBytesMax = size_t{128} << 10;

// The number of tables of level 0 from which on writes are slowed down: half-way between those at
// which it is compacted and at which writes wait.
size_t Level0TablesToSlowDown(const Options& options) {
  const auto first = static_cast<size_t>(options.level0_compaction_tables);
  const auto last = static_cast<size_t>(options.level0_stop_tables);
  return first + (last - first + 1) / 2;
}

// What a byte costs if so many may be written in so long a time.  A sixteenth of a memtable is kept
// back, for jobs that take longer than was guessed.
double NanosPerByte(double nanos, uint64_t room_bytes, uint64_t write_buffer_bytes) {
  const uint64_t reserve = write_buffer_bytes / 16;
  const uint64_t room = room_bytes > reserve ? room_bytes - reserve : 0;
  return nanos / static_cast<double>(std::max(room, write_buffer_bytes / 64));
}

// Made when the program starts: where there is no memory to say more.
const absl::Status& unknown_out_of_memory = *new absl::Status(
    absl::StatusCode::kUnknown, "unknown whether this write is in the store: out of memory");

// Of a group that may be in the log.  Any other kind would say that it is not.
absl::Status UnknownOutcome(const absl::Status& cause) {
  try {
    return absl::UnknownError(
        Concat("unknown whether this write is in the store: ", MessageOf(cause)));
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

absl::Status CheckWritable(const Options& options) {
  if (options.mode != OpenMode::kReadOnly) return absl::OkStatus();
  return absl::FailedPreconditionError("the store is open for reading only (OpenMode::kReadOnly)");
}

}  // namespace

absl::Status Engine::Write(const WriteBatch& batch, const WriteOptions& options) {
  TRELLIS_RETURN_IF_ERROR(batch.status());
  TRELLIS_RETURN_IF_ERROR(CheckWritable(options_));
  TRELLIS_RETURN_IF_ERROR(CheckProcess());
  TRELLIS_RETURN_IF_ERROR(CheckOpen());
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("a write"));
  if (batch.count() == 0 && !options.sync) return absl::OkStatus();
  const Counters::Here counters(&counters_);
  const bool is_timed = counters.Of(Counter::kWrites) % kWritesPerTime == 0;
  const uint64_t from = is_timed ? store_.environment.clock->MonotonicNanos() : 0;
  const auto write = [&] {
    Writer writer{Writer::Task::kWrite, &batch, options.sync, false, {}, {}};
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
  return absl::OkStatus();
}

absl::Status Engine::Enqueue(Writer* writer) {
  {
    MutexLock lock(&mutex_);
    TRELLIS_RETURN_IF_ERROR(CheckOpen());
    writers_.push_back(writer);
    while (!writer->done && writers_.front() != writer) scheduler_->Wait(&mutex_, &writer->wake);
    // Unless another one led the group that this was part of.
    if (!writer->done) writer->status = Lead(writer);
  }
  events_->Deliver();
  return std::move(writer->status);
}

absl::Status Engine::Lead(Writer* leader) {
  absl::Status status;
  Writer* last = leader;
  // Those behind wait for this one's end, however it comes.
  try {
    switch (leader->task) {
      case Writer::Task::kWrite:
        if (leader->batch->has_puts()) status = CheckMayPut(leader->batch->size_bytes());
        if (status.ok()) status = MakeRoom(/*seal_now=*/false);
        if (status.ok()) status = Commit(leader, &last);
        break;
      case Writer::Task::kSealMemtable:
        status = MakeRoom(/*seal_now=*/true);
        break;
      case Writer::Task::kResume:
        status = RecoverFromFailures();
        break;
    }
  } catch (const std::bad_alloc&) {
    status = OutOfMemory();
  }
  for (;;) {
    Writer* done = writers_.front();
    writers_.pop_front();
    if (done != leader) {
      done->status = status;
      done->done = true;
      done->wake.Signal();
    }
    if (done == last) break;
  }
  if (!writers_.empty()) {
    writers_.front()->wake.Signal();
  } else if (closing_.load(std::memory_order_relaxed)) {
    work_done_.SignalAll();
  }
  return status;
}

absl::Status Engine::Commit(Writer* leader, Writer** last) {
  bool sync = false;
  *last = BuildGroup(leader, &sync);
  const uint32_t entries = EncodedBatch::CountOf(group_bytes_);
  // The highest number itself is never used: a batch's numbers must have one behind them.
  if (last_sequence_ + entries >= kSequenceMax) {
    return absl::ResourceExhaustedError(
        "all sequence numbers are used up: the store can only be read");
  }
  StoreFixed64(group_bytes_.data(), last_sequence_ + 1);
  const size_t group_bytes = group_bytes_.size();  // a large group is not kept
  // Only the leader replaces the memtable, so it stays the one of this view.
  Memtable* memtable = current_view_->memtable.get();
  mutex_.Unlock();
  absl::Status status = CatchOutOfMemory([&] { return PrepareGroup(memtable); });
  const bool begun = status.ok();
  if (begun) status = CatchOutOfMemory([&] { return CommitGroup(memtable, sync); });
  mutex_.Lock();
  if (!begun) return status;
  if (!status.ok()) {
    // Whether the group's records are in the log is unknown, so nothing may follow them.
    AddFailure(FailureKind::kLog, status);
    return UnknownOutcome(status);
  }
  pace_.Spend(group_bytes);
  last_sequence_ += entries;
  // Release: whoever reads as of this number finds the entries in the memtable.
  visible_sequence_.store(last_sequence_, std::memory_order_release);
  return absl::OkStatus();
}

Engine::Writer* Engine::BuildGroup(Writer* leader, bool* sync) {
  const size_t leader_bytes = leader->batch->size_bytes();
  const size_t bytes_max = leader_bytes <= kSmallGroupBytesMax
                               ? leader_bytes + kSmallGroupBytesMax
                               : std::max(leader_bytes, kGroupBytesMax);
  group_bytes_.assign(EncodedBatch::Of(*leader->batch));
  uint32_t count = leader->batch->count();
  *sync = leader->sync;
  Writer* last = leader;
  for (size_t i = 1; i < writers_.size(); ++i) {
    Writer* next = writers_[i];
    if (next->task != Writer::Task::kWrite) break;  // leads itself
    if (next->sync && !leader->sync) break;         // would make the others wait for the disk
    if (group_bytes_.size() + next->batch->size_bytes() > bytes_max) break;
    // Is refused, alone, or builds it.
    if (next->batch->has_puts() &&
        (IsRoomShort() || !FitsIntoReserve(group_bytes_.size() + next->batch->size_bytes())))
      break;
    group_bytes_.append(EncodedBatch::Of(*next->batch).substr(EncodedBatch::kHeaderBytes));
    count += next->batch->count();
    last = next;
  }
  EncodedBatch::SetCount(&group_bytes_, count);
  return last;
}

absl::Status Engine::PrepareGroup(Memtable* memtable) {
  TRELLIS_RETURN_IF_ERROR(memtable->PrepareBatch(group_bytes_));
  logs_.Reserve(group_bytes_.size());
  return absl::OkStatus();
}

absl::Status Engine::CommitGroup(Memtable* memtable, bool sync) {
  // A group without entries only asks for a sync.
  if (EncodedBatch::CountOf(group_bytes_) > 0) {
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t log_bytes, logs_.Append(group_bytes_));
    const Counters::Here counters(&counters_);
    counters.Add(Counter::kWriteGroups, 1);
    counters.Add(Counter::kLogBytesWritten, log_bytes);
  }
  if (sync) {
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<uint64_t> first_time, logs_.Sync());
    if (!first_time.empty()) {
      VersionEdit edit;
      edit.synced_logs = first_time;
      TRELLIS_RETURN_IF_ERROR(ApplyEdit(std::move(edit), {}, nullptr));
    }
    counters_.Add(Counter::kLogSyncs, 1);
  }
  memtable->AddPrepared();
  // A group as large as that is rare: its memory is not kept.
  if (group_bytes_.capacity() > 4 * kGroupBytesMax) std::string().swap(group_bytes_);
  return absl::OkStatus();
}

void Engine::WaitStalled(StallCause cause, StallEvents* stall, bool* counted) {
  if (stall->Begin(cause)) {
    mutex_.Unlock();
    events_->Deliver();
    mutex_.Lock();
    return;  // what it would wait for may have come meanwhile
  }
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  scheduler_->Wait(&mutex_, &work_done_);
  if (!std::exchange(*counted, true)) counters_.Add(CounterOf(cause), 1);
  counters_.Add(Counter::kStallNanos, store_.environment.clock->MonotonicNanos() - from);
}

// Many short waits now rather than a long one later, behind a flush or a full level 0.
uint64_t Engine::NanosToWait() {
  const ReadView& view = *current_view_;
  const Version& version = *view.version;
  const size_t level0_tables = version.level(0).size() + view.sealed.size();
  // After a failure no job makes room there, until writes are refused or the store is resumed.
  const bool is_level0_slow = level0_tables >= Level0TablesToSlowDown(options_) &&
                              failures_.Of(FailureKind::kCompaction).ok();
  if (view.sealed.empty() && !is_level0_slow) return pace_.Begin(0, 0);
  const uint64_t now = store_.environment.clock->MonotonicNanos();
  const uint64_t buffer = options_.write_buffer_bytes;
  const uint64_t room = buffer - std::min<uint64_t>(buffer, view.memtable->memory_bytes());
  double nanos_per_byte = 0;
  if (!view.sealed.empty()) nanos_per_byte = NanosPerByte(flush_room_.NanosToGo(now), room, buffer);
  if (is_level0_slow) {
    const auto stop = static_cast<size_t>(options_.level0_stop_tables);
    const uint64_t tables = stop - std::min(stop, level0_tables);
    const double nanos =
        level0_room_.runs()
            ? level0_room_.NanosToGo(now)
            : level0_room_.NanosFor(version.level_bytes(0) + version.level_bytes(1));
    nanos_per_byte = std::max(nanos_per_byte, NanosPerByte(nanos, tables * buffer + room, buffer));
  }
  return pace_.Begin(now, nanos_per_byte);
}

absl::Status Engine::MakeRoom(bool seal_now) {
  bool delayed = false, memtable_stall_counted = false, level0_stall_counted = false,
       log_stall_counted = false;
  StallEvents stall(events_.get(), store_.environment.clock);
  for (;;) {
    if (const absl::Status failure = failures_.OfLogOrManifest(); !failure.ok())
      return Refusal(failure);
    TRELLIS_RETURN_IF_ERROR(CheckOpen());  // no job makes room any more
    const ReadView& view = *current_view_;
    const size_t level0_tables = view.version->level(0).size();
    const uint64_t slowdown_nanos = seal_now || delayed ? 0 : NanosToWait();
    if (slowdown_nanos > 0) {
      delayed = true;
      mutex_.Unlock();
      const uint64_t from = store_.environment.clock->MonotonicNanos();
      scheduler_->Pause(slowdown_nanos);
      counters_.Add(Counter::kSlowdowns, 1);
      counters_.Add(Counter::kStallNanos, store_.environment.clock->MonotonicNanos() - from);
      mutex_.Lock();
    } else if (seal_now ? view.memtable->empty()
                        : view.memtable->memory_bytes() < options_.write_buffer_bytes) {
      ScheduleFlush();  // of the next log, or of a larger reserve, if that is due
      return absl::OkStatus();
    } else if (!view.sealed.empty()) {
      if (const absl::Status& failure = failures_.Of(FailureKind::kFlush); !failure.ok())
        return Refusal(failure);
      WaitStalled(StallCause::kMemtable, &stall, &memtable_stall_counted);
    } else if (level0_tables >= static_cast<size_t>(options_.level0_stop_tables)) {
      if (const absl::Status& failure = failures_.Of(FailureKind::kCompaction); !failure.ok())
        return Refusal(failure);
      WaitStalled(StallCause::kLevel0, &stall, &level0_stall_counted);
    } else if (next_log_ == NextLog::kBeingMade) {
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
  // All memory first: once there is a log, it takes the records, and its memtable must be there.
  const auto view = std::make_shared<ReadView>();
  view->memtable = std::make_shared<Memtable>();
  view->sealed.reserve(current_view_->sealed.size() + 1);
  memtable_logs_.reserve(memtable_logs_.size() + 1);
  ReadViewCell::Prepared prepared = view_.Prepare(view);
  std::optional<uint64_t> log_number = logs_.StartPrepared();
  if (!log_number) {
    TRELLIS_ASSIGN_OR_RETURN(log_number, StartLog(stall, counted));
  }
  next_log_ = NextLog::kNotBegun;
  view->sealed.push_back(current_view_->memtable);
  view->sealed.insert(view->sealed.end(), current_view_->sealed.begin(),
                      current_view_->sealed.end());
  view->version = current_view_->version;
  memtable_logs_.back().last_sequence = last_sequence_;
  memtable_logs_.back().reason = reason;
  memtable_logs_.push_back({*log_number});
  PublishView(std::move(prepared));
  ScheduleWork();
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Engine::StartLog(StallEvents* stall, bool* counted) {
  const uint64_t number = manifest_.NewFileNumber();
  next_log_ = NextLog::kBeingMade;  // no job begins the same
  // Makes and syncs a file.  Meanwhile this writer still leads, so no other seals or writes.
  stall->Begin(StallCause::kLog);
  mutex_.Unlock();
  events_->Deliver();
  const uint64_t from = store_.environment.clock->MonotonicNanos();
  const absl::Status started =
      CatchOutOfMemory([&] { return logs_.Start(number, LogFileId(log_seed_, number)); });
  if (!std::exchange(*counted, true)) counters_.Add(Counter::kStallsLog, 1);
  counters_.Add(Counter::kStallNanos, store_.environment.clock->MonotonicNanos() - from);
  mutex_.Lock();
  next_log_ = NextLog::kTried;
  if (started.ok()) return number;
  AddFailure(FailureKind::kLog, started);
  return started;
}

absl::Status Engine::Flush() {
  TRELLIS_RETURN_IF_ERROR(events_->CheckMayWait("DB::Flush"));
  TRELLIS_RETURN_IF_ERROR(CheckWritable(options_));
  const Call call(this);
  TRELLIS_RETURN_IF_ERROR(call.status());
  // Before this call's turn, so that no writer waits for the log.
  PrepareLog(/*seal_is_near=*/true);
  {
    MutexLock lock(&mutex_);
    while (next_log_ == NextLog::kBeingMade) scheduler_->Wait(&mutex_, &work_done_);
  }
  Writer seal{Writer::Task::kSealMemtable, nullptr, false, false, {}, {}};
  TRELLIS_RETURN_IF_ERROR(Enqueue(&seal));
  const auto failure = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return failures_.FirstOf({FailureKind::kLog, FailureKind::kManifest, FailureKind::kFlush});
  };
  MutexLock lock(&mutex_);
  while (!current_view_->sealed.empty() && failure().ok()) {
    TRELLIS_RETURN_IF_ERROR(CheckOpen());
    scheduler_->Wait(&mutex_, &work_done_);
  }
  return current_view_->sealed.empty() ? absl::OkStatus() : failure();
}

void Engine::PublishView(ReadViewCell::Prepared prepared) {
  if (current_view_ == nullptr || current_view_->version != (*prepared)->version)
    schedule_.NoteChange();
  current_view_ = *prepared;
  view_.Publish(std::move(prepared));
  work_done_.SignalAll();
}

}  // namespace lsm
