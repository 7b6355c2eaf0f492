#include "lsm/repair/repair.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/repair/repair_job.h"
#include "lsm/repair/whole_reads.h"
#include "lsm/store/reserve.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Runs before the lock, which would create a file.  If at least one file is Trellis's, this is a
// store, whose other files may be damaged in any way.  If none is, the files belong to another
// product.
absl::Status LookFirst(const std::string& path, const Options& options) {
  TRELLIS_ASSIGN_OR_RETURN(const StoreDirectory there, StoreDirectory::Peek(path, options));
  if (there.directory == nullptr) return NoStore(path);
  TRELLIS_RETURN_IF_ERROR(CheckCurrentIsOurs(*there.directory));
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<std::string> names, there.directory->List());
  bool found = false;
  std::string foreign;
  for (const std::string& name : names) {
    const std::optional<FileName> parsed = ParseFileName(name);
    if (!parsed || parsed->kind == FileKind::kLock || parsed->kind == FileKind::kReserve) continue;
    TRELLIS_ASSIGN_OR_RETURN(const Origin origin, OriginOf(*there.directory, name, parsed->kind));
    if (origin == Origin::kStore) return absl::OkStatus();
    if (origin == Origin::kForeign && foreign.empty()) foreign = name;
    found = true;
  }
  if (!foreign.empty()) return ForeignFile(*there.directory, foreign);
  return found ? absl::OkStatus() : NoStore(path);
}

}  // namespace

absl::StatusOr<RepairReport> RepairStore(const std::string& path, const Options& options) {
  TRELLIS_RETURN_IF_ERROR(ValidateOptions(options));
  TRELLIS_RETURN_IF_ERROR(LookFirst(path, options));
  Options open = options;
  open.mode = OpenMode::kMustExist;
  open.direct_reads = false;  // a repair gains nothing by it; some file systems do not support it
  TRELLIS_ASSIGN_OR_RETURN(StoreDirectory store, StoreDirectory::Open(path, open));
  const auto run = [&]() -> absl::StatusOr<RepairReport> {
    store.directory = WithWholeReads(std::move(store.directory));
    if (store.own_log_directory != nullptr)
      store.own_log_directory = WithWholeReads(std::move(store.own_log_directory));
    return RepairJob(open, std::move(store)).Run();
  };
  absl::StatusOr<RepairReport> report = run();
  if (!IsDiskFull(report.status())) return report;
  // Tries again with the space of the reserve.
  TRELLIS_ASSIGN_OR_RETURN(store, StoreDirectory::Open(path, open));
  bool removed = RemoveReserve(*store.directory);
  if (store.own_log_directory != nullptr)
    removed = RemoveReserve(*store.own_log_directory) || removed;
  return removed ? run() : std::move(report);
}

}  // namespace lsm
