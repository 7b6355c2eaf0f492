#include "lsm/filter_goal.h"

#include "lsm/bytes/readable.h"

namespace lsm::inline TRELLIS_ABI {

std::string FilterGoal::ToText() const {
  switch (kind_) {
    case Kind::kNone:
      return "none";
    case Kind::kBitsPerKey:
      return ReadableNumber(value_) + " bits a key";
    case Kind::kBytes:
      return ReadableBytes(static_cast<uint64_t>(value_)) + " of filters";
    case Kind::kWastedReads:
      return ReadableNumber(value_) + " wasted reads a lookup";
  }
  return "?";
}

}  // namespace lsm
