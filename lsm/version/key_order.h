// Whether levels and sequences agree: of each key, the entry that a lookup finds first must be the
// newest.
#ifndef TRELLIS_LSM_VERSION_KEY_ORDER_H_
#define TRELLIS_LSM_VERSION_KEY_ORDER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/file_system.h"
#include "lsm/table/table.h"
#include "lsm/version/version.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

struct AgedTable {
  TableMeta meta;
  Sequence smallest_sequence = 0;
  Sequence largest_sequence = 0;
};
// In the order in which a lookup asks them.  The tables of a run are disjoint, in the order of
// their keys.
using AgedRuns = std::vector<std::vector<AgedTable>>;

AgedRuns AgedRunsOf(const Version& version);

// The tables that may contradict one of another run: their keys overlap, and their sequences do not
// say that all of one is newer.
AgedRuns TablesToCompare(const AgedRuns& runs);

struct KeyOrderCalls {
  // Called with each contradiction.  Returns whether to go on.
  std::function<bool(const std::string& problem)> problem;
  // Called before about `bytes` more of entries are read.  An error ends the comparison.  May be
  // null.
  std::function<absl::Status(uint64_t bytes)> before_bytes = nullptr;
};

// Merges the runs from the user key `from` on.  Ends between two keys, after `bytes_max` of keys
// and values.  Returns the user key that comes next; nothing: all were compared, or `problem` did
// not want to go on.  The same entry may be in two runs.
absl::StatusOr<std::optional<std::string>> CompareRuns(Directory& directory,
                                                       const TableContext& context,
                                                       const AgedRuns& runs, std::string_view from,
                                                       uint64_t bytes_max,
                                                       const KeyOrderCalls& calls);

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_KEY_ORDER_H_
