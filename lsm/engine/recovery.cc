#include "lsm/engine/recovery.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "lsm/base/write_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"

namespace lsm {
namespace {

absl::StatusOr<std::set<uint64_t>> NumbersOf(Directory& directory, FileKind kind) {
  LSM_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
  std::set<uint64_t> numbers;
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (parsed && parsed->kind == kind) numbers.insert(parsed->number);
  }
  return numbers;
}

absl::Status MissingLog(const Directory& directory, uint64_t number) {
  return absl::DataLossError(Concat(directory.path(), "/", LogFileName(number),
                                    ": the log is missing; the manifest says that it holds writes "
                                    "(was the store opened with another Options::log_directory?)"));
}

// False for a log without a record, which is all that a crash may leave of the first opening of a
// store: there are no records before there is a CURRENT.
absl::StatusOr<bool> MayHoldRecords(Directory& directory, const std::string& name) {
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                       directory.OpenRead(name, ReadMode::kBuffered));
  absl::StatusOr<std::unique_ptr<LogReader>> reader =
      LogReader::Open(std::move(file), LogKind::kWriteAhead);
  if (absl::IsUnavailable(reader.status())) return reader.status();  // it could not be read
  if (!reader.ok()) return true;
  LogReader::Record record;
  const absl::StatusOr<bool> more = (*reader)->Next(&record);
  if (absl::IsUnavailable(more.status())) return more.status();
  return !more.ok() || *more;
}

// Replays one log after the other.
class Replay {
 public:
  Replay(Directory& directory, const ManifestState& state, size_t memtable_bytes_max)
      : directory_(directory), state_(state), memtable_bytes_max_(memtable_bytes_max) {
    result_.last_sequence = state.last_sequence;
  }

  absl::Status Log(uint64_t number) {
    const bool was_synced = state_.synced_logs.contains(number);
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                         directory_.OpenRead(LogFileName(number), ReadMode::kBuffered));
    LSM_ASSIGN_OR_RETURN(std::unique_ptr<LogReader> reader,
                         LogReader::Open(std::move(file), LogKind::kWriteAhead));
    LogReader::Record record;
    uint64_t records = 0;
    for (;; ++records) {
      LSM_ASSIGN_OR_RETURN(const bool more, reader->Next(&record));
      if (!more) break;
      LSM_RETURN_IF_ERROR(Apply(record, reader->path(), was_synced));
    }
    if (was_synced && records == 0) {
      return DamageAt(reader->path(), 0,
                      "the log is empty, but the manifest says that it holds synced writes");
    }
    return absl::OkStatus();
  }

  RecoveredLogs Take() { return std::move(result_); }

 private:
  absl::Status Apply(const LogReader::Record& record, const std::string& path, bool was_synced) {
    if (record.payload.size() < WriteBatch::kHeaderBytes) {
      return DamageAt(path, record.offset, "the record is too short for a batch");
    }
    const Sequence first = WriteBatch::FirstSequenceOf(record.payload);
    const uint32_t count = WriteBatch::CountOf(record.payload);
    if (gap_ || first != result_.last_sequence + 1) {
      if (was_synced || first <= result_.last_sequence) {
        return DamageAt(path, record.offset,
                        Concat("the writes before this record are missing: it begins with number ",
                               first, ", the last one before is ", result_.last_sequence));
      }
      gap_ = true;  // all that follows was never synced, and goes with what was lost before it
      return absl::OkStatus();
    }
    if (result_.memtables.empty() ||
        result_.memtables.back()->memory_bytes() >= memtable_bytes_max_) {
      result_.memtables.push_back(std::make_shared<Memtable>());
    }
    LSM_RETURN_IF_ERROR(WithContext(result_.memtables.back()->AddBatch(record.payload),
                                    Concat(path, ": record at offset ", record.offset)));
    result_.last_sequence += count;
    return absl::OkStatus();
  }

  Directory& directory_;
  const ManifestState& state_;
  const size_t memtable_bytes_max_;
  bool gap_ = false;
  RecoveredLogs result_;
};

}  // namespace

absl::StatusOr<uint64_t> HighestFileNumber(Directory& directory) {
  LSM_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
  uint64_t highest = 0;
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (parsed) highest = std::max(highest, parsed->number);
  }
  return highest;
}

absl::StatusOr<RecoveredLogs> ReplayLogs(Directory& log_directory, const ManifestState& state,
                                         size_t memtable_bytes_max) {
  LSM_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers, NumbersOf(log_directory, FileKind::kLog));
  // The name of the oldest log was durable before the manifest stated it; those of synced logs too.
  if (!numbers.contains(state.oldest_log)) return MissingLog(log_directory, state.oldest_log);
  for (const uint64_t number : state.synced_logs) {
    if (!numbers.contains(number)) return MissingLog(log_directory, number);
  }
  Replay replay(log_directory, state, memtable_bytes_max);
  for (auto number = numbers.lower_bound(state.oldest_log); number != numbers.end(); ++number) {
    LSM_RETURN_IF_ERROR(replay.Log(*number));
  }
  return replay.Take();
}

absl::Status CheckNoStore(Directory& directory, Directory& log_directory) {
  for (Directory* each : {&directory, &log_directory}) {
    LSM_ASSIGN_OR_RETURN(const std::vector<std::string> names, each->List());
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      bool of_store = parsed && parsed->kind == FileKind::kTable;
      if (parsed && parsed->kind == FileKind::kLog) {
        LSM_ASSIGN_OR_RETURN(of_store, MayHoldRecords(*each, name));
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

void RemoveOrphans(Directory& directory, Directory& log_directory, const ManifestState& state,
                   uint64_t manifest_number) {
  const auto is_orphan = [&](const FileName& name) {
    switch (name.kind) {
      case FileKind::kTable:
        return std::none_of(state.levels.begin(), state.levels.end(),
                            [&](const auto& level) { return level.contains(name.number); });
      case FileKind::kLog:
        return name.number < state.oldest_log;
      case FileKind::kManifest:
        return name.number != manifest_number;
      case FileKind::kTemporary:
        return true;
      case FileKind::kLock:
      case FileKind::kCurrent:
        return false;
    }
    return false;
  };
  for (Directory* each : {&directory, &log_directory}) {
    const absl::StatusOr<std::vector<std::string>> names = each->List();
    if (!names.ok()) continue;  // they can wait
    for (const std::string& name : *names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      if (parsed && is_orphan(*parsed)) (void)each->Remove(name);
    }
  }
}

}  // namespace lsm
