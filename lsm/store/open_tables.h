// Opens the tables of a store, several at once.  Each table takes one or two reads, which wait for
// the disk if the file is not in memory.  So the reads of many tables are in flight together, and
// several threads check and decode the tables.
#ifndef TRELLIS_LSM_STORE_OPEN_TABLES_H_
#define TRELLIS_LSM_STORE_OPEN_TABLES_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/scheduler.h"
#include "lsm/version/manifest.h"
#include "lsm/version/open_table.h"

namespace lsm::inline TRELLIS_ABI {

// With this many tables it is worth waking other threads.
inline constexpr size_t kTablesForHelp = 16;

using TablesByNumber = std::map<uint64_t, std::shared_ptr<const OpenTable>>;

// Opens the tables of each level, in the order of the state; `directory` belongs to `files`.  The
// calling thread opens tables, and so do lanes of `helpers` (may be null) that start while tables
// are left.  The call does not wait for a lane that starts later.  Returns the first error in the
// order of the state, as damage if a file differs from the manifest.
//
// A table in `again` (may be null) is used again if its TableMeta is the same.  (A number is not
// enough: after a restore, another table may have it.)  The call adds the tables that it opens to
// `again`, also if it fails.
absl::StatusOr<std::array<OpenTables, kLevels>> OpenTablesOf(
    FileSystem& files, Directory& directory, const ManifestState& state, ReadMode mode,
    const TableContext& context, Scheduler* helpers, TablesByNumber* again = nullptr);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_OPEN_TABLES_H_
