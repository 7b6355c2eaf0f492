// RepairJob: what there is.
#include <algorithm>
#include <utility>

#include "bloom/filter_policy.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/repair_job.h"
#include "lsm/engine/store_files.h"

namespace lsm {
namespace {

constexpr uint64_t kCurrentBytesMax = uint64_t{1} << 20;  // of one that is damaged

}  // namespace

RepairJob::RepairJob(const Options& options, StoreDirectory store)
    : options_(options),
      store_(std::move(store)),
      directory_(*store_.directory),
      logs_(store_.log_directory()) {}

absl::StatusOr<RepairReport> RepairJob::Run() {
  LSM_RETURN_IF_ERROR(Prepare());
  if (levels_known_) {
    LSM_RETURN_IF_ERROR(SalvageLevels());
  } else {
    LSM_RETURN_IF_ERROR(SalvageLooseTables());
  }
  LSM_RETURN_IF_ERROR(SalvageLogs());
  LSM_RETURN_IF_ERROR(MergeLooseEntries());
  LSM_RETURN_IF_ERROR(KeepDamagedFiles());
  LSM_RETURN_IF_ERROR(WriteManifest());
  RemoveDamagedFiles();
  return std::move(report_);
}

absl::Status RepairJob::Prepare() {
  LSM_ASSIGN_OR_RETURN(const uint64_t highest, HighestFileNumber(directory_));
  LSM_ASSIGN_OR_RETURN(const uint64_t highest_log, HighestFileNumber(logs_));
  next_number_ = std::max(highest, highest_log) + 1;
  LSM_RETURN_IF_ERROR(FindManifest());
  if (levels_known_) {
    next_number_ = std::max(next_number_, state_.next_file_number);
    needed_logs_ = state_.NeededLogs();
  } else {
    LSM_RETURN_IF_ERROR(FindDigestSeed());
  }
  context_.options = &options_;
  context_.directory = &directory_;
  context_.clock = store_.environment.clock;
  context_.random = store_.environment.random;
  context_.digest_seed = state_.digest_seed;
  context_.table_context.digest_seed = state_.digest_seed;
  context_.new_file_number = [this] { return next_number_++; };
  if (options_.filter_kind != "none") {
    LSM_ASSIGN_OR_RETURN(context_.filter_policy, bloom::PolicyFromName(options_.filter_kind));
  }
  return absl::OkStatus();
}

// The manifest that CURRENT names; or, where that is damaged or missing, the newest one that can
// be read.
absl::Status RepairJob::FindManifest() {
  absl::StatusOr<std::string> current =
      ReadWholeFile(directory_, kCurrentFileName, kCurrentBytesMax);
  if (current.ok()) {
    current_bytes_ = *std::move(current);
    const absl::StatusOr<Current> decoded = Current::Decode(*current_bytes_, directory_.path());
    current_is_damaged_ = !decoded.ok();
    if (decoded.ok()) named_manifest_ = decoded->manifest_number;
  } else if (!absl::IsNotFound(current.status())) {
    return current.status();
  }
  absl::StatusOr<ManifestContents> contents = ReadManifest(directory_);
  if (!contents.ok()) {
    LeaveOut(std::string(MessageOf(contents.status())));
    LSM_ASSIGN_OR_RETURN(std::set<uint64_t> numbers, NumbersOf(directory_, FileKind::kManifest));
    for (auto number = numbers.rbegin(); !contents.ok() && number != numbers.rend(); ++number)
      contents = TryManifest(*number);
  }
  if (!contents.ok()) {
    LeaveOut(
        "no manifest can be read: every table and log in the directory is taken, also such as were "
        "obsolete, so that old values and deleted keys may come back");
    return absl::OkStatus();
  }
  levels_known_ = true;
  state_ = std::move(contents->state);
  return absl::OkStatus();
}

// Reads it as if CURRENT named it.
absl::StatusOr<ManifestContents> RepairJob::TryManifest(uint64_t number) {
  const std::string name = ManifestFileName(number);
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                       directory_.OpenRead(name, ReadMode::kBuffered));
  absl::StatusOr<std::unique_ptr<LogReader>> log =
      LogReader::Open(std::move(file), LogKind::kManifest);
  absl::StatusOr<ManifestContents> contents =
      log.ok() ? ReadManifestOf(directory_, {number, (*log)->file_id()})
               : absl::StatusOr<ManifestContents>(log.status());
  if (contents.ok()) return contents;
  if (number != named_manifest_) {
    LSM_ASSIGN_OR_RETURN(const bool foreign, IsForeign(directory_, name, FileKind::kManifest));
    if (foreign) return contents;
    LeaveOut(std::string(MessageOf(contents.status())));
  }
  damaged_.insert(name);
  return contents;
}

// That of the tables, so that their filters stay of use.
absl::Status RepairJob::FindDigestSeed() {
  state_.digest_seed = store_.environment.random->Next();
  LSM_ASSIGN_OR_RETURN(const std::set<uint64_t> numbers, NumbersOf(directory_, FileKind::kTable));
  for (const uint64_t number : numbers) {
    const absl::StatusOr<std::unique_ptr<Table>> table = OpenAnyTable(number, std::nullopt);
    if (!table.ok()) continue;
    state_.digest_seed = (*table)->properties().digest_seed;
    break;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Table>> RepairJob::OpenAnyTable(uint64_t number,
                                                               std::optional<uint64_t> file_id) {
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<ReadFile> file,
                       directory_.OpenRead(TableFileName(number), ReadMode::kBuffered));
  TableContext context;
  context.file_id = file_id;
  return Table::Open(std::move(file), context);
}

absl::StatusOr<std::shared_ptr<const OpenTable>> RepairJob::OpenLooseTable(uint64_t number) {
  LSM_ASSIGN_OR_RETURN(std::unique_ptr<Table> table, OpenAnyTable(number, std::nullopt));
  TableMeta meta;
  meta.number = number;
  meta.file_id = table->footer().file_id;
  meta.file_bytes = table->file_bytes();
  meta.entries = table->footer().entries;
  return std::make_shared<const OpenTable>(OpenTable{meta, std::move(table)});
}

absl::StatusOr<bool> RepairJob::IsForeign(Directory& directory, const std::string& name,
                                          FileKind kind) {
  LSM_ASSIGN_OR_RETURN(const Origin origin, OriginOf(directory, name, kind));
  if (origin != Origin::kForeign) return false;
  LeaveOut(Concat(directory.path(), "/", name,
                  ": offset 0: not a file of Trellis; it stays where it is"));
  return true;
}

void RepairJob::LeaveOut(std::string line) {
  std::vector<std::string>& lines = report_.left_out;
  if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
}

}  // namespace lsm
