// What Options::filter_kind means: the filters that new tables of a level get.
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
  // Tables of this level and below get the compact kind where the choice is "by-level".  Those of
  // level 0 live until four of them are there, or less long, and those of level 1 are rewritten
  // each time that happens: what a filter costs to build counts there.  A table of level 2 or below
  // lives ten times as long or longer, and such tables are nine in ten of a large store: their
  // memory counts.
  static constexpr int kFirstCompactLevel = 2;
  static constexpr std::string_view kFastKind = "blocked";
  static constexpr std::string_view kCompactKind = "ribbon";

  // No filters.
  FilterChoice() = default;

  // "by-level", "none", or the name of a kind.  InvalidArgument, listing what there is, for any
  // other.
  static absl::StatusOr<FilterChoice> Of(std::string_view filter_kind);

  // Null for none.
  const std::shared_ptr<const bloom::FilterPolicy>& ForLevel(int level) const {
    return level < kFirstCompactLevel ? upper_ : lower_;
  }

 private:
  std::shared_ptr<const bloom::FilterPolicy> upper_, lower_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FILTERS_FILTER_CHOICE_H_
