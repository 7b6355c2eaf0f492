// Opens the tables of a store, several at once: each takes one read or two, which wait for the disk
// where the files are not in memory, so those of many are under way together; and each is checked
// and decoded by itself, by several threads.
#ifndef TRELLIS_LSM_STORE_OPEN_TABLES_H_
#define TRELLIS_LSM_STORE_OPEN_TABLES_H_

#include <array>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/scheduler.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// With this many tables it is worth waking other threads.
inline constexpr size_t kTablesForHelp = 16;

// Opens the tables of each level, in the order of the state; `directory` is one of `files`.  The
// calling thread opens them, and so do lanes of `helpers` (may be null) that start before all are
// begun.  The call does not wait for a lane that starts later and finds nothing to do.  Returns the
// first error in the order of the state, as damage if a file differs from the manifest.
absl::StatusOr<std::array<OpenTables, kLevels>> OpenTablesOf(
    FileSystem& files, Directory& directory, const ManifestState& state, ReadMode mode,
    const TableContext& context, Scheduler* helpers);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_OPEN_TABLES_H_
