// A filter in memory, of a table or of one of its partitions, and whether it can be asked.
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
  bloom::FilterReader filter;  // says "maybe" unless `presence` is kUsable
  FilterPresence presence = FilterPresence::kAbsent;
  // This stands for all the filter partitions of a table, and says "maybe".
  bool in_partitions = false;
  BlockBytes bytes;
  // Why it is kDamaged: DataLoss with its offset, or the error with which it could not be read.  OK
  // otherwise.
  absl::Status status;
};

// What was read of a filter block at `offset` of the file.  Never fails: whatever keeps a filter
// from being read, a table's answers do not need it, and that it is missed shows in `presence`.
// `knows_seed`: whether digests for it can be made; else it is kUnknown.
FilterPart OpenFilter(const absl::StatusOr<std::string_view>& bytes, bool knows_seed,
                      std::string_view path, uint64_t offset);

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_FILTER_PART_H_
