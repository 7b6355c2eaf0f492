// Checks that levels and sequences agree: the entry of a key that a lookup finds first must be the
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
// Runs in the order of lookups.  The tables of a run are disjoint and ordered by key.
using AgedRuns = std::vector<std::vector<AgedTable>>;

AgedRuns AgedRunsOf(const Version& version);

// The tables that may contradict a table of another run: their keys overlap, and their sequences do
// not show that one is entirely newer.
AgedRuns TablesToCompare(const AgedRuns& runs);

struct KeyOrderCalls {
  // Called for each contradiction.  Returns whether to continue.
  std::function<bool(const std::string& problem)> problem;
  // Called before about `bytes` of entries are read.  An error ends the comparison.  May be null.
  std::function<absl::Status(uint64_t bytes)> before_bytes = nullptr;
};

// Compares the runs from user key `from` on.  Stops between two keys after `bytes_max` of keys and
// values.  Returns the next user key; nullopt if everything was compared, or `problem` returned
// false.  Two runs may have the same entry.
absl::StatusOr<std::optional<std::string>> CompareRuns(Directory& directory,
                                                       const TableContext& context,
                                                       const AgedRuns& runs, std::string_view from,
                                                       uint64_t bytes_max,
                                                       const KeyOrderCalls& calls);

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_KEY_ORDER_H_
