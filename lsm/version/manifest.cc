#include "lsm/version/manifest.h"

#include <algorithm>

#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint32_t kCurrentVersion = 1;
constexpr size_t kChecksumBytes = 8;
// A larger CURRENT is not read.
constexpr uint64_t kCurrentBytesMax = 4096;

// CURRENT names a manifest only after the manifest is complete and durable.  So any fault of the
// file is damage.  A missing file is damage too: it must not look like a missing store.
absl::StatusOr<std::unique_ptr<LogReader>> OpenManifest(Directory& directory,
                                                        const Current& current,
                                                        const std::string& name) {
  const std::string path = Concat(directory.path(), "/", name);
  absl::StatusOr<std::unique_ptr<ReadFile>> file = directory.OpenRead(name, ReadMode::kBuffered);
  if (absl::IsNotFound(file.status())) {
    return absl::DataLossError(
        Concat(path, ": CURRENT names this manifest, but there is no such file"));
  }
  if (!file.ok()) return file.status();
  absl::StatusOr<std::unique_ptr<LogReader>> log =
      LogReader::Open(std::move(file).value(), LogKind::kManifest);
  if (!log.ok()) return AsDamage(log.status());
  // A log that ends within its header has no id and no edit; ReadOn reports that.
  if ((*log)->end() != LogEnd::kTorn && (*log)->file_id() != current.manifest_file_id) {
    return DamageAt(path, 0, "this is another manifest than the one that CURRENT names");
  }
  return log;
}

}  // namespace

std::string Current::Encode() const {
  std::string bytes(kCurrentMagic);
  AppendFixed32(&bytes, kCurrentVersion);
  AppendFixed32(&bytes, 0);
  AppendFixed64(&bytes, manifest_number);
  AppendFixed64(&bytes, manifest_file_id);
  AppendFixed64(&bytes, Checksum(bytes, 0, 0));
  return bytes;
}

absl::StatusOr<Current> Current::Decode(std::string_view bytes, std::string_view file) {
  if (!bytes.starts_with(kCurrentMagic))
    return DamageAt(file, 0, "the file does not begin like a CURRENT");
  if (bytes.size() < kCurrentMagic.size() + 4 + kChecksumBytes) {
    return DamageAt(file, bytes.size(), Concat("the file ends after ", bytes.size(), " bytes"));
  }
  // Every version has the checksum at the end, so an unknown version can be distinguished from
  // damage.
  const size_t checked_bytes = bytes.size() - kChecksumBytes;
  if (LoadFixed64(bytes.data() + checked_bytes) != Checksum(bytes.substr(0, checked_bytes), 0, 0)) {
    return DamageAt(file, 0, "the checksum does not match");
  }
  const uint32_t version = LoadFixed32(bytes.data() + 8);
  if (version != kCurrentVersion) {
    return absl::UnimplementedError(Concat(file, ": CURRENT of version ", version,
                                           "; this library knows version ", kCurrentVersion));
  }
  if (bytes.size() != kCurrentBytes) {
    return DamageAt(file, 0,
                    Concat("the file has ", bytes.size(), " bytes instead of ", kCurrentBytes));
  }
  if (const uint32_t reserved = LoadFixed32(bytes.data() + 12); reserved != 0) {
    return absl::UnimplementedError(Concat(file, ": CURRENT: the reserved bytes are ", reserved,
                                           ", and this library knows only 0"));
  }
  Current current;
  current.manifest_number = LoadFixed64(bytes.data() + 16);
  current.manifest_file_id = LoadFixed64(bytes.data() + 24);
  return current;
}

absl::StatusOr<Current> ReadCurrent(Directory& directory, std::string_view name) {
  const std::string path = Concat(directory.path(), "/", name);
  const absl::StatusOr<std::string> bytes = ReadWholeFile(directory, name, kCurrentBytesMax);
  if (bytes.ok()) return Current::Decode(*bytes, path);
  // Only after an error: in an object store Stat costs a call.
  const absl::StatusOr<FileInfo> info = directory.Stat(name);
  if (absl::IsResourceExhausted(bytes.status()) && info.ok() &&
      info->size_bytes > kCurrentBytesMax) {
    return DamageAt(path, 0,
                    Concat("the file has ", info->size_bytes, " bytes instead of ", kCurrentBytes));
  }
  return bytes.status();
}

uint64_t LogFileId(uint64_t log_seed, uint64_t number) {
  std::string bytes;
  AppendFixed64(&bytes, number);
  return Checksum(bytes, log_seed, 0);
}

absl::Status ManifestState::Apply(const VersionEdit& edit, std::string_view file, uint64_t offset) {
  const auto damage = [&](std::string_view what) { return DamageAt(file, offset, what); };
  const auto advance = [&](const std::optional<uint64_t>& to, std::string_view name,
                           uint64_t* value) -> absl::Status {
    if (!to) return absl::OkStatus();
    if (started && *to < *value)
      return damage(Concat(name, " runs backwards, from ", *value, " to ", *to));
    *value = *to;
    return absl::OkStatus();
  };
  if (edit.is_snapshot == started) {
    return damage(started ? "a snapshot that is not the first edit"
                          : "the first edit is not a snapshot");
  }
  if (!started && !edit.digest_seed) return damage("the first edit has no digest seed");
  if (started && edit.digest_seed && *edit.digest_seed != digest_seed)
    return damage("the digest seed changes");
  if (edit.digest_seed) digest_seed = *edit.digest_seed;
  if (started && edit.log_seed && edit.log_seed != log_seed) return damage("the log seed changes");
  if (edit.log_seed) log_seed = edit.log_seed;
  if (started && edit.log_directory && edit.log_directory != log_directory)
    return damage("the log directory changes");
  if (edit.log_directory) log_directory = edit.log_directory;
  TRELLIS_RETURN_IF_ERROR(
      advance(edit.next_file_number, "the next file number", &next_file_number));
  if (next_file_number > kFileNumberMax + 1)
    return damage(Concat("the next file number, ", next_file_number, ", is beyond the largest"));
  TRELLIS_RETURN_IF_ERROR(advance(edit.last_sequence, "the last sequence", &last_sequence));
  TRELLIS_RETURN_IF_ERROR(advance(edit.oldest_log, "the oldest log", &oldest_log));
  synced_logs.insert(edit.synced_logs.begin(), edit.synced_logs.end());
  synced_logs.erase(synced_logs.begin(), synced_logs.lower_bound(oldest_log));
  for (const auto& [number, file_bytes] : edit.closed_logs) {
    const uint64_t before = closed_logs.emplace(number, file_bytes).first->second;
    if (before != file_bytes) {
      return damage(Concat("log ", number, " was closed with ", before, " bytes, and again with ",
                           file_bytes));
    }
  }
  closed_logs.erase(closed_logs.begin(), closed_logs.lower_bound(oldest_log));
  if (const std::string problem = ApplyKeyspaces(edit); !problem.empty()) return damage(problem);
  // Removed tables first: a table that moves to another level is in both lists.
  for (const VersionEdit::Removed& removed : edit.removed) {
    if (levels[static_cast<size_t>(removed.level)].erase(removed.number) == 0) {
      return damage(Concat("table ", removed.number, " is removed from level ", removed.level,
                           ", where it is not"));
    }
  }
  for (const VersionEdit::Added& added : edit.added) {
    const uint64_t number = added.table.number;
    for (size_t level = 0; level < levels.size(); ++level) {
      if (levels[level].contains(number)) {
        return damage(Concat("table ", number, " is added to level ", added.level,
                             ", but is in level ", level));
      }
    }
    if (number >= next_file_number) {
      return damage(
          Concat("table ", number, " is added, but the next file number is ", next_file_number));
    }
    if (const KeyspaceId id = added.table.keyspace; !keyspaces.HasTree(id)) {
      return damage(
          Concat("table ", number, " is added to keyspace ", id,
                 keyspaces.Has(id) ? ", which is in the common tree" : ", which does not exist"));
    }
    levels[static_cast<size_t>(added.level)].emplace(number, added.table);
  }
  started = true;
  return absl::OkStatus();
}

std::string ManifestState::ApplyKeyspaces(const VersionEdit& edit) {
  if (edit.next_keyspace_id) {
    if (std::string problem = keyspaces.Advance(*edit.next_keyspace_id); !problem.empty())
      return problem;
  }
  for (const KeyspaceId id : edit.dropped_keyspaces) {
    if (std::string problem = keyspaces.Drop(id); !problem.empty()) return problem;
    for (auto& level : levels)
      std::erase_if(level, [id](const auto& table) { return table.second.keyspace == id; });
  }
  for (const KeyspaceRecord& record : edit.keyspaces) {
    if (std::string problem = keyspaces.Put(record); !problem.empty()) return problem;
  }
  return "";
}

// Names every field, so that a new one does not compile before it is set here.  A field that is not
// set is lost when the next manifest begins.
VersionEdit ManifestState::ToSnapshot() const {
  VersionEdit edit;
  auto& [edit_is_snapshot, edit_next_file_number, edit_last_sequence, edit_oldest_log,
         edit_digest_seed, edit_log_seed, edit_log_directory, edit_synced_logs, edit_closed_logs,
         edit_added, edit_removed, edit_next_keyspace_id, edit_dropped_keyspaces, edit_keyspaces] =
      edit;
  edit_is_snapshot = true;
  edit_next_file_number = next_file_number;
  edit_last_sequence = last_sequence;
  edit_oldest_log = oldest_log;
  edit_digest_seed = digest_seed;
  edit_log_seed = log_seed;
  edit_log_directory = log_directory;
  edit_synced_logs.assign(synced_logs.begin(), synced_logs.end());
  edit_closed_logs = closed_logs;
  for (size_t level = 0; level < levels.size(); ++level) {
    for (const auto& [number, table] : levels[level])
      edit_added.push_back({static_cast<int>(level), table});
  }
  // So a store that never had keyspaces has a manifest that older releases read.
  if (keyspaces.next_id() != kOtherKeyspaceMin) edit_next_keyspace_id = keyspaces.next_id();
  for (const auto& [id, record] : keyspaces.all()) edit_keyspaces.push_back(record);
  return edit;  // there is nothing to remove or to drop
}

std::set<uint64_t> ManifestState::NeededLogs() const {
  std::set<uint64_t> numbers = synced_logs;
  numbers.insert(oldest_log);
  for (const auto& [number, file_bytes] : closed_logs) numbers.insert(number);
  return numbers;
}

bool ManifestState::NeedsLog(uint64_t number) const {
  return number == oldest_log || synced_logs.contains(number) || closed_logs.contains(number);
}

bool ManifestState::IsLogId(uint64_t number, uint64_t file_id) const {
  return log_seed.has_value() && file_id == LogFileId(*log_seed, number);
}

bool ManifestState::HoldsNoRecord(uint64_t number, uint64_t file_bytes) const {
  return file_bytes <= kLogHeaderBytes && !NeedsLog(number);
}

absl::Status ManifestState::CheckLogId(uint64_t number, std::string_view file, uint64_t file_id,
                                       uint64_t file_bytes) const {
  if (HoldsNoRecord(number, file_bytes)) return absl::OkStatus();
  if (file_id == 0 && NeedsLog(number))
    return DamageAt(file, 0, "the log has no header, but the manifest knows of the log");
  if (!log_seed || IsLogId(number, file_id)) return absl::OkStatus();
  return DamageAt(file, 0,
                  "this is another log than the one that the manifest knows (is "
                  "Options::log_directory another store's?)");
}

absl::Status ManifestState::CheckClosedLog(uint64_t number, std::string_view file, LogEnd end,
                                           uint64_t file_bytes, uint64_t torn_bytes) const {
  const auto closed = closed_logs.find(number);
  if (closed == closed_logs.end()) return absl::OkStatus();
  if (end == LogEnd::kClosed && file_bytes == closed->second) return absl::OkStatus();
  return DamageAt(
      file, file_bytes - torn_bytes,
      Concat("the readable part of the log ends here, and the file has ", file_bytes,
             " bytes; the manifest says that it was closed in order with ", closed->second));
}

absl::Status ManifestState::CheckSyncedLog(uint64_t number, std::string_view file,
                                           uint64_t records) const {
  if (records > 0 || !synced_logs.contains(number)) return absl::OkStatus();
  return DamageAt(file, 0, "the log is empty, but the manifest says that it holds synced writes");
}

absl::Status ManifestState::CheckLogsAreWithTables(std::string_view directory) const {
  if (!log_directory) return absl::OkStatus();
  constexpr size_t kShownBytesMax = 4096;
  return absl::FailedPreconditionError(Concat(
      directory, ": the store's logs are in a directory of their own, when it was last open \"",
      Escape(*log_directory, kShownBytesMax),
      "\": Options::log_directory must name it (if the logs are lost, an empty directory will "
      "do); nothing was changed"));
}

absl::StatusOr<std::unique_ptr<ManifestReader>> ManifestReader::Open(Directory& directory,
                                                                     const Current& current) {
  const std::string name = ManifestFileName(current.manifest_number);
  return CatchOutOfMemoryFor(
      Concat(directory.path(), "/", name),
      [&]() -> absl::StatusOr<std::unique_ptr<ManifestReader>> {
        TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<LogReader> log,
                                 OpenManifest(directory, current, name));
        return std::unique_ptr<ManifestReader>(new ManifestReader(current, std::move(log)));
      });
}

absl::StatusOr<uint64_t> ManifestReader::ReadOn(const OnEdit& on_edit) {
  return CatchOutOfMemoryFor(log_->path(), [&] { return ReadEdits(on_edit); });
}

absl::StatusOr<uint64_t> ManifestReader::ReadEdits(const OnEdit& on_edit) {
  if (edit_count_ > 0) TRELLIS_RETURN_IF_ERROR(log_->Continue());
  const uint64_t before = edit_count_;
  LogReader::Record record;
  while (true) {
    TRELLIS_ASSIGN_OR_RETURN(const bool more, log_->Next(&record));
    if (!more) break;
    TRELLIS_ASSIGN_OR_RETURN(const VersionEdit edit,
                             VersionEdit::Decode(record.payload, log_->path(), record.offset));
    TRELLIS_RETURN_IF_ERROR(state_.Apply(edit, log_->path(), record.offset));
    if (edit_count_ == 0) first_sequence_ = state_.last_sequence;
    edit_count_ += 1;
    if (on_edit) on_edit(record.offset, edit);
  }
  if (edit_count_ == 0)
    return DamageAt(log_->path(), 0, "CURRENT names this manifest, but no edit is left in it");
  return edit_count_ - before;
}

absl::StatusOr<ManifestContents> ReadManifest(Directory& directory,
                                              const ManifestReader::OnEdit& on_edit) {
  TRELLIS_ASSIGN_OR_RETURN(const Current current, ReadCurrent(directory, kCurrentFileName));
  TRELLIS_ASSIGN_OR_RETURN(ManifestContents contents, ReadManifestOf(directory, current, on_edit));
  contents.current_bytes = current.Encode();  // the encoding is unique
  return contents;
}

absl::StatusOr<ManifestContents> ReadManifestOf(Directory& directory, const Current& current,
                                                const ManifestReader::OnEdit& on_edit) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<ManifestReader> reader,
                           ManifestReader::Open(directory, current));
  TRELLIS_RETURN_IF_ERROR(reader->ReadOn(on_edit).status());
  ManifestContents contents;
  contents.current = current;
  contents.file_name = ManifestFileName(current.manifest_number);
  contents.state = reader->TakeState();
  contents.edit_count = reader->edit_count();
  contents.end = reader->end();
  contents.torn_bytes = reader->torn_bytes();
  return contents;
}

absl::StatusOr<std::unique_ptr<ManifestWriter>> ManifestWriter::Create(
    Directory& directory, uint64_t number, uint64_t file_id, const VersionEdit& snapshot,
    std::optional<std::string_view> expected_current, const std::function<void()>& before_current) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<AppendFile> file,
                           directory.CreateExclusive(ManifestFileName(number)));
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<LogWriter> log,
                           LogWriter::Create(std::move(file), LogKind::kManifest, file_id));
  TRELLIS_RETURN_IF_ERROR(log->Append(snapshot.Encode()));
  TRELLIS_RETURN_IF_ERROR(log->Sync());
  // The name must be durable before CURRENT refers to it.
  TRELLIS_RETURN_IF_ERROR(directory.Sync());
  const std::string current_bytes = Current{number, file_id}.Encode();
  TRELLIS_RETURN_IF_ERROR(
      directory.AtomicReplace(kCurrentFileName, current_bytes, expected_current, before_current));
  return std::unique_ptr<ManifestWriter>(new ManifestWriter(number, std::move(log), current_bytes));
}

absl::Status ManifestWriter::Append(const VersionEdit& edit) {
  TRELLIS_RETURN_IF_ERROR(log_->Append(edit.Encode()));
  return log_->Sync();
}

absl::Status ManifestWriter::Close() { return log_->Close(/*sync=*/true); }

}  // namespace lsm
