#include "lsm/follow/followed_logs.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/store/memtable_filler.h"
#include "lsm/store/store_files.h"

namespace lsm::inline TRELLIS_ABI {

void FollowedLogs::StartOver(const ManifestState& state) {
  logs_.clear();
  last_ = state.last_sequence;
  NoteEdits();
}

void FollowedLogs::NoteEdits() {
  keyspaces_.reset();
  is_shared_ = false;
}

absl::Status FollowedLogs::ReadOn(Directory& directory, const ManifestState& state,
                                  uint64_t refresh) {
  // The tables hold what these logs held.
  logs_.erase(logs_.begin(), logs_.lower_bound(state.oldest_log));
  last_ = std::max(last_, state.last_sequence);
  is_at_gap_ = false;
  TRELLIS_RETURN_IF_ERROR(MakeKeyspaces(state));
  Pass pass{&directory, &state, refresh};
  TRELLIS_RETURN_IF_ERROR(ReadAll(&pass));
  is_at_gap_ = pass.is_at_gap;
  if (pass.gap_is_damage) {
    return DamageAt(pass.gap_at->reader->path(), pass.gap_at->held->offset,
                    Concat("the writes before this record are missing: it begins with number ",
                           EncodedBatch::FirstSequenceOf(pass.gap_at->held->payload),
                           ", the last one before is ", last_));
  }
  // There are three other explanations.  The writer appended to a log after it was read here, and
  // then began the next one: the next refresh reads on.  The writes are in tables of a later state.
  // Or a crash lost the end of a log that was not synced: the next opening for writing drops the
  // records after the gap.
  return absl::OkStatus();
}

absl::Status FollowedLogs::MakeKeyspaces(const ManifestState& state) {
  if (keyspaces_) return absl::OkStatus();
  KeyspaceRecords keyspaces = state.keyspaces;
  for (auto log = logs_.lower_bound(state.oldest_log); log != logs_.end(); ++log) {
    for (const KeyspaceChange& change : log->second.memtable->changes()) {
      const std::string problem = keyspaces.Replay(change);
      if (problem.empty()) continue;
      return absl::DataLossError(
          Concat(log->second.reader->path(), ": a change does not fit the manifest: ", problem));
    }
  }
  keyspaces_ = std::move(keyspaces);
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const KeyspaceRecords>> FollowedLogs::KeyspacesFor(
    const ManifestState& state) {
  TRELLIS_RETURN_IF_ERROR(MakeKeyspaces(state));
  if (!is_shared_ && (shared_ == nullptr || *shared_ != *keyspaces_))
    shared_ = std::make_shared<const KeyspaceRecords>(*keyspaces_);
  is_shared_ = true;
  return shared_;
}

absl::Status FollowedLogs::ReadAll(Pass* pass) {
  TRELLIS_ASSIGN_OR_RETURN(std::set<uint64_t> numbers, NumbersOf(*pass->directory, FileKind::kLog));
  for (const auto& [number, log] : logs_) numbers.insert(number);  // open, though perhaps removed
  for (auto number = numbers.lower_bound(pass->state->oldest_log);
       number != numbers.end() && !pass->is_at_gap; ++number) {
    const absl::Status status = ReadLog(*number, pass);
    if (status.ok()) continue;
    // A log without writes may be removed while it is read, and no edit says so.
    const auto log = logs_.find(*number);
    const bool has_writes = log != logs_.end() && log->second.records > 0;
    const bool is_removed = absl::IsNotFound(pass->directory->Stat(LogFileName(*number)).status());
    if (has_writes || !is_removed) return status;
    logs_.erase(*number);
  }
  for (const uint64_t number : pass->state->NeededLogs()) {
    if (numbers.contains(number) && (pass->is_at_gap || logs_.contains(number))) continue;
    return absl::UnavailableError(Concat(pass->directory->path(), "/", LogFileName(number),
                                         ": the log is missing; the manifest says that it holds "
                                         "writes"));
  }
  return absl::OkStatus();
}

absl::Status FollowedLogs::ReadLog(uint64_t number, Pass* pass) {
  TRELLIS_ASSIGN_OR_RETURN(Log * log, Open(number, *pass));
  if (log == nullptr) return absl::OkStatus();
  TRELLIS_RETURN_IF_ERROR(TakeRecords(log, pass));
  const ManifestState& state = *pass->state;
  if (pass->is_at_gap) {
    pass->gap_at = log;
    pass->gap_is_damage = state.synced_logs.contains(number) || state.closed_logs.contains(number);
    return absl::OkStatus();
  }
  const LogReader& reader = *log->reader;
  TRELLIS_RETURN_IF_ERROR(state.CheckClosedLog(number, reader.path(), reader.end(),
                                               reader.size_bytes(), reader.torn_bytes()));
  return state.CheckSyncedLog(number, reader.path(), log->records);
}

absl::StatusOr<FollowedLogs::Log*> FollowedLogs::Open(uint64_t number, const Pass& pass) {
  const auto found = logs_.find(number);
  if (found != logs_.end()) return &found->second;
  const std::string name = LogFileName(number);
  absl::StatusOr<std::unique_ptr<ReadFile>> file =
      pass.directory->OpenRead(name, ReadMode::kBuffered);
  if (absl::IsNotFound(file.status())) return nullptr;  // removed since the list was read
  TRELLIS_RETURN_IF_ERROR(file.status());
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t file_bytes, (*file)->Size());
  absl::StatusOr<std::unique_ptr<LogReader>> reader =
      LogReader::Open(*std::move(file), LogKind::kWriteAhead);
  if (absl::IsInvalidArgument(reader.status()) && pass.state->HoldsNoRecord(number, file_bytes))
    return nullptr;
  if (!reader.ok()) return AsDamage(reader.status());
  TRELLIS_RETURN_IF_ERROR(pass.state->CheckLogId(number, (*reader)->path(), (*reader)->file_id(),
                                                 (*reader)->size_bytes()));
  // Being made, or made by an opening that has not changed CURRENT: it has no records.
  if ((*reader)->end() == LogEnd::kTorn ||
      (pass.state->log_seed && !pass.state->IsLogId(number, (*reader)->file_id())))
    return nullptr;
  Log log;
  log.reader = *std::move(reader);
  return &logs_.emplace(number, std::move(log)).first->second;
}

absl::Status FollowedLogs::TakeRecords(Log* log, Pass* pass) {
  LogReader* const reader = log->reader.get();
  if (log->held) {
    TRELLIS_ASSIGN_OR_RETURN(const bool taken, TakeHeld(log));
    if (!taken) {
      pass->is_at_gap = true;
      return absl::OkStatus();
    }
  }
  TRELLIS_RETURN_IF_ERROR(reader->Continue());
  while (true) {
    LogReader::Record record;
    const absl::StatusOr<bool> more = reader->Next(&record);
    if (absl::IsDataLoss(more.status())) return Judge(more.status(), pass->refresh, log);
    TRELLIS_RETURN_IF_ERROR(more.status());
    if (!*more) break;
    ++log->records;
    log->held = record;
    TRELLIS_ASSIGN_OR_RETURN(const bool taken, TakeHeld(log));
    if (!taken) {
      pass->is_at_gap = true;
      return absl::OkStatus();
    }
  }
  if (reader->end() == LogEnd::kTorn && !reader->ends_within_record())
    return Judge(absl::OkStatus(), pass->refresh, log);
  log->unreadable.reset();
  return absl::OkStatus();
}

absl::StatusOr<bool> FollowedLogs::TakeHeld(Log* log) {
  const LogReader::Record& record = *log->held;
  const std::string& path = log->reader->path();
  if (record.payload.size() < EncodedBatch::kHeaderBytes)
    return DamageAt(path, record.offset, "the record is too short for a batch");
  const Sequence first = EncodedBatch::FirstSequenceOf(record.payload);
  if (first > last_ + 1) return false;
  if (first <= last_) {
    return DamageAt(
        path, record.offset,
        Concat("the record begins with number ", first, ", but ", last_, " is already there"));
  }
  // After a failure it is unknown which changes of the batch they have.
  std::optional<KeyspaceRecords> keyspaces = std::exchange(keyspaces_, std::nullopt);
  const auto are_timed = [&](KeyspaceId id) { return keyspaces->AreTimed(id); };
  const Memtable::IsTimed is_timed = are_timed;
  const auto prepare = [&]() -> absl::Status {
    TRELLIS_RETURN_IF_ERROR(CheckBatch(record.payload, &*keyspaces));
    return log->memtable->PrepareBatch(record.payload, /*ranges=*/nullptr, &is_timed);
  };
  TRELLIS_RETURN_IF_ERROR(
      WithContext(prepare(), Concat(path, ": record at offset ", record.offset)));
  const size_t changes = log->memtable->changes().size();
  // Readers do not see the entries before they have a view with a higher number.
  log->memtable->AddPrepared();
  keyspaces_ = std::move(keyspaces);
  if (log->memtable->changes().size() != changes) is_shared_ = false;
  last_ += EncodedBatch::CountOf(record.payload);
  log->reader->GiveBackPayload(record.payload.size());
  log->held.reset();
  return true;
}

absl::Status FollowedLogs::Judge(const absl::Status& error, uint64_t refresh, Log* log) {
  const LogReader& reader = *log->reader;
  const bool is_known = log->unreadable && log->unreadable->offset == reader.offset();
  if (!is_known) log->unreadable = {reader.offset(), reader.size_bytes(), refresh};
  // Torn or damaged, as the reader says.
  if (is_known && reader.size_bytes() == log->unreadable->file_bytes) return error;
  if (is_known && refresh != log->unreadable->refresh) {
    return !error.ok() ? error
                       : DamageAt(reader.path(), reader.offset(),
                                  "a record cannot be read, and the log goes on after it");
  }
  return absl::AbortedError(
      Concat(reader.path(), ": offset ", reader.offset(), ": the record cannot be read yet"));
}

std::vector<std::shared_ptr<const Memtable>> FollowedLogs::MemtablesFor(
    const ManifestState& state) const {
  std::vector<std::shared_ptr<const Memtable>> memtables;
  for (auto log = logs_.rbegin(); log != logs_.rend() && log->first >= state.oldest_log; ++log) {
    if (!log->second.memtable->empty()) memtables.push_back(log->second.memtable);
  }
  return memtables;
}

}  // namespace lsm
