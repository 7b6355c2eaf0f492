// Error handling of both libraries: macros that return errors, and messages as std::string_view.
#ifndef TRELLIS_BLOOM_CORE_STATUS_H_
#define TRELLIS_BLOOM_CORE_STATUS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

// Works with any version of Abseil.  That of Debian 12 has its own string_view, which does not
// convert to the standard one.
inline std::string_view MessageOf(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

}  // namespace bloom

#define TRELLIS_CONCAT_INNER(a, b) a##b
#define TRELLIS_CONCAT(a, b) TRELLIS_CONCAT_INNER(a, b)

// Returns from the calling function if the expression is not OK.
#define TRELLIS_RETURN_IF_ERROR(expression)      \
  do {                                           \
    absl::Status trellis_status_ = (expression); \
    if (!trellis_status_.ok()) [[unlikely]]      \
      return trellis_status_;                    \
  } while (false)

// Declares or assigns `target` from a StatusOr, or returns its error from the calling function.
#define TRELLIS_ASSIGN_OR_RETURN(target, expression) \
  TRELLIS_ASSIGN_OR_RETURN_INNER(TRELLIS_CONCAT(trellis_status_or_, __LINE__), target, expression)
#define TRELLIS_ASSIGN_OR_RETURN_INNER(temporary, target, expression) \
  auto temporary = (expression);                                      \
  if (!temporary.ok()) [[unlikely]]                                   \
    return temporary.status();                                        \
  target = std::move(temporary).value()

#endif  // TRELLIS_BLOOM_CORE_STATUS_H_
