// The value of a lookup, without a copy if it lies in a block of the cache.  In that case it pins
// the block in memory until it is reset, assigned to, or destroyed.  May outlive the DB.  Movable;
// not thread-safe.
#ifndef TRELLIS_LSM_PINNED_VALUE_H_
#define TRELLIS_LSM_PINNED_VALUE_H_

#include <string>
#include <string_view>
#include <utility>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

class PinnedValue {
 public:
  PinnedValue() = default;
  ~PinnedValue() { Reset(); }
  PinnedValue(PinnedValue&& other) noexcept { *this = std::move(other); }
  PinnedValue& operator=(PinnedValue&& other) noexcept {
    if (this == &other) return *this;
    Reset();
    const bool own = other.release_ == nullptr;
    copy_ = std::move(other.copy_);
    view_ = own ? std::string_view(copy_).substr(0, other.view_.size()) : other.view_;
    pinned_ = std::exchange(other.pinned_, nullptr);
    release_ = std::exchange(other.release_, nullptr);
    other.view_ = {};
    return *this;
  }

  std::string_view view() const { return view_; }

  void Reset() {
    if (release_ != nullptr) release_(pinned_);
    release_ = nullptr;
    pinned_ = nullptr;
    view_ = {};
  }

 private:
  friend class PinnedValueFiller;  // lsm/table/pinned_value_filler.h

  std::string_view view_;
  void* pinned_ = nullptr;
  void (*release_)(void*) = nullptr;
  std::string copy_;  // kept for its capacity
};

}  // namespace lsm

#endif  // TRELLIS_LSM_PINNED_VALUE_H_
