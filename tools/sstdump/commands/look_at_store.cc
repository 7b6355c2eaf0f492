#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/log/log_reader.h"
#include "tools/sstdump/commands/commands.h"
#include "tools/sstdump/store/pinned_directory.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {
namespace {

using lsm::Concat;

// True if the directory has a file with Trellis's content.
bool HoldsOurs(const StoreFiles& files) {
  return std::any_of(files.names.begin(), files.names.end(), [&](const std::string& name) {
    const absl::StatusOr<Target> target = FindTargetIn(files.directory, name);
    return target.ok() && (target->kind == TargetKind::kTable || target->kind == TargetKind::kLog ||
                           target->kind == TargetKind::kManifest);
  });
}

// Other products also have a file CURRENT.  A foreign one is damage only in a Trellis store.
absl::Status NameForeign(const StoreFiles& files, const absl::Status& problem) {
  const absl::StatusOr<Target> current =
      FindTargetIn(files.directory, std::string(lsm::kCurrentFileName));
  if (!current.ok() || current->kind != TargetKind::kForeign) return problem;
  if (current->foreign == kForeignCurrent || !HoldsOurs(files)) {
    return absl::InvalidArgumentError(
        lsm::Concat(current->path, ": not a Trellis store: this is ", current->foreign));
  }
  return absl::DataLossError(lsm::Concat(lsm::MessageOf(problem)));
}

// True if opening the store would skip the file of this number: it is not a log and holds no
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

// One look at a store: reads the manifest, and keeps open the files that the manifest names.
class Look {
 public:
  Look(const Request& request, size_t pinned_files_max)
      : request_(request), pinned_files_max_(pinned_files_max) {}

  absl::StatusOr<StoreFiles> Take(const World& world, const Target& directory) {
    tables_ = std::make_shared<PinnedDirectory>(directory.directory);
    logs_ = tables_;
    StoreFiles files;
    files.directory = tables_;
    files.now = directory.directory;
    PinManifest();
    absl::StatusOr<lsm::ManifestContents> manifest = lsm::ReadManifest(*tables_);
    files.manifest_status = manifest.status();
    if (manifest.ok()) files.manifest = std::move(manifest).value();
    TRELLIS_RETURN_IF_ERROR(OpenLogDirectory(world, directory, &files));
    TRELLIS_RETURN_IF_ERROR(List(&files));
    if (files.has_state()) Pin(&files);
    return files;
  }

  // True if `files` were all current at one moment.  Otherwise another look is needed.
  bool IsOfOneMoment(const StoreFiles& files) const {
    if (MarkOf(tables_->now()) == mark_) return !is_log_gone_;
    if (!files.has_state() || !files.missing.empty() || is_log_gone_) return false;
    // Deleted tables are still held open, so only logs could have changed.
    const absl::StatusOr<lsm::ManifestContents> now = lsm::ReadManifest(tables_->now());
    return now.ok() && now->state.oldest_log == files.manifest.state.oldest_log;
  }

 private:
  // If the manifest cannot be opened here, the code that needs it reports the error.
  void PinManifest() {
    const std::string current_name(lsm::kCurrentFileName);
    tables_->Pin(current_name).IgnoreError();
    const absl::StatusOr<lsm::Current> current = lsm::ReadCurrent(*tables_, current_name);
    if (current.ok()) tables_->Pin(lsm::ManifestFileName(current->manifest_number)).IgnoreError();
    mark_ = MarkOf(*tables_);
  }

  absl::Status OpenLogDirectory(const World& world, const Target& store, StoreFiles* files) {
    const std::optional<std::string>& recorded = files->manifest.state.log_directory;
    if (request_.log_directory || recorded) {
      Place place{store.file_system, recorded.value_or("")};
      if (request_.log_directory) {
        TRELLIS_ASSIGN_OR_RETURN(place, FindPlace(world, *request_.log_directory));
      }
      absl::StatusOr<std::shared_ptr<lsm::Directory>> logs =
          place.file_system->OpenDirectory(place.path, /*create=*/false);
      if (logs.ok()) {
        logs_ = std::make_shared<PinnedDirectory>(*std::move(logs));
      } else if (request_.log_directory) {
        return logs.status();
      } else {
        files->lost_log_directory = *recorded;
      }
    }
    files->log_directory = logs_;
    return absl::OkStatus();
  }

  absl::Status List(StoreFiles* files) {
    TRELLIS_ASSIGN_OR_RETURN(files->names, tables_->List());
    std::sort(files->names.begin(), files->names.end());
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> log_names, logs_->List());
    for (const std::string& name : log_names) {
      const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
      if (parsed && parsed->kind == lsm::FileKind::kLog) files->logs.push_back(parsed->number);
    }
    std::sort(files->logs.begin(), files->logs.end());
    return absl::OkStatus();
  }

  void Pin(StoreFiles* files) {
    const lsm::ManifestState& state = files->manifest.state;
    const std::set<uint64_t> needed = state.NeededLogs();
    std::set<uint64_t> logs = needed;
    for (const uint64_t number : files->logs) {
      if (number >= state.oldest_log) logs.insert(number);
    }
    for (const uint64_t number : logs) {
      const std::string name = lsm::LogFileName(number);
      if (!IsMissing(logs_.get(), name)) continue;
      // A store may remove a log again that it was creating.
      if (needed.contains(number))
        files->missing.insert(name);
      else
        is_log_gone_ = true;
    }
    // The store may remove an obsolete log at any moment.
    std::erase_if(files->logs, [&](uint64_t number) {
      return number < state.oldest_log && IsMissing(logs_.get(), lsm::LogFileName(number));
    });
    for (const auto& level : state.levels) {
      for (const auto& [number, meta] : level) {
        const std::string name = lsm::TableFileName(number);
        if (IsMissing(tables_.get(), name)) files->missing.insert(name);
      }
    }
  }

  bool IsMissing(PinnedDirectory* directory, const std::string& name) const {
    if (tables_->pinned_count() + logs_->pinned_count() < pinned_files_max_)
      return absl::IsNotFound(directory->Pin(name));
    return absl::IsNotFound(directory->Stat(name).status());
  }

  const Request& request_;
  const size_t pinned_files_max_;
  std::shared_ptr<PinnedDirectory> tables_, logs_;
  Mark mark_;
  bool is_log_gone_ = false;
};

}  // namespace

absl::StatusOr<StoreFiles> LookAtStore(const World& world, const Request& request,
                                       const Target& directory) {
  constexpr int kLooksMax = 20;
  for (int i = 0; i < kLooksMax; ++i) {
    Look look(request, world.pinned_files_max);
    TRELLIS_ASSIGN_OR_RETURN(StoreFiles files, look.Take(world, directory));
    if (!look.IsOfOneMoment(files)) continue;
    if (files.has_state()) {
      std::erase_if(files.logs, [&](uint64_t number) {
        if (!IsNoLog(files, number)) return false;
        files.no_logs.push_back(number);
        return true;
      });
      TRELLIS_ASSIGN_OR_RETURN(*files.keyspaces, FindKeyspaces(files, request));
      return files;
    }
    if (!absl::IsNotFound(files.manifest_status))
      files.manifest_status = NameForeign(files, files.manifest_status);
    if (request.keyspace) return StateProblem(files);
    return files;
  }
  return absl::UnavailableError(
      Concat(directory.path, ": the store changed during every attempt to read it"));
}

}  // namespace tools
