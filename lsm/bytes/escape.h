// Text forms of keys and values, which may be any bytes, for messages and tools: printable ASCII is
// unchanged, a backslash is doubled, every other byte becomes \xHH.
#ifndef TRELLIS_LSM_BYTES_ESCAPE_H_
#define TRELLIS_LSM_BYTES_ESCAPE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr char kHexDigits[] = "0123456789abcdef";

// Shows at most `length_max` bytes, then "…" and the full length. 0: all bytes.
std::string Escape(std::string_view bytes, size_t length_max = 0);

// A key in a message, quoted, and cut to fit a line: "\"key\"".
std::string QuotedKey(std::string_view key);

// Reverses Escape.  False if a backslash is not followed by a backslash or by xHH.
bool Unescape(std::string_view text, std::string* bytes);

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_ESCAPE_H_
