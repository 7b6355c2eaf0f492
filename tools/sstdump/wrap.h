// Makes lines fit a terminal.  Columns are counted as a terminal counts UTF-8 text (characters.h):
// colour sequences take none, and a tab extends to the next multiple of eight.
#ifndef TRELLIS_TOOLS_SSTDUMP_WRAP_H_
#define TRELLIS_TOOLS_SSTDUMP_WRAP_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

// The columns of one line; of the longest line of a text.
size_t ColumnsShown(std::string_view line);
size_t WidthOf(std::string_view text);

// Breaks lines longer than `columns` at blanks, and longer words anywhere.  Continued lines begin
// with `hanging` blanks, at most half of the columns.  Only blanks are lost.
std::string Wrapped(std::string_view text, size_t columns, size_t hanging);

// The same for any command's text.  Continued lines are indented a little more than their line.
// Lines with tabs belong to a table and are cut instead.
std::string Fitted(std::string_view text, size_t columns, bool has_utf8);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_WRAP_H_
