#include "tests/reliability/keyspaces/repair_store.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/manifest.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::FileKind;

// Removes the manifest, and the files that it does not need.
absl::Status LoseManifest(lsm::Directory& directory) {
  TRELLIS_ASSIGN_OR_RETURN(const lsm::ManifestContents contents, lsm::ReadManifest(directory));
  const auto& levels = contents.state.levels;
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List());
  for (const std::string& name : names) {
    const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
    if (!parsed) continue;
    const auto has_it = [&](const auto& level) { return level.contains(parsed->number); };
    const bool goes =
        parsed->kind == FileKind::kManifest ||
        (parsed->kind == FileKind::kTable && std::none_of(levels.begin(), levels.end(), has_it)) ||
        (parsed->kind == FileKind::kLog && parsed->number < contents.state.oldest_log);
    if (goes) TRELLIS_RETURN_IF_ERROR(directory.Remove(name));
  }
  return absl::OkStatus();
}

absl::Status DropNameless(const std::string& path, const lsm::Options& options) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open(path, options));
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, db->ListKeyspaces());
  for (const std::string& name : names) {
    if (name.starts_with("keyspace-")) TRELLIS_RETURN_IF_ERROR(db->DropKeyspace(name));
  }
  TRELLIS_ASSIGN_OR_RETURN(const lsm::VerifyReport verified, db->Verify());
  if (!verified.problems.empty()) return absl::InternalError(verified.problems[0]);
  return db->Close();
}

}  // namespace

std::string RepairStoreWithKeyspaces(lsm::FileSystem* files, const std::string& path,
                                     const lsm::Options& options, bool has_manifest) {
  const auto run = [&]() -> absl::Status {
    if (!has_manifest) {
      TRELLIS_ASSIGN_OR_RETURN(const auto directory, files->OpenDirectory(path, /*create=*/false));
      TRELLIS_RETURN_IF_ERROR(LoseManifest(*directory));
    }
    TRELLIS_ASSIGN_OR_RETURN(const lsm::RepairReport report, lsm::DB::Repair(path, options));
    if (has_manifest && !report.left_out.empty()) return absl::InternalError(report.left_out[0]);
    return has_manifest ? absl::OkStatus() : DropNameless(path, options);
  };
  const absl::Status status = run();
  if (status.ok()) return "";
  return Concat("a repair ", has_manifest ? "with" : "without",
                " the manifest: ", status.ToString());
}

}  // namespace reliability
