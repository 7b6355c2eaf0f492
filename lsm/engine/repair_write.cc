// RepairJob: what becomes of the rescued.
#include <utility>

#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/status.h"
#include "lsm/engine/log_set.h"
#include "lsm/engine/recovery.h"
#include "lsm/engine/repair_job.h"

namespace lsm {
namespace {

constexpr std::string_view kDamagedSuffix = ".damaged";
constexpr size_t kCopyBytes = size_t{1} << 20;

// Under the name that damaged files are kept by.
absl::Status KeepCopy(Directory& directory, const std::string& name) {
  const absl::StatusOr<std::unique_ptr<ReadFile>> from =
      directory.OpenRead(name, ReadMode::kBuffered);
  if (absl::IsNotFound(from.status())) return absl::OkStatus();  // it is missing: nothing to keep
  LSM_RETURN_IF_ERROR(from.status());
  const std::string copy_name = Concat(name, kDamagedSuffix);
  const absl::Status removed =
      directory.Remove(copy_name);  // of an earlier repair that was cut short
  if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
  LSM_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> to, directory.CreateExclusive(copy_name));
  std::string buffer(kCopyBytes, '\0');
  for (uint64_t offset = 0;;) {
    LSM_ASSIGN_OR_RETURN(const size_t bytes, (*from)->ReadAt(offset, buffer));
    LSM_RETURN_IF_ERROR(to->Append(std::string_view(buffer).substr(0, bytes)));
    if (bytes < buffer.size()) break;
    offset += bytes;
  }
  LSM_RETURN_IF_ERROR(to->Sync());
  return to->Close();
}

}  // namespace

absl::StatusOr<OpenTables> RepairJob::Merge(const OpenTables& tables,
                                            const std::vector<std::shared_ptr<Memtable>>& memtables,
                                            int level) {
  Table::ScanOptions scan;
  scan.fill_cache = false;
  scan.readahead_bytes = kCopyBytes;
  std::vector<std::unique_ptr<Iterator>> inputs;
  for (const auto& memtable : memtables) inputs.push_back(memtable->NewIterator());
  for (const auto& table : tables) inputs.push_back(table->table->NewIterator(scan));
  const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
  LSM_ASSIGN_OR_RETURN(
      JobResult result,
      RunMerge(context_, *merged, level, level == 0 ? UINT64_MAX : options_.table_bytes, {}));
  return std::move(result.outputs);
}

// Tables whose level and age nobody knows are merged into one sorted run, in which the sequence
// numbers decide.
absl::Status RepairJob::MergeLooseEntries() {
  const int level = levels_known_ ? 0 : 1;
  if (loose_tables_.empty() && memtables_.empty()) return absl::OkStatus();
  LSM_ASSIGN_OR_RETURN(const OpenTables merged, Merge(loose_tables_, memtables_, level));
  Place(level, merged);
  return absl::OkStatus();
}

absl::Status RepairJob::KeepDamagedFiles() {
  if (current_is_damaged_) LSM_RETURN_IF_ERROR(KeepCopy(directory_, std::string(kCurrentFileName)));
  for (const std::string& name : damaged_) LSM_RETURN_IF_ERROR(KeepCopy(directory_, name));
  for (const std::string& name : damaged_logs_) LSM_RETURN_IF_ERROR(KeepCopy(logs_, name));
  LSM_RETURN_IF_ERROR(directory_.Sync());
  return logs_.Sync();
}

absl::Status RepairJob::WriteManifest() {
  state_.oldest_log = next_number_++;
  LogSet log(&logs_);
  LSM_RETURN_IF_ERROR(log.Start(state_.oldest_log, store_.environment.random->Next()));
  state_.closed_logs.clear();
  LSM_RETURN_IF_ERROR(log.Close(&state_.closed_logs));
  LSM_RETURN_IF_ERROR(log.SyncNames());
  const uint64_t manifest_number = next_number_++;
  state_.synced_logs.clear();
  state_.levels = std::move(new_levels_);
  state_.next_file_number = next_number_;
  LSM_ASSIGN_OR_RETURN(
      std::unique_ptr<ManifestWriter> manifest,
      ManifestWriter::Create(directory_, manifest_number, store_.environment.random->Next(),
                             state_.ToSnapshot(), current_bytes_));
  LSM_RETURN_IF_ERROR(manifest->Close());
  RemoveOrphans(directory_, logs_, state_, manifest_number);
  return absl::OkStatus();
}

// Also such as do not look like ours any more: the manifest, or the rest of their bytes, said so.
void RepairJob::RemoveDamagedFiles() {
  for (const std::string& name : damaged_) (void)directory_.Remove(name);
  for (const std::string& name : damaged_logs_) (void)logs_.Remove(name);
}

void RepairJob::Place(int level, const OpenTables& tables) {
  auto& metas = new_levels_[static_cast<size_t>(level)];
  for (const auto& table : tables) metas.emplace(table->meta.number, table->meta);
}

}  // namespace lsm
