// The files of a store's directory, and what its manifest says about them.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_STORE_FILES_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_STORE_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/base/internal_key.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"
#include "lsm/version/manifest.h"
#include "lsm/version/open_table.h"
#include "tools/sstdump/request.h"
#include "tools/sstdump/store/target.h"
#include "tools/sstdump/world.h"

namespace tools {

// Changes whenever the store does: the bytes of CURRENT and the size of the manifest.
struct Mark {
  std::string current;  // empty: unreadable
  uint64_t manifest_bytes = 0;
  bool operator==(const Mark&) const = default;
};
Mark MarkOf(lsm::Directory& directory);

// The manifest that CURRENT names now.  It is read again only if CURRENT or the file's size has
// changed, so asking for each of many missing files costs one read.  One thread at a time.
class ManifestNow {
 public:
  // Null if it is unreadable.
  const lsm::ManifestState* Read(lsm::Directory& directory);

 private:
  Mark mark_;  // taken before `contents_` was read; empty: not read yet
  absl::StatusOr<lsm::ManifestContents> contents_ = absl::UnknownError("");
};

struct StoreFiles {
  std::shared_ptr<lsm::Directory> directory;
  // From --logs, else from the manifest, else the store's own directory.
  std::shared_ptr<lsm::Directory> log_directory;
  // The recorded log directory if it cannot be opened; `log_directory` is then the store's own.
  std::optional<std::string> lost_log_directory;
  std::shared_ptr<lsm::Directory> now;  // the directory without the pinned files
  std::vector<std::string> names;       // in the directory, sorted
  std::vector<uint64_t> logs;           // numbers of the logs in the log directory, sorted
  std::vector<uint64_t> no_logs;        // named like logs, but without a log's header or record
  std::set<std::string> missing;        // names of needed files that are missing

  // OK, or the reason why there is no state.  NotFound: the directory has no CURRENT.
  // InvalidArgument: CURRENT is another product's.
  absl::Status manifest_status;
  lsm::ManifestContents manifest;  // valid if manifest_status is OK
  std::shared_ptr<ManifestNow> manifest_now = std::make_shared<ManifestNow>();
  std::shared_ptr<Keyspaces> keyspaces = std::make_shared<Keyspaces>();

  bool has_state() const { return manifest_status.ok(); }
};

// The files as they were at one moment.
//
// - Files that the manifest names are held open, at most `world.pinned_files_max` of them, so that
//   a store in use cannot remove them meanwhile.
// - If some were removed before they could be opened, the manifest is read again.
// - Fails if the directory cannot be listed.  Unavailable if the store changes during every
//   attempt.  For a request that names a keyspace, also errors as of FindKeyspaces and
//   StateProblem.
absl::StatusOr<StoreFiles> LookAtStore(const World& world, const Request& request,
                                       const Target& directory);

// The error for a directory whose state is unknown.  A directory without a CURRENT is not a store,
// unless it holds a store's files.  REQUIRES !has_state().
absl::Status StateProblem(const StoreFiles& files);

// True if a missing table or log, which is not held open, is obsolete by now: a newer manifest of
// the store in use no longer names it.
bool IsGone(const StoreFiles& files, lsm::Directory& directory, lsm::FileKind kind,
            uint64_t number);
inline constexpr const char* kMovedOn =
    ": the store was written to meanwhile and no longer needs this file";

// A table and its place in the manifest.
struct PlacedTable {
  int level = 0;
  lsm::TableMeta meta;
  std::string name;

  bool MayHold(std::string_view user_key) const { return meta.span().Holds(user_key); }
};
// The tables by tree, each in the order in which a lookup asks them: by level; in level 0 the
// newest first; in deeper levels by run, newest first, and by key.
std::vector<PlacedTable> TablesInOrder(const lsm::ManifestState& state);
// The ones among them that may hold keys of the shown keyspace.
std::vector<PlacedTable> TablesOfShown(const StoreFiles& files);

// Opens a table with the checks that opening the store makes.
absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> OpenPlaced(const StoreFiles& files,
                                                                 const PlacedTable& table);

// Finds the file of a table that the manifest names, or of a log that the store needs.  The target
// has this kind whatever the file contains.  nullopt if the store no longer needs the file (see
// IsGone); DataLoss if it is missing.  REQUIRES files.has_state().
absl::StatusOr<std::optional<Target>> FindTable(const StoreFiles& files, uint64_t number);
absl::StatusOr<std::optional<Target>> FindLog(const StoreFiles& files, uint64_t number);

// The tables of a directory.  With a manifest: its tables in the order above, if wanted.  Without
// one: every file that is a table.
std::vector<Target> TableTargets(const StoreFiles& files,
                                 const std::function<bool(const PlacedTable&)>& is_wanted,
                                 std::vector<absl::Status>* problems);
// The numbers of the existing logs and of the logs that the manifest needs.
std::set<uint64_t> LogNumbers(const StoreFiles& files);
// The logs of a directory, oldest first.  Adds a problem for each needed log that is missing.
// Without a manifest, also includes files that are logs only by name; their `kind` is what they
// really are.
std::vector<Target> LogTargets(const StoreFiles& files, std::vector<absl::Status>* problems);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_STORE_FILES_H_
