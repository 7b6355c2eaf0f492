// Encodes integers, alike on every CPU: fixed-width little-endian, and varints with seven bits per
// byte (low bits first; the high bit says that another byte follows).
//
// Decoding never reads outside its input.  On an error it returns false or nullptr.
#ifndef TRELLIS_LSM_BYTES_CODING_H_
#define TRELLIS_LSM_BYTES_CODING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

static_assert(std::endian::native == std::endian::little ||
              std::endian::native == std::endian::big);

template <typename Word>
Word LittleEndian(Word value) {
  if constexpr (std::endian::native == std::endian::little) return value;
  Word swapped = 0;
  for (size_t i = 0; i < sizeof(Word); ++i) swapped = (swapped << 8) | ((value >> (8 * i)) & 0xff);
  return swapped;
}

inline uint32_t LoadFixed32(const char* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return LittleEndian(value);
}
inline uint64_t LoadFixed64(const char* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof(value));
  return LittleEndian(value);
}
inline void StoreFixed32(char* to, uint32_t value) {
  value = LittleEndian(value);
  std::memcpy(to, &value, sizeof(value));
}
inline void StoreFixed64(char* to, uint64_t value) {
  value = LittleEndian(value);
  std::memcpy(to, &value, sizeof(value));
}
inline void AppendFixed32(std::string* out, uint32_t value) {
  char bytes[4];
  StoreFixed32(bytes, value);
  out->append(bytes, sizeof(bytes));
}
inline void AppendFixed64(std::string* out, uint64_t value) {
  char bytes[8];
  StoreFixed64(bytes, value);
  out->append(bytes, sizeof(bytes));
}

inline constexpr int kVarint32BytesMax = 5;
inline constexpr int kVarint64BytesMax = 10;

// Returns the byte after the varint.  REQUIRES: room for kVarint64BytesMax.
char* StoreVarint64(char* to, uint64_t value);
inline char* StoreVarint32(char* to, uint32_t value) {
  if (value >= 0x80) return StoreVarint64(to, value);
  *to = static_cast<char>(value);
  return to + 1;
}

void AppendVarint32(std::string* out, uint32_t value);
void AppendVarint64(std::string* out, uint64_t value);

// Appends the length as a varint32, then the bytes.
void AppendLengthPrefixed(std::string* out, std::string_view bytes);

// Reads from [from, limit).  Returns the byte after the varint; nullptr if the varint is cut off,
// or too long or too large for the type.
const char* LoadVarint32Slow(const char* from, const char* limit, uint32_t* value);
inline const char* LoadVarint32(const char* from, const char* limit, uint32_t* value) {
  if (from < limit) {
    const auto byte = static_cast<uint8_t>(*from);
    if (byte < 0x80) {
      *value = byte;
      return from + 1;
    }
  }
  return LoadVarint32Slow(from, limit, value);
}

// These take a value from the front of `input` and advance it.  If there is none, they return false
// and leave `input` as it was.
bool TakeFixed32(std::string_view* input, uint32_t* value);
bool TakeFixed64(std::string_view* input, uint64_t* value);
bool TakeVarint32(std::string_view* input, uint32_t* value);
bool TakeVarint64(std::string_view* input, uint64_t* value);
inline bool TakeLengthPrefixed(std::string_view* input, std::string_view* bytes) {
  const char* const limit = input->data() + input->size();
  uint32_t length = 0;
  const char* const from = LoadVarint32(input->data(), limit, &length);
  if (from == nullptr || length > static_cast<size_t>(limit - from)) return false;
  *bytes = {from, length};
  *input = {from + length, static_cast<size_t>(limit - from) - length};
  return true;
}

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_CODING_H_
