// Writes JSON (RFC 8259), one call a token, commas and escapes included.
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
// Strings are written as UTF-8; bytes that are not become U+FFFD, so the text is valid whatever
// comes in (keys and values, which may be any bytes, are escaped before: lsm/bytes/escape.h).
// Doubles have as many digits as it takes to read the same number back; NaN and infinities, which
// JSON has not, become null.  Integers beyond 2^53, which many readers would round, become texts of
// their decimal digits.
//
// REQUIRES: calls that make one well-formed value; the caller's bug otherwise (asserted).  Threads:
// like a string.
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

  // Of the member whose value comes next.
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

  // A value that is JSON already.
  void Json(std::string_view value) { Raw(value); }

  // Key and value at once.
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

  // The text.  REQUIRES: everything that was begun has ended.
  std::string Take() &&;

  // The text so far, which goes away: for documents that are too long to be held.
  std::string Drain();

 private:
  // Every integer up to it is a double too.
  static constexpr int64_t kExactMax = int64_t{1} << 53;

  void Begin(char bracket);
  void End(char bracket);
  void Raw(std::string_view token);
  void BeforeValue();

  std::string text_;
  bool begun_ = false;        // a value was written
  std::vector<char> open_;    // brackets that are
  bool needs_comma_ = false;  // a value stands before on this level
  bool after_key_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_JSON_WRITER_H_
