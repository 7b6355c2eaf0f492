// What programs of other systems put around text, and is no part of it.
#ifndef TRELLIS_BLOOM_EXAMPLES_TEXT_H_
#define TRELLIS_BLOOM_EXAMPLES_TEXT_H_

#include <string_view>

namespace examples {

// Without the mark of UTF-8, which may stand at the beginning of a file.
inline std::string_view WithoutMark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

// Without the first half of CRLF, of a line whose second half was taken off.
inline std::string_view WithoutCarriageReturn(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace examples

#endif  // TRELLIS_BLOOM_EXAMPLES_TEXT_H_
