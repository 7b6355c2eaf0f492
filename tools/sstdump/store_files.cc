#include "tools/sstdump/store_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lsm/base/internal_key.h"
#include "lsm/bytes/status.h"
#include "lsm/log/log_reader.h"

namespace tools {
namespace {

// Whether the directory has a file that is Trellis's by its content.
bool HoldsOurs(const StoreFiles& files) {
  return std::any_of(files.names.begin(), files.names.end(), [&](const std::string& name) {
    const absl::StatusOr<Target> target = FindTargetIn(files.directory, name);
    return target.ok() && (target->kind == TargetKind::kTable || target->kind == TargetKind::kLog ||
                           target->kind == TargetKind::kManifest);
  });
}

// Other products, too, have a CURRENT.  Theirs is no damage; in a store of ours another one is.
absl::Status NameForeign(const StoreFiles& files, const absl::Status& problem) {
  const absl::StatusOr<Target> current =
      FindTargetIn(files.directory, std::string(lsm::kCurrentFileName));
  if (!current.ok() || current->kind != TargetKind::kForeign) return problem;
  if (current->foreign == kForeignCurrent || !HoldsOurs(files)) {
    return absl::InvalidArgumentError(
        lsm::Concat(current->path, ": no store of Trellis: this is ", current->foreign));
  }
  return absl::DataLossError(lsm::Concat(lsm::MessageOf(problem)));
}

absl::StatusOr<std::optional<Target>> FindPart(const StoreFiles& files,
                                               const std::shared_ptr<lsm::Directory>& directory,
                                               lsm::FileKind kind, uint64_t number) {
  const bool is_log = kind == lsm::FileKind::kLog;
  const std::string name = is_log ? lsm::LogFileName(number) : lsm::TableFileName(number);
  absl::StatusOr<Target> target = FindTargetIn(directory, name);
  if (target.ok()) {
    // What it really is, will be found out by those who read it.
    target->kind = is_log ? TargetKind::kLog : TargetKind::kTable;
    return std::optional<Target>(std::move(target).value());
  }
  if (!absl::IsNotFound(target.status())) return target.status();
  if (IsGone(files, *directory, kind, number)) return std::optional<Target>();
  return absl::DataLossError(lsm::Concat(
      directory->path(), "/", name,
      is_log ? ": the manifest says that this log holds writes (are the store's logs elsewhere? "
               "--logs DIR)"
             : ": the manifest names this table",
      ", but there is no such file"));
}

// What an opening of the store passes over: a file where a log would be, that is none and holds no
// record.
bool IsNoLog(const StoreFiles& files, uint64_t number) {
  absl::StatusOr<std::unique_ptr<lsm::ReadFile>> file =
      files.log_directory->OpenRead(lsm::LogFileName(number), lsm::ReadMode::kBuffered);
  if (!file.ok()) return false;
  const absl::StatusOr<uint64_t> file_bytes = (*file)->Size();
  return number >= files.manifest.state.oldest_log && file_bytes.ok() &&
         files.manifest.state.HoldsNoRecord(number, *file_bytes) &&
         absl::IsInvalidArgument(
             lsm::LogReader::Open(*std::move(file), lsm::LogKind::kWriteAhead).status());
}

}  // namespace

absl::StatusOr<StoreFiles> LookAtStore(const World& world, const Request& request,
                                       const Target& directory) {
  StoreFiles files;
  files.directory = directory.directory;
  files.log_directory = directory.directory;
  if (request.log_directory) {
    LSM_ASSIGN_OR_RETURN(files.log_directory, world.file_system->OpenDirectory(
                                                  *request.log_directory, /*create=*/false));
  }
  LSM_ASSIGN_OR_RETURN(files.names, files.directory->List());
  std::sort(files.names.begin(), files.names.end());
  LSM_ASSIGN_OR_RETURN(const std::vector<std::string> log_names, files.log_directory->List());
  for (const std::string& name : log_names) {
    const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
    if (parsed && parsed->kind == lsm::FileKind::kLog) files.logs.push_back(parsed->number);
  }
  std::sort(files.logs.begin(), files.logs.end());
  absl::StatusOr<lsm::ManifestContents> manifest = lsm::ReadManifest(*files.directory);
  files.manifest_status = manifest.status();
  if (manifest.ok()) {
    files.manifest = std::move(manifest).value();
    std::erase_if(files.logs, [&](uint64_t number) {
      if (!IsNoLog(files, number)) return false;
      files.no_logs.push_back(number);
      return true;
    });
  } else if (!absl::IsNotFound(files.manifest_status)) {
    files.manifest_status = NameForeign(files, files.manifest_status);
  }
  return files;
}

absl::Status StateProblem(const StoreFiles& files) {
  if (!absl::IsNotFound(files.manifest_status)) return files.manifest_status;
  for (const std::string& name : files.names) {
    const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
    if (!parsed || (parsed->kind != lsm::FileKind::kTable && parsed->kind != lsm::FileKind::kLog))
      continue;
    // Other products have files of such names.
    const absl::StatusOr<Target> target = FindTargetIn(files.directory, name);
    if (!target.ok()) return target.status();
    if (target->kind == TargetKind::kForeign) continue;
    return absl::DataLossError(
        lsm::Concat("there is no CURRENT file, but there is ", name, ", which belongs to a store"));
  }
  return absl::NotFoundError("no store: there is no CURRENT file");
}

bool IsGone(const StoreFiles& files, lsm::Directory& directory, lsm::FileKind kind,
            uint64_t number) {
  const bool is_log = kind == lsm::FileKind::kLog;
  const std::string name = is_log ? lsm::LogFileName(number) : lsm::TableFileName(number);
  if (!absl::IsNotFound(directory.Stat(name).status())) return false;
  const absl::StatusOr<lsm::ManifestContents> now = lsm::ReadManifest(*files.directory);
  if (!now.ok()) return false;
  if (is_log) return number < now->state.oldest_log;
  return std::none_of(now->state.levels.begin(), now->state.levels.end(),
                      [number](const auto& level) { return level.contains(number); });
}

std::vector<PlacedTable> TablesInOrder(const lsm::ManifestState& state) {
  std::vector<PlacedTable> tables;
  for (size_t level = 0; level < state.levels.size(); ++level) {
    const size_t begin = tables.size();
    for (const auto& [number, meta] : state.levels[level]) {
      tables.push_back({static_cast<int>(level), meta, lsm::TableFileName(number)});
    }
    std::sort(tables.begin() + static_cast<ptrdiff_t>(begin), tables.end(),
              [level](const PlacedTable& a, const PlacedTable& b) {
                if (level == 0) return a.meta.number > b.meta.number;
                if (a.meta.run != b.meta.run) return a.meta.run > b.meta.run;
                return lsm::CompareInternalKeys(a.meta.smallest, b.meta.smallest) < 0;
              });
  }
  return tables;
}

absl::StatusOr<std::optional<Target>> FindTable(const StoreFiles& files, uint64_t number) {
  return FindPart(files, files.directory, lsm::FileKind::kTable, number);
}

absl::StatusOr<std::optional<Target>> FindLog(const StoreFiles& files, uint64_t number) {
  return FindPart(files, files.log_directory, lsm::FileKind::kLog, number);
}

std::vector<Target> TableTargets(const StoreFiles& files, std::vector<absl::Status>* problems) {
  std::vector<Target> targets;
  if (files.has_state()) {
    for (const PlacedTable& table : TablesInOrder(files.manifest.state)) {
      absl::StatusOr<std::optional<Target>> target = FindTable(files, table.meta.number);
      if (!target.ok()) {
        problems->push_back(target.status());
      } else if (*target) {
        targets.push_back(**std::move(target));
      }
    }
    return targets;
  }
  for (const std::string& name : files.names) {
    absl::StatusOr<Target> target = FindTargetIn(files.directory, name);
    if (!target.ok()) {
      problems->push_back(target.status());
    } else if (target->kind == TargetKind::kTable) {
      targets.push_back(std::move(target).value());
    }
  }
  return targets;
}

std::vector<Target> LogTargets(const StoreFiles& files, std::vector<absl::Status>* problems) {
  std::vector<Target> targets;
  for (const uint64_t number : files.logs) {
    absl::StatusOr<std::optional<Target>> target;
    if (files.has_state()) {
      target = FindLog(files, number);
    } else {
      target = FindTargetIn(files.log_directory, lsm::LogFileName(number));
    }
    if (!target.ok()) {
      problems->push_back(target.status());
    } else if (*target) {
      targets.push_back(**std::move(target));
    }
  }
  return targets;
}

}  // namespace tools
