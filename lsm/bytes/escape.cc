#include "lsm/bytes/escape.h"

#include <cstdint>

namespace lsm::inline TRELLIS_ABI {
namespace {

// -1 if it is not a hexadecimal digit.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string Escape(std::string_view bytes, size_t length_max) {
  const bool cut = length_max != 0 && bytes.size() > length_max;
  std::string text;
  for (const char c : cut ? bytes.substr(0, length_max) : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\\') {
      text += "\\\\";
    } else if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      text += {'\\', 'x', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    }
  }
  if (cut) text += "… (" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

std::string QuotedKey(std::string_view key) {
  constexpr size_t kShownBytes = 40;
  return "\"" + Escape(key, kShownBytes) + "\"";
}

bool Unescape(std::string_view text, std::string* bytes) {
  bytes->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes->push_back(text[i]);
    } else if (i + 1 < text.size() && text[i + 1] == '\\') {
      bytes->push_back('\\');
      i += 1;
    } else {
      if (i + 3 >= text.size() || text[i + 1] != 'x') return false;
      const int high = HexDigit(text[i + 2]);
      const int low = HexDigit(text[i + 3]);
      if (high < 0 || low < 0) return false;
      bytes->push_back(static_cast<char>(high * 16 + low));
      i += 3;
    }
  }
  return true;
}

}  // namespace lsm
