#include "tools/sstdump/characters.h"

#include <locale.h>

#include <clocale>
#include <cstdint>
#include <cwchar>

#include "lsm/bytes/escape.h"

namespace tools {
namespace {

// A code point.  `bytes` is 0 if the text does not begin with a well-formed sequence (Unicode 15,
// table 3-7).
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;
};

CodePoint FirstCodePoint(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text.front());
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t value = lead & (0xff >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto tail = static_cast<uint8_t>(text[i]);
    if ((tail & 0xc0) != 0x80) return {};
    value = value << 6 | (tail & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value < 0xe000;
  if (value < kLeast[bytes] || value > 0x10ffff || is_surrogate) return {};
  return {value, bytes};
}

// Characters that are invisible although the C library counts columns for them, or that change how
// their neighbours look.
struct Range {
  uint32_t first, last;
};
constexpr Range kUnseen[] = {
    {0x80, 0xa0},     {0xad, 0xad},     {0x61c, 0x61c},     {0x115f, 0x1160},   {0x1680, 0x1680},
    {0x180b, 0x180f}, {0x2000, 0x200f}, {0x2028, 0x202f},   {0x205f, 0x206f},   {0x2800, 0x2800},
    {0x3000, 0x3000}, {0x3164, 0x3164}, {0xe000, 0xf8ff},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0}, {0xfff0, 0xffff}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff}};

// The character's columns according to the C library, in any locale; -1 if it is not printable.
int ColumnsOfCodePoint(uint32_t value) {
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return -1;
  const locale_t before = uselocale(utf8);
  const int columns = wcwidth(static_cast<wchar_t>(value));
  uselocale(before);
  return columns;
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  const CodePoint code_point = FirstCodePoint(text);
  if (code_point.bytes == 0) return {};
  Character character;
  character.bytes = code_point.bytes;
  if (code_point.bytes == 1) {
    character.is_plain = code_point.value >= 0x20 && code_point.value < 0x7f;
    return character;
  }
  const int columns = ColumnsOfCodePoint(code_point.value);
  character.columns = columns < 0 ? 1 : static_cast<size_t>(columns);
  character.is_plain = columns > 0;
  for (const Range& range : kUnseen)
    character.is_plain &= code_point.value < range.first || code_point.value > range.last;
  return character;
}

std::string EscapeAllButPlain(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = FirstCharacter(bytes);
    const std::string_view piece = bytes.substr(0, character.bytes);
    text += character.is_plain && character.bytes > 1 ? std::string(piece) : lsm::Escape(piece);
    bytes.remove_prefix(character.bytes);
  }
  return text;
}

size_t ColumnsOf(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    columns += character.columns;
    text.remove_prefix(character.bytes);
  }
  return columns;
}

}  // namespace tools
