#include "tools/sstdump/wrap.h"

#include <algorithm>

#include "tools/sstdump/characters.h"

namespace tools {
namespace {

constexpr size_t kTabColumns = 8;

// Text that a terminal shows as one piece: a character, or a colour sequence.
struct Unit {
  size_t bytes = 1;
  size_t columns = 1;
  bool is_shown = true;
};

Unit UnitAt(std::string_view line, size_t at) {
  if (line.substr(at).starts_with("\x1b[")) {
    const size_t end = line.find('m', at);
    if (end != line.npos) return {end + 1 - at, 0, false};
  }
  const Character character = FirstCharacter(line.substr(at));
  return {character.bytes, character.columns, true};
}

// The column after this unit.  The unit begins with `c` and starts at `column`.
size_t ColumnAfter(size_t column, char c, const Unit& unit) {
  return c == '\t' ? column + kTabColumns - column % kTabColumns : column + unit.columns;
}

std::string WrappedLine(std::string_view line, size_t columns, size_t hanging) {
  hanging = std::min(hanging, columns / 2);
  std::string text;
  size_t begin = 0;  // start of the text that is not in `text` yet
  size_t word = std::min(line.find_first_not_of(' '), line.size());  // first word of this line
  size_t blank = line.npos;  // last blank after a word of this line
  size_t column = 0;
  for (size_t at = 0; at < line.size();) {
    const Unit unit = UnitAt(line, at);
    if (line[at] == ' ' && at > word) blank = at;
    const size_t after = ColumnAfter(column, line[at], unit);
    if (after <= columns || at == begin) {
      column = after;
      at += unit.bytes;
      continue;
    }
    const size_t end = blank == line.npos ? at : blank;
    const std::string_view broken = line.substr(begin, end - begin);
    text.append(broken.substr(0, broken.find_last_not_of(' ') + 1));
    begin = line.find_first_not_of(' ', end);
    if (begin == line.npos) return text;
    text.append("\n").append(hanging, ' ');
    at = word = begin;
    blank = line.npos;
    column = hanging;
  }
  return text.append(line.substr(begin));
}

// Keeps colour sequences, because the last one switches colour off.
std::string CutLine(std::string_view line, size_t columns, std::string_view mark) {
  std::string text;
  size_t column = 0;
  bool is_cut = false;
  for (size_t at = 0; at < line.size();) {
    const Unit unit = UnitAt(line, at);
    const std::string_view piece = line.substr(at, unit.bytes);
    at += unit.bytes;
    if (!unit.is_shown) {
      text.append(piece);
    } else if (!is_cut) {
      column = ColumnAfter(column, piece[0], unit);
      // The mark takes the last column, even if this character would just fit.
      is_cut = column >= columns;
      text.append(is_cut ? mark : piece);
    }
  }
  return text;
}

template <typename Change>
std::string ForEachLine(std::string_view text, const Change& change) {
  std::string changed;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    changed += change(text.substr(0, end));
    if (end < text.size()) changed += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return changed;
}

}  // namespace

size_t ColumnsShown(std::string_view line) {
  size_t column = 0;
  for (size_t at = 0; at < line.size();) {
    const Unit unit = UnitAt(line, at);
    column = ColumnAfter(column, line[at], unit);
    at += unit.bytes;
  }
  return column;
}

size_t WidthOf(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    width = std::max(width, ColumnsShown(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return width;
}

std::string Wrapped(std::string_view text, size_t columns, size_t hanging) {
  return ForEachLine(text, [&](std::string_view line) {
    return ColumnsShown(line) <= columns ? std::string(line) : WrappedLine(line, columns, hanging);
  });
}

std::string Fitted(std::string_view text, size_t columns, bool has_utf8) {
  constexpr size_t kFurtherIn = 4;
  return ForEachLine(text, [&](std::string_view line) {
    if (ColumnsShown(line) <= columns) return std::string(line);
    if (line.find('\t') != line.npos) return CutLine(line, columns, has_utf8 ? "…" : "~");
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    return WrappedLine(line, columns, indent + kFurtherIn);
  });
}

}  // namespace tools
