// A goal for all filters of a store together: Options::filter_goal.
#ifndef TRELLIS_LSM_FILTER_GOAL_H_
#define TRELLIS_LSM_FILTER_GOAL_H_

#include <cstdint>
#include <string>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// A kind of goal and its figure.  A value type.  Any figure is accepted here; ValidateOptions
// checks the range.
class TRELLIS_API FilterGoal {
 public:
  enum class Kind : uint8_t {
    kNone,         // no common goal: Options::target_fpp applies to every table
    kBitsPerKey,   // filter bits per key of the store.  A key counts once for each
                   // table that holds it, since that table's filter has it
    kBytes,        // memory of all filters together, in bytes
    kWastedReads,  // expected table reads per lookup of an absent key.  Assumes that
                   // lookups follow the observed distribution over ranges of keys
                   // (lsm/filters/hotness.h), not a uniform one
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

  // For example "10 bits a key", "64.0 MiB of filters", "0.01 wasted reads a lookup", "none".
  std::string ToText() const;

  friend constexpr bool operator==(const FilterGoal&, const FilterGoal&) = default;

 private:
  constexpr FilterGoal(Kind kind, double value) : kind_(kind), value_(value) {}

  Kind kind_ = Kind::kNone;
  double value_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTER_GOAL_H_
