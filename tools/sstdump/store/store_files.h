// The files of a store's directory, and what its manifest says of them.
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
#include "lsm/version/version.h"
#include "tools/sstdump/request.h"
#include "tools/sstdump/store/target.h"
#include "tools/sstdump/world.h"

namespace tools {

// Changes whenever the store does: the bytes of CURRENT, and the size of the manifest.
struct Mark {
  std::string current;  // empty: it cannot be read
  uint64_t manifest_bytes = 0;
  bool operator==(const Mark&) const = default;
};
Mark MarkOf(lsm::Directory& directory);

// The manifest that CURRENT names now.  Read again only if CURRENT or the file's size changed, so
// that asking once for each of many missing files takes no longer than reading it once.  One thread
// at a time.
class ManifestNow {
 public:
  // Null if it cannot be read.
  const lsm::ManifestState* Read(lsm::Directory& directory);

 private:
  Mark mark_;  // taken before `contents_` was read; empty: it was not read yet
  absl::StatusOr<lsm::ManifestContents> contents_ = absl::UnknownError("");
};

struct StoreFiles {
  std::shared_ptr<lsm::Directory> directory;
  // That of --logs, else the one that the manifest records, else the same.
  std::shared_ptr<lsm::Directory> log_directory;
  // The recorded one, if it cannot be opened: `log_directory` then is the store's own.
  std::optional<std::string> lost_log_directory;
  std::shared_ptr<lsm::Directory> now;  // the directory without what is held open
  std::vector<std::string> names;       // in the directory, sorted
  std::vector<uint64_t> logs;           // numbers of those in the log directory, sorted
  std::vector<uint64_t> no_logs;        // in their place: no logs, and too short to hold a record
  std::set<std::string> missing;        // names of needed files that are not there

  // OK, or why there is no state.  NotFound: the directory has no CURRENT.  InvalidArgument: it is
  // another product's.
  absl::Status manifest_status;
  lsm::ManifestContents manifest;  // if OK
  std::shared_ptr<ManifestNow> manifest_now = std::make_shared<ManifestNow>();

  bool has_state() const { return manifest_status.ok(); }
};

// The files as they were at one moment.  Those that the manifest names are held open, so that a
// store that another process writes to cannot take them away meanwhile; at most
// `world.pinned_files_max`.  If some are gone before they are open, the manifest is read again.
// Fails where the directory cannot be listed; Unavailable if the store moves on every time.
absl::StatusOr<StoreFiles> LookAtStore(const World& world, const Request& request,
                                       const Target& directory);

// Why there is no state.  A directory without a CURRENT is no store; unless it holds files of one.
// REQUIRES !has_state().
absl::Status StateProblem(const StoreFiles& files);

// Whether a table or a log of the manifest that is not held open is missing because the store,
// which is being written, does not need it any more: a newer manifest says so.
bool IsGone(const StoreFiles& files, lsm::Directory& directory, lsm::FileKind kind,
            uint64_t number);
inline constexpr const char* kMovedOn =
    ": the store was written to meanwhile, and needs this file no more";

// A table where the manifest says it is.
struct PlacedTable {
  int level = 0;
  lsm::TableMeta meta;
  std::string name;

  bool MayHold(std::string_view user_key) const {
    return lsm::UserKeyOf(meta.smallest) <= user_key && user_key <= lsm::UserKeyOf(meta.largest);
  }
};
// By level, in the order in which a lookup asks them: level 0 newest first, deeper ones by run, the
// newest first, and by key.
std::vector<PlacedTable> TablesInOrder(const lsm::ManifestState& state);

// Opens it with the checks of an opening of the store.
absl::StatusOr<std::shared_ptr<const lsm::OpenTable>> OpenPlaced(const StoreFiles& files,
                                                                 const PlacedTable& table);

// The file of a table that the manifest names, or of a log that the store needs: taken for that,
// whatever it holds.  Nothing if the store does without it by now (see IsGone); DataLoss if it is
// missing.  REQUIRES files.has_state().
absl::StatusOr<std::optional<Target>> FindTable(const StoreFiles& files, uint64_t number);
absl::StatusOr<std::optional<Target>> FindLog(const StoreFiles& files, uint64_t number);

// The tables of a directory: those of the manifest in the order above, or, where there is none,
// every file that is a table.  Those of the manifest that are not wanted are left out.
std::vector<Target> TableTargets(const StoreFiles& files,
                                 const std::function<bool(const PlacedTable&)>& is_wanted,
                                 std::vector<absl::Status>* problems);
// Numbers of the logs that are there, and of those that the manifest needs.
std::set<uint64_t> LogNumbers(const StoreFiles& files);
// Its logs, oldest first, with a problem for each one that is needed and missing; without a
// manifest also files that are logs by their names alone, whose kind then tells what they are.
std::vector<Target> LogTargets(const StoreFiles& files, std::vector<absl::Status>* problems);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_STORE_FILES_H_
