// Lines that fit a terminal.  Columns are counted as it counts them for UTF-8 text (characters.h):
// a sequence that switches colour takes none, a tab reaches to the next multiple of eight.
#ifndef TRELLIS_TOOLS_SSTDUMP_WRAP_H_
#define TRELLIS_TOOLS_SSTDUMP_WRAP_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

// Of one line; of the longest one.
size_t ColumnsShown(std::string_view line);
size_t WidthOf(std::string_view text);

// Breaks the lines of `text` that are longer than `columns` at blanks, and words that are longer
// anywhere.  What follows a break begins with `hanging` blanks, but at most half of the columns.
// Nothing but blanks is lost.
std::string Wrapped(std::string_view text, size_t columns, size_t hanging);

// The same for text of any command: what follows a break is a little further in than its line, and
// lines with tabs, which are a table's, are cut instead.
std::string Fitted(std::string_view text, size_t columns, bool has_utf8);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_WRAP_H_
