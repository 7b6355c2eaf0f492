// RepairJob, step 4: writes the repaired store.
#include <algorithm>
#include <cstring>

#include "lsm/bytes/status.h"
#include "lsm/repair/repair_job.h"
#include "lsm/store/copy_store.h"
#include "lsm/store/recovery.h"
#include "lsm/table/table_claims.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr std::string_view kDamagedFileSuffix = ".damaged";
constexpr size_t kReadBytes = size_t{1} << 20;

// Whether `other` begins with all bytes of `file`.
absl::StatusOr<bool> IsBeginOf(const ReadFile& file, const ReadFile& other) {
  std::string bytes(kReadBytes, '\0'), others(kReadBytes, '\0');
  for (uint64_t offset = 0;; offset += kReadBytes) {
    // Holes in both files are equal.
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t data, file.NextData(offset));
    TRELLIS_ASSIGN_OR_RETURN(const uint64_t other_data, other.NextData(offset));
    offset = std::min(data, other_data);
    TRELLIS_ASSIGN_OR_RETURN(const size_t length, file.ReadAt(offset, bytes));
    TRELLIS_ASSIGN_OR_RETURN(const size_t other_length, other.ReadAt(offset, others));
    if (other_length < length || std::memcmp(bytes.data(), others.data(), length) != 0)
      return false;
    if (length < kReadBytes) return true;
  }
}

// Returns a free name to keep the file under: NAME.damaged, or NAME.damaged.2 and so on if earlier
// repairs kept other files.  Removes the partial copy of an interrupted repair.
absl::StatusOr<std::string> FreeNameFor(Directory& directory, const std::string& name,
                                        const ReadFile& file) {
  for (int i = 1;; ++i) {
    const std::string kept_name = Concat(name, kDamagedFileSuffix, i == 1 ? "" : Concat(".", i));
    const absl::StatusOr<std::unique_ptr<ReadFile>> kept =
        directory.OpenRead(kept_name, ReadMode::kBuffered);
    if (absl::IsNotFound(kept.status())) return kept_name;
    TRELLIS_RETURN_IF_ERROR(kept.status());
    TRELLIS_ASSIGN_OR_RETURN(const bool is_begin, IsBeginOf(**kept, file));
    if (!is_begin) continue;
    TRELLIS_RETURN_IF_ERROR(directory.Remove(kept_name));
    return kept_name;
  }
}

// Adds a file that cannot be linked because it lost bytes to `unlinkable`, with its other name.
absl::Status KeepCopy(Directory& directory, const std::string& name, NewFiles* made,
                      std::map<std::string, std::string>* unlinkable) {
  const absl::StatusOr<std::unique_ptr<ReadFile>> from =
      directory.OpenRead(name, ReadMode::kBuffered);
  if (absl::IsNotFound(from.status())) return absl::OkStatus();  // missing: nothing to keep
  TRELLIS_RETURN_IF_ERROR(from.status());
  TRELLIS_ASSIGN_OR_RETURN(const std::string copy_name, FreeNameFor(directory, name, **from));
  // A second name takes neither time nor space, whatever the size of the file.
  const absl::Status linked = made->AddMade(
      &directory, copy_name, [&] { return directory.Link(name, directory, copy_name); });
  if (absl::IsDataLoss(linked)) {
    unlinkable->emplace(name, copy_name);
    return absl::OkStatus();
  }
  // An object store does not link a table that was never completed.
  const bool is_incomplete = absl::IsFailedPrecondition(linked) && !IsTakenOver(linked);
  if (!absl::IsUnimplemented(linked) && !is_incomplete) return linked;
  return CopyFile(directory, name, directory, copy_name, made);
}

}  // namespace

absl::Status RepairJob::KeepDamagedFiles() {
  if (current_is_damaged_) {
    TRELLIS_RETURN_IF_ERROR(
        KeepCopy(directory_, std::string(kCurrentFileName), &made_, &unlinkable_));
  }
  for (const std::string& name : damaged_)
    TRELLIS_RETURN_IF_ERROR(KeepCopy(directory_, name, &made_, &unlinkable_));
  for (const std::string& name : damaged_logs_)
    TRELLIS_RETURN_IF_ERROR(KeepCopy(logs_, name, &made_, &unlinkable_));
  TRELLIS_RETURN_IF_ERROR(directory_.Sync());
  return logs_.Sync();
}

// Makes the same checks as an opening.
absl::Status RepairJob::CheckOutcome() {
  state_.levels = {};
  for (const auto& [id, tree] : trees_) {
    for (size_t level = 0; level < tree.levels.size(); ++level) {
      for (const SalvagedTable& table : tree.levels[level]) {
        TRELLIS_ASSIGN_OR_RETURN(
            const std::shared_ptr<const OpenTable> open,
            OpenTableFile(directory_, table.meta, ReadMode::kBuffered, context_.table_context));
        TRELLIS_RETURN_IF_ERROR(
            CheckPlace(*open->table, {static_cast<int>(level), state_.last_sequence}));
        state_.levels[level].emplace(table.meta.number, table.meta);
      }
    }
  }
  TRELLIS_RETURN_IF_ERROR(
      WithContext(CheckKeyspacesAct(state_.keyspaces, options_), directory_.path()));
  state_.next_file_number = next_number_;
  const std::string manifest = Concat(directory_.path(), "/the new manifest");
  TRELLIS_ASSIGN_OR_RETURN(const VersionEdit snapshot,
                           VersionEdit::Decode(state_.ToSnapshot().Encode(), manifest, 0));
  return ManifestState().Apply(snapshot, manifest, 0);
}

absl::Status RepairJob::WriteManifest() {
  // The damaged CURRENT is too large to be compared when it is swapped.
  if (current_is_damaged_ && !current_bytes_)
    TRELLIS_RETURN_IF_ERROR(directory_.Remove(kCurrentFileName));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t manifest_number,
                           FoundStore(store_, current_bytes_, &state_, &made_));
  // Only now: until the repaired store exists, another repair must find them under their own names.
  for (const auto& [name, kept_name] : unlinkable_) (void)directory_.Rename(name, kept_name);
  RemoveOrphans(directory_, logs_, state_, manifest_number);
  return absl::OkStatus();
}

// Includes files without Trellis's first bytes, if the manifest or the rest of their bytes
// identified them.
void RepairJob::RemoveDamagedFiles() {
  for (const std::string& name : damaged_) (void)directory_.Remove(name);
  for (const std::string& name : damaged_logs_) (void)logs_.Remove(name);
}

}  // namespace lsm
