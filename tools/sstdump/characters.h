// Characters of UTF-8 text as a terminal shows them.
#ifndef TRELLIS_TOOLS_SSTDUMP_CHARACTERS_H_
#define TRELLIS_TOOLS_SSTDUMP_CHARACTERS_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

// The first character of a text.
struct Character {
  size_t bytes = 1;    // at least 1, also where they are no UTF-8
  size_t columns = 1;  // that a terminal gives it: 0 to 2
  // It can be seen, and is no more than it seems to be: valid UTF-8, and no control, formatting,
  // bidirectional, combining, zero-width or blank character but the space of ASCII.
  bool is_plain = false;
};
// REQUIRES: `text` is not empty.
Character FirstCharacter(std::string_view text);

// As lsm::Escape, but plain characters beyond ASCII stay as they are.  lsm::Unescape undoes it.
std::string EscapeAllButPlain(std::string_view bytes);

// Columns of a text without colour, tabs and control characters.
size_t ColumnsOf(std::string_view text);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_CHARACTERS_H_
