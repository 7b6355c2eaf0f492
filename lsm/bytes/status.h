// Errors as values: how the store creates, extends and returns absl::Status.
//
// lsm/db.h lists the status codes for embedders.  One distinction is internal: functions that open
// a single file (Table::Open, LogReader::Open) return InvalidArgument if it is not a Trellis file,
// since the caller chose it.  If the store's own files refer to it, it is damage (AsDamage).
#ifndef TRELLIS_LSM_BYTES_STATUS_H_
#define TRELLIS_LSM_BYTES_STATUS_H_

#include <cstdint>
#include <new>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/concat.h"
#include "bloom/core/status.h"

namespace lsm::inline TRELLIS_ABI {

using bloom::Concat;
using bloom::MessageOf;

// DataLoss: "FILE: offset N: what".
absl::Status DamageAt(std::string_view file, uint64_t offset, std::string_view what);

// Puts "context: " before the message of an error, and keeps its marks; OK stays OK.
absl::Status WithContext(const absl::Status& status, std::string_view context);
// As WithContext, with another code.
absl::Status WithCode(absl::StatusCode code, const absl::Status& status, std::string_view context);

// ResourceExhausted for a full disk (or quota), with a mark.  The same code also stands for
// descriptors, memory and limits, but only a full disk improves if a file is removed.  WithContext
// keeps the mark; an error made from the message alone loses it.
absl::Status DiskFull(std::string_view message);
bool IsDiskFull(const absl::Status& status);

// A status with a mark, which only these functions see.  WithContext keeps it; an error made from
// the message alone loses it.
absl::Status WithMark(absl::StatusCode code, std::string_view message, const char* mark);
bool HasMark(const absl::Status& status, const char* mark);

// Turns InvalidArgument into DataLoss, and keeps other statuses.  For files that the store's own
// files refer to.
absl::Status AsDamage(const absl::Status& status);

// ResourceExhausted: "out of memory".  Created at the start of the program, so returning it needs
// no memory.
const absl::Status& OutOfMemory();

// Returns the result of `call`, a status or a StatusOr; OutOfMemory() if it throws std::bad_alloc.
// That is the only exception inside the store, and it does not pass this function.
// CatchOutOfMemory wraps each call of the public API, each background job, and each step whose
// failure must be recorded.
template <typename Call>
auto CatchOutOfMemory(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
}

// OutOfMemory() with "FILE: " or "FILE: offset N: " before its message; without that if there is no
// memory for it.
absl::Status OutOfMemoryFor(std::string_view file) noexcept;
absl::Status OutOfMemoryAt(std::string_view file, uint64_t offset) noexcept;

// As CatchOutOfMemory, for calls whose need for memory depends on a file.  The error names the
// file.
template <typename Call>
auto CatchOutOfMemoryFor(std::string_view file, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return OutOfMemoryFor(file);
  }
}

// As above, for blocks.  The error also names the offset.
template <typename Call>
auto CatchOutOfMemoryAt(std::string_view file, uint64_t offset, const Call& call)
    -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return OutOfMemoryAt(file, offset);
  }
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_STATUS_H_
