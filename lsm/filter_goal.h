// What the filters of a whole store are to reach together: Options::filter_goal.
#ifndef TRELLIS_LSM_FILTER_GOAL_H_
#define TRELLIS_LSM_FILTER_GOAL_H_

#include <cstdint>
#include <string>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// A kind of goal and its figure; a value.  Holds any figure; ValidateOptions limits them.
class FilterGoal {
 public:
  enum class Kind : uint8_t {
    kNone,         // Options::target_fpp holds for every table
    kBitsPerKey,   // filter bits for each key of the store.  A key counts once for each table that
                   // holds it, since it is in that table's filter
    kBytes,        // bytes of memory for all filters together
    kWastedReads,  // expected reads of tables by a lookup of an absent key.  Lookups are taken as
                   // they are, more frequent in some ranges of keys than in others
                   // (lsm/filters/hotness.h), and not as uniform
  };

  constexpr FilterGoal() = default;
  static constexpr FilterGoal BitsPerKey(double bits) { return {Kind::kBitsPerKey, bits}; }
  static constexpr FilterGoal Bytes(uint64_t bytes) {
    return {Kind::kBytes, static_cast<double>(bytes)};
  }
  static constexpr FilterGoal WastedReads(double reads) { return {Kind::kWastedReads, reads}; }

  constexpr Kind kind() const { return kind_; }
  constexpr double value() const { return value_; }
  constexpr bool is_none() const { return kind_ == Kind::kNone; }

  // "10 bits a key", "64.0 MiB of filters", "0.01 wasted reads a lookup", "none".
  std::string ToText() const;

  friend constexpr bool operator==(const FilterGoal&, const FilterGoal&) = default;

 private:
  constexpr FilterGoal(Kind kind, double value) : kind_(kind), value_(value) {}

  Kind kind_ = Kind::kNone;
  double value_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTER_GOAL_H_
