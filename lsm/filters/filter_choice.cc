#include "lsm/filters/filter_choice.h"

#include "absl/status/status.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

absl::StatusOr<FilterChoice> FilterChoice::Of(std::string_view filter_kind) {
  FilterChoice choice;
  if (filter_kind == "none") return choice;
  const bool by_level = filter_kind == "by-level";
  absl::StatusOr<std::shared_ptr<const bloom::FilterPolicy>> upper =
      bloom::PolicyFromName(by_level ? kFastKind : filter_kind);
  if (!upper.ok()) {
    return absl::InvalidArgumentError(
        Concat(MessageOf(upper.status()), "; \"by-level\"; or \"none\" for no filters"));
  }
  choice.upper_ = choice.lower_ = *std::move(upper);
  if (by_level) {
    TRELLIS_ASSIGN_OR_RETURN(choice.lower_, bloom::PolicyFromName(kCompactKind));
  }
  return choice;
}

}  // namespace lsm
