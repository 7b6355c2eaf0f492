// Characters of UTF-8 text as a terminal shows them.
#ifndef TRELLIS_TOOLS_SSTDUMP_CHARACTERS_H_
#define TRELLIS_TOOLS_SSTDUMP_CHARACTERS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

// The first character of a text.
struct Character {
  size_t bytes = 1;    // at least 1, even for invalid UTF-8
  size_t columns = 1;  // on a terminal: 0 to 2
  // Visible, and not easily mistaken for another character: valid UTF-8, and not a control,
  // formatting, bidirectional, combining, zero-width or blank character (ASCII's space is plain).
  bool is_plain = false;
};
// REQUIRES: `text` is not empty.
Character FirstCharacter(std::string_view text);

// Like lsm::Escape, but keeps plain characters beyond ASCII.  lsm::Unescape undoes it.
std::string EscapeAllButPlain(std::string_view bytes);

// Columns of a text without colour, tabs and control characters.
size_t ColumnsOf(std::string_view text);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_CHARACTERS_H_
