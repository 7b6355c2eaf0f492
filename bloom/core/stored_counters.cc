#include "bloom/core/stored_counters.h"

#include <algorithm>

#include "bloom/core/concat.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {

absl::Status StoredCounters::CheckCounterBits(uint32_t counter_bits, uint32_t most) {
  if (counter_bits >= 1 && counter_bits <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("counter_bits must lie in [1, ", most, "], is ", counter_bits));
}

absl::Status StoredCounters::Merge(const StoredCounters& other) {
  TRELLIS_RETURN_IF_ERROR(CheckMergeable(header, other.header, "counter_bits"));
  for (uint64_t i = 0; i < counters.size(); ++i) counters.AddSaturating(i, other.counters.Get(i));
  header.CountKeys(other.header.key_count);
  return absl::OkStatus();
}

absl::Status StoredCounters::Intersect(const StoredCounters& other) {
  TRELLIS_RETURN_IF_ERROR(CheckMergeable(header, other.header, "counter_bits"));
  for (uint64_t i = 0; i < counters.size(); ++i)
    counters.Set(i, std::min(counters.Get(i), other.counters.Get(i)));
  header.key_count = std::min(header.key_count, other.header.key_count);
  return absl::OkStatus();
}

void StoredCounters::Clear() {
  counters.Clear();
  header.key_count = 0;
}

double StoredCounters::Fill() const {
  return static_cast<double>(counters.CountNonZero()) / static_cast<double>(counters.size());
}

uint64_t StoredCounters::CountSaturated() const {
  uint64_t count = 0;
  for (uint64_t i = 0; i < counters.size(); ++i) count += counters.Get(i) == counters.max();
  return count;
}

}  // namespace bloom
