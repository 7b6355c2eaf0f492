// Fills a PinnedValue, which its users only read.
#ifndef TRELLIS_LSM_TABLE_PINNED_VALUE_FILLER_H_
#define TRELLIS_LSM_TABLE_PINNED_VALUE_FILLER_H_

#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/pinned_value.h"

namespace lsm::inline TRELLIS_ABI {

class PinnedValueFiller {
 public:
  static void AssignCopy(std::string_view value, PinnedValue* to) {
    to->Reset();
    to->copy_.assign(value);
    to->view_ = to->copy_;
  }
  // Calls `release(pinned)` once, when the value is reset, assigned to, or destroyed.
  static void AssignPinned(std::string_view value, void* pinned, void (*release)(void*),
                           PinnedValue* to) {
    to->Reset();
    to->view_ = value;
    to->pinned_ = pinned;
    to->release_ = release;
  }
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_PINNED_VALUE_FILLER_H_
