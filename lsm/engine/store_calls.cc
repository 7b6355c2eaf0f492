#include "lsm/engine/store_calls.h"

namespace lsm::inline TRELLIS_ABI {

absl::Status OfOpenStore(const absl::Status& status) {
  if (!absl::IsNotFound(status) && !absl::IsAlreadyExists(status)) return status;
  return absl::UnavailableError(
      Concat(MessageOf(status), " (did another program change the directory of the open store?)"));
}

}  // namespace lsm
