// A filter in memory, of a table or of one of its partitions, and whether it can be queried.
#ifndef TRELLIS_LSM_BLOCK_FILTER_PART_H_
#define TRELLIS_LSM_BLOCK_FILTER_PART_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"
#include "lsm/block/block_memory.h"

namespace lsm::inline TRELLIS_ABI {

enum class FilterPresence : uint8_t { kUsable, kAbsent, kDamaged, kUnknown };
// "usable", "absent", "damaged", "unknown".
const char* NameOf(FilterPresence presence);

struct FilterPart {
  bloom::FilterReader filter;  // answers "maybe" unless `presence` is kUsable
  FilterPresence presence = FilterPresence::kAbsent;
  // Stands for all filter partitions of a table, and answers "maybe".
  bool in_partitions = false;
  BlockBytes bytes;
  // Why it is kDamaged: DataLoss with its offset, or the error of reading it.  OK otherwise.
  absl::Status status;
};

// Opens a filter from the result of reading its block at `offset`.  Never fails: a table's answers
// do not need the filter, and `presence` shows that it is missing.  `knows_seed`: whether digests
// for it can be computed; if not, it is kUnknown.
FilterPart OpenFilter(const absl::StatusOr<std::string_view>& bytes, bool knows_seed,
                      std::string_view path, uint64_t offset);

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_FILTER_PART_H_
