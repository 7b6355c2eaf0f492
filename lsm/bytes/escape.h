// Keys and values may be any bytes; messages and tools show them like this: printable ASCII as it
// is, backslash doubled, all else as \xHH.
#ifndef TRELLIS_LSM_BYTES_ESCAPE_H_
#define TRELLIS_LSM_BYTES_ESCAPE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// At most `length_max` bytes are shown, then "…" and the full length; 0 = all.
std::string Escape(std::string_view bytes, size_t length_max = 0);

// A key within a message, which should fit a line: "\"key\"", cut.
std::string QuotedKey(std::string_view key);

// Undoes Escape; false if a backslash is not followed by a backslash or by xHH.
bool Unescape(std::string_view text, std::string* bytes);

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_ESCAPE_H_
