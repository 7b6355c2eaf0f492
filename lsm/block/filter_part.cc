#include "lsm/block/filter_part.h"

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

const char* NameOf(FilterPresence presence) {
  switch (presence) {
    case FilterPresence::kUsable:
      return "usable";
    case FilterPresence::kAbsent:
      return "absent";
    case FilterPresence::kDamaged:
      return "damaged";
    case FilterPresence::kUnknown:
      return "unknown";
  }
  return "?";
}

FilterPart OpenFilter(const absl::StatusOr<std::string_view>& bytes, bool knows_seed,
                      std::string_view path, uint64_t offset) {
  FilterPart part;
  part.presence = FilterPresence::kDamaged;
  if (!bytes.ok()) {
    part.status = bytes.status();
    return part;
  }
  part.bytes = BlockBytes(*bytes);
  const auto damage = [&](std::string_view problem) {
    return DamageAt(path, offset, Concat("the filter is damaged: ", problem));
  };
  const bloom::FilterReader filter = bloom::FilterReader::Open(part.bytes.view());
  switch (filter.state()) {
    case bloom::FilterState::kDamaged:
      part.status = damage(filter.Describe().problem);
      break;
    case bloom::FilterState::kUnknown:
      part.presence = FilterPresence::kUnknown;
      break;
    case bloom::FilterState::kUsable:
      // The table has keys, so this is not its filter: the empty filter denies all keys.
      if (filter.size_bits() == 0) {
        part.status = damage("it is empty, and the table is not");
        return part;  // its reader stays the one that answers "maybe"
      }
      part.presence = knows_seed ? FilterPresence::kUsable : FilterPresence::kUnknown;
      if (!knows_seed) return part;
      break;
  }
  part.filter = filter;
  return part;
}

}  // namespace lsm
