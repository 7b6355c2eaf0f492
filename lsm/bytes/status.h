// Errors as values: how the store makes, adds to and passes on absl::Status.
//
// lsm/db.h lists the kinds for those who embed the store.  Within it, one more distinction: what
// opens a single file (Table::Open, LogReader::Open) says InvalidArgument for a file that is none
// of Trellis, as the caller chose it.  Where the store's own files lead to it, it is damage.
//
// Debian 12's absl::string_view is a type of its own and does not convert to std::string_view;
// ToStd makes one of it, on any version of Abseil.
#ifndef TRELLIS_LSM_BYTES_STATUS_H_
#define TRELLIS_LSM_BYTES_STATUS_H_

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

inline std::string_view ToStd(absl::string_view text) { return {text.data(), text.size()}; }

// The pieces in a row; numbers in decimal.  Concat("offset ", 12) == "offset 12".
namespace concat_internal {
inline void Append(std::string& out, std::string_view piece) { out.append(piece); }
inline void Append(std::string& out, char piece) { out.push_back(piece); }
template <typename Number>
requires std::is_arithmetic_v<Number>
void Append(std::string& out, Number piece) { out.append(std::to_string(piece)); }
}  // namespace concat_internal

template <typename... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string out;
  (concat_internal::Append(out, pieces), ...);
  return out;
}

// DataLoss: "FILE: offset N: what".
absl::Status DamageAt(std::string_view file, uint64_t offset, std::string_view what);

// The status with "context: " before its message; OK stays OK.
absl::Status WithContext(const absl::Status& status, std::string_view context);

// ResourceExhausted for a full disk (or quota).  That kind also stands for descriptors, memory and
// limits, and of all these only a full disk gets better if a file is removed.  The mark survives
// WithContext; an error that is made from the message alone loses it.
absl::Status DiskFull(std::string_view message);
bool IsDiskFull(const absl::Status& status);

// InvalidArgument becomes DataLoss, anything else stays: for what a store's own files lead to.
absl::Status AsDamage(const absl::Status& status);

// ResourceExhausted: "out of memory".  Made when the program starts, so that no memory is needed to
// say so.
const absl::Status& OutOfMemory();

// What `call` returns, a status or a StatusOr; OutOfMemory() if it throws std::bad_alloc.  Memory
// is the one thing whose lack comes as an exception, and it goes no farther than here: each call of
// the public API, each background job, and each step whose failure must be noted stands in one.
template <typename Call>
auto CatchOutOfMemory(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

// OutOfMemory() with "FILE: " before its message, or with "FILE: offset N: "; without that if there
// is no memory for it.
absl::Status OutOfMemoryFor(std::string_view file) noexcept;
absl::Status OutOfMemoryAt(std::string_view file, uint64_t offset) noexcept;

// As CatchOutOfMemory, for calls whose need of memory a file decides: the error names the file.
template <typename Call>
auto CatchOutOfMemoryFor(std::string_view file, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return OutOfMemoryFor(file);
  }
}

// And for blocks: the error names the offset, too.
template <typename Call>
auto CatchOutOfMemoryAt(std::string_view file, uint64_t offset, const Call& call)
    -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return OutOfMemoryAt(file, offset);
  }
}

inline std::string_view MessageOf(const absl::Status& status) { return ToStd(status.message()); }

}  // namespace lsm

#define LSM_CONCAT_INNER(a, b) a##b
#define LSM_CONCAT(a, b) LSM_CONCAT_INNER(a, b)

// Returns from the calling function if the expression is not OK.
#define LSM_RETURN_IF_ERROR(expression)      \
  do {                                       \
    absl::Status lsm_status_ = (expression); \
    if (!lsm_status_.ok()) [[unlikely]]      \
      return lsm_status_;                    \
  } while (false)

// Declares or assigns `target` from a StatusOr, or returns its error from the calling function.
#define LSM_ASSIGN_OR_RETURN(target, expression) \
  LSM_ASSIGN_OR_RETURN_INNER(LSM_CONCAT(lsm_status_or_, __LINE__), target, expression)
#define LSM_ASSIGN_OR_RETURN_INNER(temporary, target, expression) \
  auto temporary = (expression);                                  \
  if (!temporary.ok()) [[unlikely]]                               \
    return temporary.status();                                    \
  target = std::move(temporary).value()

#endif  // TRELLIS_LSM_BYTES_STATUS_H_
