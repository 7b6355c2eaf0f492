#include "lsm/bytes/json_writer.h"

#include <cassert>
#include <charconv>
#include <cmath>
#include <utility>

#include "lsm/bytes/escape.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

// Length of the well-formed UTF-8 sequence at the start of `bytes` (Unicode 15, table 3-7: no
// surrogates, no overlong forms, nothing above U+10FFFF); 0 if there is none.
size_t Utf8Length(std::string_view bytes) {
  const auto at = [&bytes](size_t i) {
    return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0;
  };
  const auto is_tail = [&at](size_t i) { return (at(i) & 0xc0) == 0x80; };
  const int lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return is_tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!is_tail(1) || !is_tail(2)) return 0;
    if (lead == 0xe0 && at(1) < 0xa0) return 0;
    if (lead == 0xed && at(1) > 0x9f) return 0;
    return 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!is_tail(1) || !is_tail(2) || !is_tail(3)) return 0;
    if (lead == 0xf0 && at(1) < 0x90) return 0;
    if (lead == 0xf4 && at(1) > 0x8f) return 0;
    return 4;
  }
  return 0;
}

void AppendQuoted(std::string* out, std::string_view text) {
  out->push_back('"');
  while (!text.empty()) {
    const char c = text.front();
    const auto byte = static_cast<uint8_t>(c);
    const size_t length = Utf8Length(text);
    if (c == '"' || c == '\\') {
      *out += {'\\', c};
    } else if (c == '\n') {
      *out += "\\n";
    } else if (c == '\t') {
      *out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      *out += {'\\', 'u', '0', '0', kHexDigits[byte >> 4], kHexDigits[byte & 15]};
    } else {
      out->append(length == 0 ? kReplacement : text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

}  // namespace

void JsonWriter::BeforeValue() {
  if (needs_comma_ && !after_key_) text_ += ',';
  after_key_ = false;
  needs_comma_ = true;
}

void JsonWriter::Raw(std::string_view token) {
  assert(open_.empty() ? !begun_ : after_key_ == (open_.back() == '{'));
  begun_ = true;
  BeforeValue();
  text_ += token;
}

void JsonWriter::Begin(char bracket) {
  Raw({&bracket, 1});
  open_.push_back(bracket);
  needs_comma_ = false;
}

void JsonWriter::End(char bracket) {
  assert(!open_.empty() && open_.back() == (bracket == '}' ? '{' : '[') && !after_key_);
  open_.pop_back();
  text_ += bracket;
  needs_comma_ = true;
}

void JsonWriter::Key(std::string_view name) {
  assert(!open_.empty() && open_.back() == '{' && !after_key_);
  BeforeValue();
  AppendQuoted(&text_, name);
  text_ += ':';
  after_key_ = true;
}

void JsonWriter::String(std::string_view text) {
  std::string quoted;
  AppendQuoted(&quoted, text);
  Raw(quoted);
}

void JsonWriter::Bool(bool value) { Raw(value ? "true" : "false"); }

void JsonWriter::Number(double value) {
  if (!std::isfinite(value)) return Raw("null");
  char digits[32];
  const std::to_chars_result result = std::to_chars(digits, digits + sizeof(digits), value);
  Raw({digits, static_cast<size_t>(result.ptr - digits)});
}

std::string JsonWriter::Take() && {
  assert(open_.empty() && !after_key_);
  return std::move(text_);
}

std::string JsonWriter::Drain() { return std::exchange(text_, std::string()); }

}  // namespace lsm
