#include "lsm/store/recovery.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"
#include "lsm/store/store_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Replays one log after the other.
class Replay {
 public:
  // `bytes_written`: as for CheckLogs.
  Replay(Directory& directory, const ManifestState& state, size_t memtable_bytes_max,
         MemtableSink sink, std::map<uint64_t, uint64_t> bytes_written, ReplayedLogs* result)
      : directory_(directory),
        state_(state),
        filler_(memtable_bytes_max, std::move(sink)),
        bytes_written_(std::move(bytes_written)),
        result_(*result) {
    result_.last_sequence = state.last_sequence;
    result_.keyspaces = state.keyspaces;
  }

  absl::Status Log(uint64_t number) {
    return CatchOutOfMemoryFor(Concat(directory_.path(), "/", LogFileName(number)),
                               [&] { return LogUnguarded(number); });
  }
  absl::Status LogUnguarded(uint64_t number) {
    const bool was_durable =
        state_.synced_logs.contains(number) || state_.closed_logs.contains(number);
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                             directory_.OpenRead(LogFileName(number), ReadMode::kBuffered));
    absl::StatusOr<std::unique_ptr<LogReader>> opened =
        LogReader::Open(std::move(file), LogKind::kWriteAhead);
    if (absl::IsInvalidArgument(opened.status())) {
      TRELLIS_ASSIGN_OR_RETURN(const FileInfo info, directory_.Stat(LogFileName(number)));
      if (state_.HoldsNoRecord(number, info.size_bytes)) return absl::OkStatus();
    }
    if (!opened.ok()) return AsDamage(opened.status());
    const std::unique_ptr<LogReader> reader = *std::move(opened);
    TRELLIS_RETURN_IF_ERROR(
        state_.CheckLogId(number, reader->path(), reader->file_id(), reader->size_bytes()));
    ++result_.report.logs;
    LogReader::Record record;
    uint64_t records = 0, records_dropped = 0;
    uint64_t replayed_to = 0;  // the end of the replayed part
    for (;; ++records) {
      if (!gap_ || records == 0) replayed_to = reader->offset();
      TRELLIS_RETURN_IF_ERROR(filler_.MakeRoomForNext(reader.get()));
      TRELLIS_ASSIGN_OR_RETURN(const bool more, reader->Next(&record));
      if (!more) break;
      TRELLIS_RETURN_IF_ERROR(Apply(record, reader.get(), was_durable));
      if (gap_) ++records_dropped;
    }
    TRELLIS_RETURN_IF_ERROR(state_.CheckClosedLog(number, reader->path(), reader->end(),
                                                  reader->size_bytes(), reader->torn_bytes()));
    TRELLIS_RETURN_IF_ERROR(CheckAllIsThere(number, *reader));
    TRELLIS_RETURN_IF_ERROR(state_.CheckSyncedLog(number, reader->path(), records));
    const bool was_synced = was_durable || reader->durable_offset() > kLogHeaderBytes;
    if (records_dropped > 0 || reader->torn_bytes() > 0) {
      result_.report.dropped.push_back({.path = reader->path(),
                                        .offset = replayed_to,
                                        .bytes = reader->size_bytes() - replayed_to,
                                        .records = records_dropped,
                                        .synced_before = was_synced});
    }
    return absl::OkStatus();
  }

  // DataLoss if a log that is known to hold records was not found.
  absl::Status CheckAllWereMet() const {
    const auto log = bytes_written_.lower_bound(state_.oldest_log);
    return log == bytes_written_.end() ? absl::OkStatus() : MissingLog(directory_, log->first);
  }

  absl::Status Finish() { return filler_.HandOver(); }

 private:
  absl::Status CheckAllIsThere(uint64_t number, const LogReader& reader) {
    const auto written = bytes_written_.extract(number);
    const uint64_t end = reader.size_bytes() - reader.torn_bytes();
    if (written.empty() || end >= written.mapped()) return absl::OkStatus();
    return DamageAt(reader.path(), end,
                    Concat("the readable part of the log ends here; ", written.mapped(),
                           " bytes were written to it"));
  }

  absl::Status Apply(const LogReader::Record& record, LogReader* reader, bool was_durable) {
    const std::string& path = reader->path();
    if (record.payload.size() < EncodedBatch::kHeaderBytes) {
      return DamageAt(path, record.offset, "the record is too short for a batch");
    }
    const Sequence first = EncodedBatch::FirstSequenceOf(record.payload);
    const uint32_t count = EncodedBatch::CountOf(record.payload);
    if (gap_ || first != result_.last_sequence + 1) {
      if (was_durable || first <= result_.last_sequence) {
        return DamageAt(path, record.offset,
                        Concat("the writes before this record are missing: it begins with number ",
                               first, ", the last one before is ", result_.last_sequence));
      }
      gap_ = true;  // later records were never synced, and are dropped too
      return absl::OkStatus();
    }
    TRELLIS_RETURN_IF_ERROR(WithContext(CheckBatch(record.payload, &result_.keyspaces),
                                        Concat(path, ": record at offset ", record.offset)));
    const KeyspaceRecords& known = result_.keyspaces;
    TRELLIS_RETURN_IF_ERROR(filler_.Add(
        record.payload, reader, [&](KeyspaceId id) { return known.Has(id); },
        [&](KeyspaceId id) { return known.AreTimed(id); }));
    result_.last_sequence += count;
    ++result_.report.records;
    result_.report.writes += count;
    return absl::OkStatus();
  }

  Directory& directory_;
  const ManifestState& state_;
  MemtableFiller filler_;
  std::map<uint64_t, uint64_t> bytes_written_;  // of the logs that were not read yet
  bool gap_ = false;
  ReplayedLogs& result_;
};

absl::Status ReplayAll(Directory& log_directory, const ManifestState& state, Replay* replay) {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(log_directory, FileKind::kLog));
  // The names of these logs were durable before the manifest listed them.
  for (const uint64_t number : state.NeededLogs()) {
    if (!numbers.contains(number)) return MissingLog(log_directory, number);
  }
  for (auto number = numbers.lower_bound(state.oldest_log); number != numbers.end(); ++number) {
    TRELLIS_RETURN_IF_ERROR(replay->Log(*number));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MissingLog(const Directory& directory, uint64_t number) {
  return absl::DataLossError(Concat(directory.path(), "/", LogFileName(number),
                                    ": the log is missing; the manifest says that it holds writes "
                                    "(was the store opened with another Options::log_directory?)"));
}

absl::StatusOr<bool> HoldsWrites(Directory& log_directory, const std::string& name) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                           log_directory.OpenRead(name, ReadMode::kBuffered));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t file_bytes, file->Size());
  if (file_bytes <= kLogHeaderBytes) return false;
  absl::StatusOr<std::unique_ptr<LogReader>> reader =
      LogReader::Open(std::move(file), LogKind::kWriteAhead);
  if (IsDamage(reader.status()) || absl::IsUnimplemented(reader.status())) return true;
  TRELLIS_RETURN_IF_ERROR(reader.status());
  LogReader::Record record;
  const absl::StatusOr<bool> more = (*reader)->Next(&record);
  if (!more.ok() && !IsDamage(more.status())) return more.status();
  return !more.ok() || *more || (*reader)->end() == LogEnd::kClosed;
}

namespace {

absl::StatusOr<bool> HoldsLogs(Directory& log_directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(log_directory, FileKind::kLog));
  for (const uint64_t number : numbers) {
    TRELLIS_ASSIGN_OR_RETURN(const Origin origin,
                             OriginOf(log_directory, LogFileName(number), FileKind::kLog));
    if (origin == Origin::kStore) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckLogsBelong(Directory& log_directory, const ManifestState& state) {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(log_directory, FileKind::kLog));
  const std::set<uint64_t> needed = state.NeededLogs();
  bool any_is_ours = false;
  for (auto number = numbers.lower_bound(state.oldest_log); number != numbers.end(); ++number) {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                             log_directory.OpenRead(LogFileName(*number), ReadMode::kBuffered));
    const absl::StatusOr<std::unique_ptr<LogReader>> reader =
        LogReader::Open(std::move(file), LogKind::kWriteAhead);
    // A damaged log does not say whose it is.
    if (IsDamage(reader.status()) || (reader.ok() && (*reader)->end() == LogEnd::kTorn)) {
      any_is_ours |= needed.contains(*number);
      continue;
    }
    TRELLIS_RETURN_IF_ERROR(reader.status());
    const absl::Status id =
        state.CheckLogId(*number, (*reader)->path(), (*reader)->file_id(), (*reader)->size_bytes());
    if (!id.ok())
      return absl::FailedPreconditionError(
          Concat(MessageOf(id), "; nothing was changed (if it is a left-over, move it away)"));
    // A log that is not needed and has no records may have any id.
    any_is_ours |= needed.contains(*number) || state.IsLogId(*number, (*reader)->file_id());
  }
  if (any_is_ours) return absl::OkStatus();
  // Logs with lower numbers are from earlier openings, whose seeds are unknown now.
  for (const uint64_t number : numbers) {
    const std::string name = LogFileName(number);
    TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(log_directory, name, FileKind::kLog));
    if (origin != Origin::kStore) continue;
    return absl::FailedPreconditionError(Concat(
        log_directory.path(), "/", name,
        ": a log, but the directory has no log that the store needs (is it another store's "
        "Options::log_directory?); nothing was changed (if it is a left-over, move it away)"));
  }
  return absl::OkStatus();
}

absl::Status CheckLogsAreNotElsewhere(const StoreDirectory& there, const ManifestState& state) {
  if (!there.own_log_path || !state.log_directory || *there.own_log_path == *state.log_directory)
    return absl::OkStatus();
  if (there.own_log_directory != nullptr) {
    TRELLIS_ASSIGN_OR_RETURN(const bool holds_logs, HoldsLogs(*there.own_log_directory));
    if (holds_logs) return absl::OkStatus();
  }
  const absl::StatusOr<std::unique_ptr<Directory>> recorded =
      there.environment.log_file_system->OpenDirectory(*state.log_directory, /*create=*/false);
  if (absl::IsNotFound(recorded.status())) return absl::OkStatus();
  TRELLIS_RETURN_IF_ERROR(recorded.status());
  TRELLIS_ASSIGN_OR_RETURN(const bool holds_logs, HoldsLogs(**recorded));
  // Another store's logs do not count.
  if (!holds_logs || absl::IsFailedPrecondition(CheckLogsBelong(**recorded, state)))
    return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat(*there.own_log_path, ": no log of the store is in this directory; they are in ",
             (*recorded)->path(),
             ", which Options::log_directory must name (remove that directory if the logs are not "
             "needed); nothing was changed"));
}

absl::Status ReplayLogs(Directory& log_directory, const ManifestState& state,
                        size_t memtable_bytes_max, const MemtableSink& sink,
                        ReplayedLogs* replayed) {
  Replay replay(log_directory, state, memtable_bytes_max, sink, {}, replayed);
  TRELLIS_RETURN_IF_ERROR(ReplayAll(log_directory, state, &replay));
  return replay.Finish();
}

absl::StatusOr<RecoveryReport> CheckLogs(Directory& log_directory, const ManifestState& state,
                                         std::map<uint64_t, uint64_t> bytes_written) {
  constexpr size_t kMemtableBytesMax = size_t{1} << 20;
  const MemtableSink drop = [](const std::shared_ptr<const Memtable>&) { return absl::OkStatus(); };
  ReplayedLogs replayed;
  Replay replay(log_directory, state, kMemtableBytesMax, drop, std::move(bytes_written), &replayed);
  TRELLIS_RETURN_IF_ERROR(ReplayAll(log_directory, state, &replay));
  TRELLIS_RETURN_IF_ERROR(replay.CheckAllWereMet());
  TRELLIS_RETURN_IF_ERROR(replay.Finish());
  return std::move(replayed.report);
}

absl::Status CheckNoStore(Directory& directory, Directory& log_directory) {
  for (Directory* each : {&directory, &log_directory}) {
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, each->List());
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      bool of_store = parsed && parsed->kind == FileKind::kTable;
      if (parsed && parsed->kind == FileKind::kLog) {
        TRELLIS_ASSIGN_OR_RETURN(of_store, HoldsWrites(*each, name));
      }
      if (of_store) {
        return absl::DataLossError(Concat(directory.path(), "/", kCurrentFileName,
                                          ": the file is missing, but there is ", each->path(), "/",
                                          name, ", which belongs to a store"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLogDirectoryIsFree(Directory& log_directory) {
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(log_directory, FileKind::kLog));
  for (const uint64_t number : numbers) {
    const std::string name = LogFileName(number);
    TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(log_directory, name, FileKind::kLog));
    if (origin == Origin::kForeign) continue;  // it will stay
    return absl::AlreadyExistsError(
        Concat(log_directory.path(), "/", name,
               ": a log of another store (each needs an Options::log_directory of its own)"));
  }
  return absl::OkStatus();
}

absl::Status CheckKeyspacesAct(const KeyspaceRecords& records, const Options& store) {
  for (const auto& [id, record] : records.all()) {
    const auto unimplemented = [&record = record](std::string_view what) {
      return absl::UnimplementedError(Concat("the keyspace \"", Escape(record.name), "\" ", what));
    };
    if (record.options.expire_after.value_or(0) != 0 && !record.marks.are_timed()) {
      return unimplemented(
          "has KeyspaceOptions::expire_after, but not the time of its first limit");
    }
  }
  if (!records.any() || IsForReading(store.mode)) return absl::OkStatus();
  for (const auto& [id, record] : records.all()) {
    // The store may have other options now than when the keyspace was created.
    TRELLIS_RETURN_IF_ERROR(WithContext(ValidateKeyspace(record.name, record.options, store),
                                        Concat("keyspace \"", Escape(record.name), "\"")));
  }
  return absl::OkStatus();
}

void RemoveOrphans(Directory& directory, Directory& log_directory, const ManifestState& state,
                   uint64_t manifest_number, const std::function<bool(uint64_t table)>& is_read) {
  const auto is_orphan = [&](const FileName& name) {
    switch (name.kind) {
      case FileKind::kTable:
        return std::none_of(state.levels.begin(), state.levels.end(),
                            [&](const auto& level) { return level.contains(name.number); }) &&
               (is_read == nullptr || !is_read(name.number));
      case FileKind::kLog:
        return name.number < state.oldest_log;
      case FileKind::kManifest:
        return name.number != manifest_number;
      case FileKind::kTemporary:
        return true;
      case FileKind::kLock:
      case FileKind::kCurrent:
      case FileKind::kReserve:
        return false;
    }
    return false;
  };
  const auto remove_from = [&](Directory* each) -> absl::Status {
    const bool logs_alone = each != &directory;
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, each->List());
    std::vector<std::string> orphans;
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      if (!parsed || !is_orphan(*parsed)) continue;
      if (logs_alone && parsed->kind != FileKind::kLog) continue;
      const absl::StatusOr<Origin> origin = OriginOf(*each, name, parsed->kind);
      if (origin.ok() && *origin != Origin::kForeign) orphans.push_back(name);
    }
    each->RemoveLater(orphans);
    return absl::OkStatus();
  };
  // A file that cannot be removed now can wait.
  for (Directory* each : {&directory, &log_directory})
    CatchOutOfMemory([&] { return remove_from(each); }).IgnoreError();
}

}  // namespace lsm
