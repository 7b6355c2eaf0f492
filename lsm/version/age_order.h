// The order of level 0: of two tables, the one with the higher number has the newer writes.
// Exception: one flush may make several tables, with disjoint keys.
#ifndef TRELLIS_LSM_VERSION_AGE_ORDER_H_
#define TRELLIS_LSM_VERSION_AGE_ORDER_H_

#include <algorithm>
#include <optional>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"

namespace lsm::inline TRELLIS_ABI {

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

#endif  // TRELLIS_LSM_VERSION_AGE_ORDER_H_
