// The filters of new tables, by level, according to Options::filter_kind.
#ifndef TRELLIS_LSM_FILTERS_FILTER_CHOICE_H_
#define TRELLIS_LSM_FILTERS_FILTER_CHOICE_H_

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"

namespace lsm::inline TRELLIS_ABI {

// Immutable and thread-safe; copies are cheap.
class FilterChoice {
 public:
  // With "by-level", tables of this level and below get the compact kind.  A table of level 0 lives
  // at most until the level has four tables; then level 1 is rewritten too.  In these two levels
  // the build time of a filter matters.  A table in level 2 or below lives at least ten times as
  // long, and a large store has nine tenths of its tables there, so memory matters.
  static constexpr int kFirstCompactLevel = 2;
  static constexpr std::string_view kFastKind = "blocked";
  static constexpr std::string_view kCompactKind = "ribbon";

  // Chooses no filters.
  FilterChoice() = default;

  // `filter_kind` is "by-level", "none", or the name of a kind.  Any other returns InvalidArgument,
  // which lists the kinds.
  static absl::StatusOr<FilterChoice> Of(std::string_view filter_kind);

  // Null: no filter.
  const std::shared_ptr<const bloom::FilterPolicy>& ForLevel(int level) const {
    return level < kFirstCompactLevel ? upper_ : lower_;
  }

 private:
  std::shared_ptr<const bloom::FilterPolicy> upper_, lower_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_FILTER_CHOICE_H_
