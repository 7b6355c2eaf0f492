// RepairJob, step 1: finds the files.
#include <algorithm>
#include <utility>

#include "lsm/bytes/checksum.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/filter_plan.h"
#include "lsm/repair/repair_job.h"
#include "lsm/store/recovery.h"
#include "lsm/store/store_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kDamagedCurrentBytesMax = uint64_t{1} << 20;  // limit for a damaged one

}  // namespace

RepairJob::RepairJob(const Options& options, StoreDirectory store)
    : options_(options),
      store_(std::move(store)),
      directory_(*store_.directory),
      logs_(store_.log_directory()) {}

absl::StatusOr<RepairReport> RepairJob::Run() {
  TRELLIS_RETURN_IF_ERROR(Prepare());
  if (levels_known_) {
    TRELLIS_RETURN_IF_ERROR(SalvageLevels());
  } else {
    TRELLIS_RETURN_IF_ERROR(SalvageLooseTables());
  }
  TRELLIS_RETURN_IF_ERROR(ReadCommonTree());
  TRELLIS_RETURN_IF_ERROR(SalvageLogs());
  TRELLIS_RETURN_IF_ERROR(PlaceTables());
  TRELLIS_RETURN_IF_ERROR(CheckOutcome());
  TRELLIS_RETURN_IF_ERROR(KeepDamagedFiles());
  TRELLIS_RETURN_IF_ERROR(WriteManifest());
  RemoveDamagedFiles();
  return std::move(report_);
}

absl::Status RepairJob::Prepare() {
  TRELLIS_RETURN_IF_ERROR(FindManifest());
  if (levels_known_) {
    needed_logs_ = state_.NeededLogs();
    manifest_keyspaces_ = state_.keyspaces;
    keyspaces_.StartWith(manifest_keyspaces_, state_.last_sequence);
    NoteOptions(manifest_keyspaces_);
  } else {
    TRELLIS_RETURN_IF_ERROR(FindDigestSeed());
  }
  // The numbers of existing files decide, since a manifest may claim anything.
  if (state_.next_file_number > kFileNumberMax / 2) state_.next_file_number = 1;
  TRELLIS_ASSIGN_OR_RETURN(next_number_,
                           NextFileNumber(directory_, logs_, state_.next_file_number));
  first_new_number_ = next_number_;
  context_.options = &options_;
  context_.directory = &directory_;
  context_.clock = store_.environment.clock;
  context_.random = store_.environment.random;
  context_.digest_seed = state_.digest_seed;
  context_.table_context.digest_seed = state_.digest_seed;
  context_.new_file_number = [this] {
    made_.Add(&directory_, TableFileName(next_number_));
    return next_number_++;
  };
  TRELLIS_RETURN_IF_ERROR(ChooseFilters(options_, &context_));
  return absl::OkStatus();
}

absl::Status RepairJob::ReadCurrent() {
  const absl::StatusOr<FileInfo> info = directory_.Stat(kCurrentFileName);
  if (info.ok() && info->size_bytes > kDamagedCurrentBytesMax) {
    LeaveOut(Concat(directory_.path(), "/", kCurrentFileName, ": offset 0: the file has ",
                    info->size_bytes, " bytes instead of ", kCurrentBytes));
    current_is_damaged_ = true;
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> bytes =
      ReadWholeFile(directory_, kCurrentFileName, kDamagedCurrentBytesMax);
  if (absl::IsNotFound(bytes.status())) {
    LeaveOut(Concat(directory_.path(), "/", kCurrentFileName, ": the file is missing"));
    return absl::OkStatus();
  }
  TRELLIS_RETURN_IF_ERROR(bytes.status());
  current_bytes_ = *std::move(bytes);
  const absl::StatusOr<Current> decoded =
      Current::Decode(*current_bytes_, Concat(directory_.path(), "/", kCurrentFileName));
  if (decoded.ok()) {
    current_ = *decoded;
    return absl::OkStatus();
  }
  if (!IsDamage(decoded.status())) return decoded.status();
  LeaveOut(std::string(MessageOf(decoded.status())));
  current_is_damaged_ = true;
  return absl::OkStatus();
}

// Finds the manifest that CURRENT names, or the newest one that is readable and fits.
absl::Status RepairJob::FindManifest() {
  TRELLIS_RETURN_IF_ERROR(ReadCurrent());
  if (current_) TRELLIS_RETURN_IF_ERROR(TryManifest(current_->manifest_number));
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(directory_, FileKind::kManifest));
  for (auto number = numbers.rbegin(); !levels_known_ && number != numbers.rend(); ++number) {
    if (current_ && *number == current_->manifest_number) continue;
    TRELLIS_RETURN_IF_ERROR(TryManifest(*number));
  }
  if (!levels_known_) {
    LeaveOut(
        "no manifest is reliable: every table and log in the directory is taken, also obsolete "
        "ones, so old values and deleted keys may come back");
  }
  return absl::OkStatus();
}

absl::Status RepairJob::TryManifest(uint64_t number) {
  const std::string name = ManifestFileName(number);
  const bool is_named = current_ && current_->manifest_number == number;
  absl::StatusOr<ManifestContents> contents = ReadManifestNumber(number);
  if (contents.ok()) {
    keyspaces_.AdvanceTo(contents->state.keyspaces.next_id());
    if (is_named) {
      TRELLIS_RETURN_IF_ERROR(store_.own_log_path
                                  ? CheckLogsAreNotElsewhere(store_, contents->state)
                                  : contents->state.CheckLogsAreWithTables(directory_.path()));
    }
    // A separate log directory may be another store's.  Then its logs do not fit.
    if (is_named && store_.own_log_directory != nullptr) {
      TRELLIS_RETURN_IF_ERROR(CheckLogsBelong(logs_, contents->state));
      logs_are_ours_ = true;
    }
    TRELLIS_ASSIGN_OR_RETURN(levels_known_, FitsTheFiles(contents->state, number));
    if (levels_known_) {
      log_ids_known_ = is_named;
      state_ = std::move(contents->state);
      return absl::OkStatus();
    }
  } else if (!IsDamage(contents.status())) {
    return contents.status();
  } else {
    // The file that CURRENT names was Trellis's, whatever its content is now.
    TRELLIS_ASSIGN_OR_RETURN(const bool foreign,
                             is_named ? false : IsForeign(directory_, name, FileKind::kManifest));
    if (foreign) return absl::OkStatus();
    LeaveOut(std::string(MessageOf(contents.status())));
  }
  damaged_.insert(name);
  return absl::OkStatus();
}

absl::StatusOr<ManifestContents> RepairJob::ReadManifestNumber(uint64_t number) {
  if (current_ && current_->manifest_number == number) return ReadManifestOf(directory_, *current_);
  // Reads it as if CURRENT named it.
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                           directory_.OpenRead(ManifestFileName(number), ReadMode::kBuffered));
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<LogReader> log,
                           LogReader::Open(std::move(file), LogKind::kManifest));
  return ReadManifestOf(directory_, {number, log->file_id()});
}

// A manifest that is older than the tables, or lost its end, must not make newer tables look
// obsolete.  Tables that it does not list are obsolete or unfinished only if CURRENT names it and
// all files exist that it needs, since a job removes files only after its edit is durable.
// Otherwise their state is unknown.
absl::StatusOr<bool> RepairJob::FitsTheFiles(const ManifestState& state, uint64_t number) {
  TRELLIS_ASSIGN_OR_RETURN(std::set<uint64_t> unknown, NumbersOf(directory_, FileKind::kTable));
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> logs, NumbersOf(logs_, FileKind::kLog));
  std::string missing;
  for (const auto& level : state.levels) {
    for (const auto& [table, meta] : level) {
      if (unknown.erase(table) == 0) missing = TableFileName(table);
    }
  }
  for (const uint64_t log : state.NeededLogs()) {
    if (!logs.contains(log)) missing = LogFileName(log);
  }
  const bool is_named = current_ && current_->manifest_number == number;
  if (is_named && missing.empty()) return true;
  for (const uint64_t table : unknown) {
    const std::string name = TableFileName(table);
    TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(directory_, name, FileKind::kTable));
    if (origin != Origin::kStore) continue;
    LeaveOut(Concat(directory_.path(), "/", ManifestFileName(number), ": it does not know ", name,
                    missing.empty() ? ", and CURRENT does not name it"
                                    : Concat(", and files that it needs are missing: ", missing)));
    return false;
  }
  return true;
}

// Takes the seed of the tables, so that their filters stay usable.
absl::Status RepairJob::FindDigestSeed() {
  state_.digest_seed = NewDigestSeed(options_.filter_hash, *store_.environment.random);
  TRELLIS_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers,
                           NumbersOf(directory_, FileKind::kTable));
  for (const uint64_t number : numbers) {
    const absl::StatusOr<std::unique_ptr<Table>> table = OpenAnyTable(number, nullptr);
    if (!table.ok() && !IsDamage(table.status())) return table.status();
    if (!table.ok()) continue;
    const auto seed = (*table)->properties().digest_seed_and_hash();
    if (!seed) continue;
    state_.digest_seed = *seed;
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Table>> RepairJob::OpenAnyTable(uint64_t number,
                                                               const TableMeta* record) {
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                           directory_.OpenRead(TableFileName(number), ReadMode::kBuffered));
  TableContext context;
  if (record != nullptr) context.file_id = record->file_id;
  context.partitions_on_demand = true;  // a damaged partition does not affect others
  context.opens_without_ranges = true;  // nor do damaged range deletes affect entries
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Table> table, Table::Open(std::move(file), context));
  // The id was given, even if nothing of the table can be saved.
  if (const uint64_t id = table->properties().keyspace; id < KeyspaceRecords::kIdEnd)
    keyspaces_.AdvanceTo(id + 1);
  TRELLIS_RETURN_IF_ERROR(CheckKeyspaceOf(*table, record));
  return table;
}

absl::Status RepairJob::CheckKeyspaceOf(const Table& table, const TableMeta* record) {
  const uint64_t keyspace = table.properties().keyspace;
  if (record != nullptr ? keyspace == record->keyspace : keyspace < KeyspaceRecords::kIdEnd)
    return absl::OkStatus();
  return DamageAt(table.path(), table.footer().properties.offset,
                  Concat("the properties say keyspace ", keyspace,
                         record != nullptr ? Concat(", the manifest says ", record->keyspace)
                                           : ", which is too large"));
}

absl::StatusOr<bool> RepairJob::IsForeign(Directory& directory, const std::string& name,
                                          FileKind kind) {
  TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(directory, name, kind));
  if (origin != Origin::kForeign) return false;
  LeaveOut(Concat(directory.path(), "/", name,
                  ": offset 0: not a file of Trellis; it stays where it is"));
  return true;
}

void RepairJob::LeaveOut(std::string line) {
  if (!left_out_digests_.insert(Checksum(line, 0, 0)).second) return;
  if (report_.left_out.size() < RepairReport::kLeftOutLinesMax) {
    report_.left_out.push_back(std::move(line));
  } else {
    ++report_.left_out_unnamed;
  }
}

}  // namespace lsm
