// Removes what other systems add to text.
#ifndef TRELLIS_BLOOM_EXAMPLES_TEXT_H_
#define TRELLIS_BLOOM_EXAMPLES_TEXT_H_

#include <string_view>

namespace examples {

// Without the UTF-8 byte order mark that may begin a file.
inline std::string_view WithoutMark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

// Without the carriage return of CRLF, for a line whose line feed was removed.
inline std::string_view WithoutCarriageReturn(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace examples

#endif  // TRELLIS_BLOOM_EXAMPLES_TEXT_H_
