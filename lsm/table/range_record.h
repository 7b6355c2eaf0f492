// A manifest's record of a table's range deletes.  An opening compares it with the table.
#ifndef TRELLIS_LSM_TABLE_RANGE_RECORD_H_
#define TRELLIS_LSM_TABLE_RANGE_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/base/key_span.h"
#include "lsm/base/range_map.h"

namespace lsm::inline TRELLIS_ABI {

struct RangeRecord {
  uint64_t range_count = 0;  // RangeMap::range_count; 0: none, and the keys are empty
  std::string begin;         // of RangeMap::hull
  std::optional<std::string> end;

  static RangeRecord Of(const RangeMap& ranges) {
    if (ranges.empty()) return {};
    const KeySpan hull = ranges.hull();
    return {ranges.range_count(), std::string(hull.begin),
            hull.end ? std::optional(hull.end->ToString()) : std::nullopt};
  }

  bool empty() const { return range_count == 0; }
  // The smallest span with all covered keys; a view of the record.  REQUIRES: not empty.
  KeySpan hull() const { return {begin, end ? KeyEnd(*end) : std::nullopt}; }

  bool operator==(const RangeRecord&) const = default;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_RANGE_RECORD_H_
