// Writes JSON (RFC 8259): one call per token; adds commas and escapes.
//
//   JsonWriter json;
//   json.BeginObject();
//   json.Key("levels");
//   json.BeginArray();
//   json.Number(7);
//   json.EndArray();
//   json.EndObject();
//   std::move(json).Take() == R"({"levels":[7]})"
//
//   strings    are UTF-8; other bytes become U+FFFD, so the text is always valid.  (Keys and
//              values, which may be any bytes, are escaped before: lsm/bytes/escape.h.)
//   doubles    have enough digits to read back the same number; NaN and infinities become null
//   integers   beyond 2^53, which many readers would round, become strings of decimal digits
//
// REQUIRES: the calls form one well-formed value (asserted).  Thread-compatible, like a string.
#ifndef TRELLIS_LSM_BYTES_JSON_WRITER_H_
#define TRELLIS_LSM_BYTES_JSON_WRITER_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

class JsonWriter {
 public:
  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginArray() { Begin('['); }
  void EndArray() { End(']'); }

  // The name of the next member.
  void Key(std::string_view name);

  void String(std::string_view text);
  void Bool(bool value);
  void Number(double value);
  template <std::integral Integer>
  void Number(Integer value) {
    const bool is_exact =
        std::cmp_less_equal(value, kExactMax) && std::cmp_greater_equal(value, -kExactMax);
    Raw(is_exact ? std::to_string(value) : '"' + std::to_string(value) + '"');
  }

  // Writes a value that is already JSON.
  void Json(std::string_view value) { Raw(value); }

  // Writes key and value.
  template <typename Value>
  void Member(std::string_view name, const Value& value) {
    Key(name);
    if constexpr (std::same_as<Value, bool>) {
      Bool(value);
    } else if constexpr (std::convertible_to<Value, std::string_view>) {
      String(value);
    } else {
      Number(value);
    }
  }

  // The text.  REQUIRES: every object and array has ended.
  std::string Take() &&;

  // Returns and removes the text so far.  For documents that are too long to hold.
  std::string Drain();

 private:
  // Up to this, every integer is exact as a double.
  static constexpr int64_t kExactMax = int64_t{1} << 53;

  void Begin(char bracket);
  void End(char bracket);
  void Raw(std::string_view token);
  void BeforeValue();

  std::string text_;
  bool begun_ = false;        // the value has been begun
  std::vector<char> open_;    // open brackets
  bool needs_comma_ = false;  // a value precedes on this level
  bool after_key_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_JSON_WRITER_H_
