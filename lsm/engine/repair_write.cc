// RepairJob: what becomes of the rescued.
#include <algorithm>
#include <cstring>
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

// Whether the other file begins with all bytes of `file`.
absl::StatusOr<bool> IsBeginOf(const ReadFile& file, const ReadFile& other) {
  std::string bytes(kCopyBytes, '\0'), others(kCopyBytes, '\0');
  for (uint64_t offset = 0;; offset += kCopyBytes) {
    LSM_ASSIGN_OR_RETURN(const size_t length, file.ReadAt(offset, bytes));
    LSM_ASSIGN_OR_RETURN(const size_t other_length, other.ReadAt(offset, others));
    if (other_length < length || std::memcmp(bytes.data(), others.data(), length) != 0)
      return false;
    if (length < kCopyBytes) return true;
  }
}

// A name under which the file can be kept: NAME.damaged, or NAME.damaged.2 and so on where earlier
// repairs kept other files there.  What one that was cut short had copied so far is removed.
absl::StatusOr<std::string> FreeNameFor(Directory& directory, const std::string& name,
                                        const ReadFile& file) {
  for (int i = 1;; ++i) {
    const std::string kept_name = Concat(name, kDamagedSuffix, i == 1 ? "" : Concat(".", i));
    const absl::StatusOr<std::unique_ptr<ReadFile>> kept =
        directory.OpenRead(kept_name, ReadMode::kBuffered);
    if (absl::IsNotFound(kept.status())) return kept_name;
    LSM_RETURN_IF_ERROR(kept.status());
    LSM_ASSIGN_OR_RETURN(const bool is_begin, IsBeginOf(**kept, file));
    if (!is_begin) continue;
    LSM_RETURN_IF_ERROR(directory.Remove(kept_name));
    return kept_name;
  }
}

absl::Status KeepCopy(Directory& directory, const std::string& name, NewFiles* made) {
  const absl::StatusOr<std::unique_ptr<ReadFile>> from =
      directory.OpenRead(name, ReadMode::kBuffered);
  if (absl::IsNotFound(from.status())) return absl::OkStatus();  // it is missing: nothing to keep
  LSM_RETURN_IF_ERROR(from.status());
  LSM_ASSIGN_OR_RETURN(const std::string copy_name, FreeNameFor(directory, name, **from));
  made->Add(&directory, copy_name);
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

absl::StatusOr<RepairJob::Tables> RepairJob::Merge(const Tables& tables, int level) {
  Table::ScanOptions scan;
  scan.fill_cache = false;
  scan.readahead_bytes = kCopyBytes;
  OpenTables open;
  std::vector<std::unique_ptr<Iterator>> inputs;
  for (const TableMeta& meta : tables) {
    LSM_ASSIGN_OR_RETURN(
        std::shared_ptr<const OpenTable> table,
        OpenTableFile(directory_, meta, ReadMode::kBuffered, context_.table_context));
    inputs.push_back(table->table->NewIterator(scan));
    open.push_back(std::move(table));
  }
  const std::unique_ptr<Iterator> merged = NewMergingIterator(std::move(inputs));
  LSM_ASSIGN_OR_RETURN(
      const JobResult result,
      RunMerge(context_, *merged, level, level == 0 ? UINT64_MAX : options_.table_bytes, {}));
  return Written(result.outputs);
}

// Tables whose level and age nobody knows are merged into one sorted run, in which the sequence
// numbers decide.
absl::Status RepairJob::MergeLooseTables() {
  if (loose_tables_.empty()) return absl::OkStatus();
  LSM_ASSIGN_OR_RETURN(const Tables merged, Merge(loose_tables_, 1));
  Place(1, merged);
  return absl::OkStatus();
}

absl::Status RepairJob::KeepDamagedFiles() {
  if (current_is_damaged_)
    LSM_RETURN_IF_ERROR(KeepCopy(directory_, std::string(kCurrentFileName), &made_));
  for (const std::string& name : damaged_) LSM_RETURN_IF_ERROR(KeepCopy(directory_, name, &made_));
  for (const std::string& name : damaged_logs_) LSM_RETURN_IF_ERROR(KeepCopy(logs_, name, &made_));
  LSM_RETURN_IF_ERROR(directory_.Sync());
  return logs_.Sync();
}

absl::Status RepairJob::WriteManifest() {
  state_.oldest_log = next_number_++;
  state_.log_seed = store_.environment.random->Next();
  LogSet log(&logs_);
  made_.Add(&logs_, LogFileName(state_.oldest_log));
  LSM_RETURN_IF_ERROR(log.Start(state_.oldest_log, LogFileId(*state_.log_seed, state_.oldest_log)));
  // It is not closed: without an end record and records, a manifest that does not know it takes it
  // for what an opening left that failed.
  LSM_RETURN_IF_ERROR(log.SyncNames());
  const uint64_t manifest_number = next_number_++;
  state_.synced_logs.clear();
  state_.closed_logs.clear();
  state_.levels = std::move(new_levels_);
  state_.next_file_number = next_number_;
  made_.Keep();  // from here on CURRENT may lead to them, even after a failure
  LSM_ASSIGN_OR_RETURN(
      std::unique_ptr<ManifestWriter> manifest,
      ManifestWriter::Create(directory_, manifest_number, store_.environment.random->Next(),
                             state_.ToSnapshot(), current_bytes_));
  (void)manifest->Close();  // the store is repaired: what counts is durable
  RemoveOrphans(directory_, logs_, state_, manifest_number);
  return absl::OkStatus();
}

// Also such as do not look like ours any more: the manifest, or the rest of their bytes, said so.
void RepairJob::RemoveDamagedFiles() {
  for (const std::string& name : damaged_) (void)directory_.Remove(name);
  for (const std::string& name : damaged_logs_) (void)logs_.Remove(name);
}

RepairJob::Tables RepairJob::Written(const OpenTables& outputs) {
  Tables written;
  for (const auto& table : outputs) {
    state_.last_sequence =
        std::max(state_.last_sequence, table->table->properties().largest_sequence);
    written.push_back(table->meta);
  }
  return written;
}

void RepairJob::Place(int level, const Tables& tables) {
  auto& metas = new_levels_[static_cast<size_t>(level)];
  for (const TableMeta& meta : tables) metas.emplace(meta.number, meta);
}

}  // namespace lsm
