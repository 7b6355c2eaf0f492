#include "lsm/bytes/coding.h"

#include <cassert>
#include <limits>

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kPayloadMask = 0x7f;
constexpr uint8_t kMoreFollows = 0x80;
constexpr int kPayloadBits = 7;

template <typename Word>
const char* LoadVarint(const char* from, const char* limit, Word* value) {
  constexpr int kWordBits = std::numeric_limits<Word>::digits;
  Word result = 0;
  for (int shift = 0; shift < kWordBits && from < limit; shift += kPayloadBits) {
    const auto byte = static_cast<uint8_t>(*from++);
    const Word payload = byte & kPayloadMask;
    // The last byte has room for fewer than seven bits.
    if (shift + kPayloadBits > kWordBits && (payload >> (kWordBits - shift)) != 0) return nullptr;
    result |= payload << shift;
    if ((byte & kMoreFollows) == 0) {
      *value = result;
      return from;
    }
  }
  return nullptr;
}

template <typename Word>
bool TakeVarint(std::string_view* input, Word* value) {
  const char* const limit = input->data() + input->size();
  const char* const rest = LoadVarint<Word>(input->data(), limit, value);
  if (rest == nullptr) return false;
  input->remove_prefix(static_cast<size_t>(rest - input->data()));
  return true;
}

}  // namespace

void AppendVarint32(std::string* out, uint32_t value) { AppendVarint64(out, value); }

char* StoreVarint64(char* to, uint64_t value) {
  while (value >= kMoreFollows) {
    *to++ = static_cast<char>(static_cast<uint8_t>(value) | kMoreFollows);
    value >>= kPayloadBits;
  }
  *to++ = static_cast<char>(value);
  return to;
}

void AppendVarint64(std::string* out, uint64_t value) {
  char bytes[kVarint64BytesMax];
  out->append(bytes, static_cast<size_t>(StoreVarint64(bytes, value) - bytes));
}

void AppendLengthPrefixed(std::string* out, std::string_view bytes) {
  assert(bytes.size() <= std::numeric_limits<uint32_t>::max());
  AppendVarint32(out, static_cast<uint32_t>(bytes.size()));
  out->append(bytes);
}

const char* LoadVarint32Slow(const char* from, const char* limit, uint32_t* value) {
  return LoadVarint(from, limit, value);
}

bool TakeFixed32(std::string_view* input, uint32_t* value) {
  if (input->size() < sizeof(*value)) return false;
  *value = LoadFixed32(input->data());
  input->remove_prefix(sizeof(*value));
  return true;
}

bool TakeFixed64(std::string_view* input, uint64_t* value) {
  if (input->size() < sizeof(*value)) return false;
  *value = LoadFixed64(input->data());
  input->remove_prefix(sizeof(*value));
  return true;
}

bool TakeVarint32(std::string_view* input, uint32_t* value) { return TakeVarint(input, value); }
bool TakeVarint64(std::string_view* input, uint64_t* value) { return TakeVarint(input, value); }

}  // namespace lsm
