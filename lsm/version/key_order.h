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

#include <algorithm>
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
#include "lsm/base/key_span.h"
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

// The order of level 0: of two tables, the one with the higher number has the newer writes.
// Exception: one flush may make several tables, with disjoint keys.
class AgeOrder {
 public:
  struct Range {
    KeySpan span;
    Sequence smallest_sequence = 0;
    Sequence largest_sequence = 0;
  };

  // Call it for tables by ascending number.  Returns whether this table may follow the earlier
  // ones.
  bool Follows(const Range& table) {
    // It may be unknown whether a new flush begins here.  Tables with ascending keys count as one
    // flush.  Their order does not matter, since no key is in two of them.
    const bool goes_on = has_any_ && end_ && *end_ <= table.span.begin &&
                         (!has_earlier_ || table.smallest_sequence > earlier_largest_sequence_);
    if (!goes_on) {
      if (has_any_ && table.smallest_sequence <= largest_sequence_) return false;
      earlier_largest_sequence_ = largest_sequence_;
      has_earlier_ = has_any_;
    }
    has_any_ = true;
    end_ = table.span.end ? std::optional(table.span.end->ToString()) : std::nullopt;
    largest_sequence_ = std::max(largest_sequence_, table.largest_sequence);
    return true;
  }

 private:
  bool has_any_ = false;
  bool has_earlier_ = false;
  std::optional<std::string> end_;         // of the current flush; nullopt: beyond all keys
  Sequence largest_sequence_ = 0;          // of all so far
  Sequence earlier_largest_sequence_ = 0;  // of earlier flushes
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_KEY_ORDER_H_
