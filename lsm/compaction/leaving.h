// Which keyspace leaves the common tree for a tree of its own, in a flush
// (lsm/design/keyspaces.md).
//
// Threads: functions without state.  They throw std::bad_alloc.
#ifndef TRELLIS_LSM_COMPACTION_LEAVING_H_
#define TRELLIS_LSM_COMPACTION_LEAVING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// A flush writes a table to each tree that gets entries.  With this many trees, besides the default
// and the common one, a full memtable has at least 1 MiB for each.  A smaller table costs more for
// its syncs than for its bytes.
size_t OwnTreesMax(uint64_t write_buffer_bytes);

// The keyspace among these that has the most bytes in the common tree, if
//
//   - it has at least one write buffer of bytes there
//   - it has at most four: writers would wait for the flush.  A larger one stays
//   - `may_leave` says so
//   - the version has fewer than OwnTreesMax trees besides the default and the common one
//
// nullopt: none.
std::optional<KeyspaceId> ChooseLeaver(const Version& version,
                                       std::span<const KeyspaceId> keyspaces,
                                       uint64_t write_buffer_bytes,
                                       const std::function<bool(KeyspaceId)>& may_leave);

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_LEAVING_H_
