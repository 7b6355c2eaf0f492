// Texts from pieces, for messages and names in both libraries.
//
// absl::StrCat does not take std::string_view on Debian 12, whose Abseil has a string_view type of
// its own; so neither library uses it.
#ifndef TRELLIS_BLOOM_CORE_CONCAT_H_
#define TRELLIS_BLOOM_CORE_CONCAT_H_

#include <charconv>
#include <concepts>
#include <iterator>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

namespace concat_internal {
inline void Append(std::string& out, std::string_view piece) { out.append(piece); }
inline void Append(std::string& out, char piece) { out.push_back(piece); }
template <std::integral Number>
void Append(std::string& out, Number piece) {
  out.append(std::to_string(piece));
}
template <std::floating_point Number>
void Append(std::string& out, Number piece) {
  char digits[32];
  char* const end =
      std::to_chars(std::begin(digits), std::end(digits), piece, std::chars_format::general, 6).ptr;
  out.append(digits, end);
}
}  // namespace concat_internal

// Joins the pieces.  Whole numbers are in decimal; other numbers have six digits, as with printf's
// %g.  Concat("offset ", 12) == "offset 12".
template <typename... Pieces>
std::string Concat(const Pieces&... pieces) {
  std::string out;
  (concat_internal::Append(out, pieces), ...);
  return out;
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_CONCAT_H_
