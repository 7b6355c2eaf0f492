// Checks that levels and sequences agree: the version of a key that a lookup finds first must be
// the newest.  A range delete is a version of each key that it covers.
//
//   run 0   a@9   [c, e)@7            a: in order, two runs have the newest version
//   run 1         c@8       e@4       c: a contradiction, c@8 lies below an older range
//   run 2   a@9           [e, f)@6    e: a contradiction, the newer range lies below e@4
//
// Older versions may lie in any order, and so may copies: see lsm/compaction/steps.h.
// Only keys with entries are compared, since the others are absent in any order.
#ifndef TRELLIS_LSM_VERSION_KEY_ORDER_H_
#define TRELLIS_LSM_VERSION_KEY_ORDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/file_system.h"
#include "lsm/table/table.h"
#include "lsm/version/tree.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

struct AgedTable {
  TableMeta meta;
  Sequence smallest_sequence = 0;  // of entries and range deletes
  Sequence largest_sequence = 0;
  std::shared_ptr<const RangeMap> ranges = nullptr;  // null or empty: none
};
// Runs in the order of lookups.  The tables of a run are disjoint and ordered by key.
using AgedRuns = std::vector<std::vector<AgedTable>>;

// Keeps the tree's tables open.
AgedRuns AgedRunsOf(const Tree& tree);

// The tables that may contradict a table of another run: their spans overlap, and their sequences
// do not show that one is entirely newer.
AgedRuns TablesToCompare(const AgedRuns& runs);

struct KeyOrderCalls {
  // Called for each contradiction.  Returns whether to continue.
  std::function<bool(const std::string& problem)> problem;
  // Called before about `bytes` of entries are read.  An error ends the comparison.  May be null.
  std::function<absl::Status(uint64_t bytes)> before_bytes = nullptr;
};

// Compares the runs from user key `from` on.  Stops between two keys after `bytes_max` of keys and
// values.  Returns the next user key; nullopt if everything was compared, or `problem` returned
// false.  Opens no table without entries.
absl::StatusOr<std::optional<std::string>> CompareRuns(Directory& directory,
                                                       const TableContext& context,
                                                       const AgedRuns& runs, std::string_view from,
                                                       uint64_t bytes_max,
                                                       const KeyOrderCalls& calls);

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_KEY_ORDER_H_
