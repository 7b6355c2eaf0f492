#include "lsm/follow/store_follower.h"

#include <algorithm>
#include <string_view>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"
#include "lsm/store/store_directory.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A writer changes its files a few times a second, and an attempt takes milliseconds, since it
// keeps what earlier ones have read.
constexpr int kAttemptsMax = 20;

absl::Status NotTheSame(const std::string& path, std::string_view what) {
  return absl::FailedPreconditionError(
      Concat(path, ": ", what, " than when it was opened; open it again to follow it"));
}

}  // namespace

absl::StatusOr<bloom::DigestSeed> StoreFollower::Begin() {
  TRELLIS_RETURN_IF_ERROR(
      Repeat([this](const Directories& directories) { return ReadState(directories); }));
  if (!place_.log_path)
    TRELLIS_RETURN_IF_ERROR(manifest_->state().CheckLogsAreWithTables(place_.path));
  return *digest_seed_;
}

absl::StatusOr<StoreFollower::View> StoreFollower::Refresh(const TableContext& context) {
  ++refresh_;
  View view;
  TRELLIS_RETURN_IF_ERROR(Repeat([&](const Directories& directories) -> absl::Status {
    TRELLIS_ASSIGN_OR_RETURN(view, Try(context, directories));
    return absl::OkStatus();
  }));
  if (began_at_ && *began_at_ < shown_) {
    view.went_back = {shown_, *began_at_};
  } else if (view.sequence < shown_) {
    view.went_back = {shown_, view.sequence};
  }
  shown_ = view.sequence;
  shown_seed_ = manifest_->state().log_seed;
  began_at_.reset();
  return view;
}

absl::StatusOr<StoreFollower::Directories> StoreFollower::OpenDirectories() const {
  Directories directories;
  TRELLIS_ASSIGN_OR_RETURN(directories.tables,
                           place_.files->OpenDirectory(place_.path, /*create=*/false));
  if (!place_.log_path) return directories;
  absl::StatusOr<std::unique_ptr<Directory>> logs =
      place_.log_files->OpenDirectory(*place_.log_path, /*create=*/false);
  if (absl::IsNotFound(logs.status())) return absl::UnavailableError(logs.status().message());
  TRELLIS_ASSIGN_OR_RETURN(directories.own_logs, std::move(logs));
  return directories;
}

absl::Status StoreFollower::Repeat(absl::FunctionRef<absl::Status(const Directories&)> attempt) {
  absl::Status status;
  for (int i = 0; i < kAttemptsMax; ++i) {
    TRELLIS_RETURN_IF_ERROR(refused_);
    TRELLIS_ASSIGN_OR_RETURN(const Directories directories, OpenDirectories());
    status = attempt(directories);
    if (status.ok() || !refused_.ok()) return status;
    if (absl::IsAborted(status)) continue;
    TRELLIS_ASSIGN_OR_RETURN(const bool has_changed, HasChanged());
    if (!has_changed) return WithoutFalseDamage(status, directories);
  }
  return absl::UnavailableError(Concat(place_.path, ": the store could not be read in ",
                                       kAttemptsMax,
                                       " attempts, because it changes: ", MessageOf(status)));
}

absl::StatusOr<bool> StoreFollower::HasChanged() {
  TRELLIS_ASSIGN_OR_RETURN(const bool has_another_manifest, HasAnotherManifest());
  if (has_another_manifest || manifest_ == nullptr) return has_another_manifest;
  const absl::Status status = ReadEdits();
  if (status.ok()) return manifest_->edit_count() != edits_before_;
  // The manifest may have been replaced and removed since CURRENT was read.
  TRELLIS_ASSIGN_OR_RETURN(const bool is_replaced, HasAnotherManifest());
  if (is_replaced) return true;
  return status;
}

absl::StatusOr<bool> StoreFollower::HasAnotherManifest() {
  TRELLIS_ASSIGN_OR_RETURN(const Directories directories, OpenDirectories());
  const absl::StatusOr<Current> current = ReadCurrent(*directories.tables, kCurrentFileName);
  if (absl::IsNotFound(current.status())) return NoStore(place_.path);
  TRELLIS_RETURN_IF_ERROR(current.status());
  return *current != current_;
}

absl::Status StoreFollower::WithoutFalseDamage(const absl::Status& status,
                                               const Directories& directories) const {
  if (!absl::IsDataLoss(status)) return status;
  const auto missing = [&](const std::string& name) -> absl::Status {
    if (!absl::IsNotFound(directories.tables->Stat(name).status())) return absl::OkStatus();
    return absl::UnavailableError(Concat(directories.tables->path(), "/", name,
                                         ": the store names this file, but it does "
                                         "not exist"));
  };
  TRELLIS_RETURN_IF_ERROR(missing(ManifestFileName(current_.manifest_number)));
  if (manifest_ == nullptr) return status;
  for (const auto& level : manifest_->state().levels) {
    for (const auto& [number, meta] : level) {
      if (!tables_.contains(number)) TRELLIS_RETURN_IF_ERROR(missing(TableFileName(number)));
    }
  }
  return status;
}

absl::Status StoreFollower::ReadState(const Directories& directories) {
  const absl::StatusOr<Current> current = ReadCurrent(*directories.tables, kCurrentFileName);
  if (absl::IsNotFound(current.status())) return NoStore(place_.path);
  TRELLIS_RETURN_IF_ERROR(current.status());
  if (manifest_ != nullptr && *current == current_) {
    edits_before_ = manifest_->edit_count();
    return absl::OkStatus();
  }
  current_ = *current;
  manifest_ = nullptr;
  version_ = nullptr;
  // Another copy of the store may have the same tables in other files, and where tables are pinned,
  // the files of the earlier copy are gone.
  if (pin_ != nullptr) tables_.clear();
  TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<ManifestReader> manifest,
                           ManifestReader::Open(*directories.tables, *current));
  TRELLIS_RETURN_IF_ERROR(manifest->ReadOn().status());
  TRELLIS_RETURN_IF_ERROR(CheckIsSameStore(manifest->state()));
  manifest_ = std::move(manifest);
  edits_before_ = manifest_->edit_count();
  // Another opening of the store, or another copy of it: the logs may be others, and the numbers
  // may mean other writes.
  logs_.StartOver(manifest_->state());
  const std::optional<uint64_t>& seed = manifest_->state().log_seed;
  if (shown_seed_ && seed && *seed != *shown_seed_) {
    const Sequence began = manifest_->first_sequence();
    began_at_ = std::min(began_at_.value_or(began), began);
  }
  return absl::OkStatus();
}

absl::Status StoreFollower::CheckIsSameStore(const ManifestState& state) {
  if (!digest_seed_) {
    digest_seed_ = state.digest_seed;
    log_directory_ = state.log_directory;
  }
  if (state.digest_seed != *digest_seed_) {
    refused_ = NotTheSame(place_.path, "the directory holds another store");
  } else if (state.log_directory != log_directory_) {
    refused_ = NotTheSame(place_.path, "the store's logs are in another directory");
  }
  return refused_;
}

absl::Status StoreFollower::ReadEdits() {
  const absl::StatusOr<uint64_t> edits = manifest_->ReadOn();
  if (!edits.ok()) {
    manifest_ = nullptr;
  } else if (*edits > 0) {
    logs_.NoteEdits();
  }
  return edits.status();
}

absl::Status StoreFollower::OpenVersion(const TableContext& context,
                                        const Directories& directories) {
  if (version_ != nullptr && version_->edits == manifest_->edit_count()) {
    // The tables still had their names when this pin was taken, so it covers them.  The earlier
    // one would keep tables that were removed between the two.
    version_->pin = pin_;
    return absl::OkStatus();
  }
  const ManifestState& state = manifest_->state();
  TRELLIS_ASSIGN_OR_RETURN(auto levels,
                           OpenTablesOf(*place_.files, *directories.tables, state, place_.read_mode,
                                        context, /*helpers=*/nullptr, &tables_));
  std::erase_if(tables_, [&](const auto& table) {
    return std::none_of(state.levels.begin(), state.levels.end(),
                        [&](const auto& level) { return level.contains(table.first); });
  });
  auto opened = std::make_shared<PinnedVersion>();
  opened->pin = pin_;
  const Version* const before = version_ == nullptr ? nullptr : version_->version.get();
  TRELLIS_ASSIGN_OR_RETURN(opened->version,
                           Version::Create(std::move(levels), state.keyspaces, before));
  opened->edits = manifest_->edit_count();
  version_ = std::move(opened);
  return absl::OkStatus();
}

absl::StatusOr<StoreFollower::View> StoreFollower::Try(const TableContext& context,
                                                       const Directories& directories) {
  // Before anything is read: the pin keeps the tables that have names from now on.  It stays if
  // this attempt fails, so that the next attempt needs no other entry.
  TRELLIS_ASSIGN_OR_RETURN(pin_, directories.tables->PinTables());
  TRELLIS_RETURN_IF_ERROR(ReadState(directories));
  // Logs before edits: a log may be flushed and removed between the two, and then its writes are in
  // a table that the edits name.
  TRELLIS_RETURN_IF_ERROR(logs_.ReadOn(directories.logs(), manifest_->state(), refresh_));
  TRELLIS_RETURN_IF_ERROR(ReadEdits());
  // Numbers of another opening may mean other writes.
  TRELLIS_ASSIGN_OR_RETURN(const Current current,
                           ReadCurrent(*directories.tables, kCurrentFileName));
  if (current != current_) return absl::AbortedError("CURRENT changed");
  // The writes before the gap are in tables now; those after it may have been acknowledged before
  // this refresh began.
  if (logs_.is_at_gap() && manifest_->edit_count() != edits_before_)
    return absl::AbortedError("edits may fill a gap");
  TRELLIS_RETURN_IF_ERROR(OpenVersion(context, directories));
  const ManifestState& state = manifest_->state();
  View view;
  view.memtables = logs_.MemtablesFor(state);
  view.version = std::shared_ptr<const Version>(version_, version_->version.get());
  TRELLIS_ASSIGN_OR_RETURN(view.keyspaces, logs_.KeyspacesFor(state));
  view.sequence = std::max(logs_.last(), state.last_sequence);
  return view;
}

}  // namespace lsm
