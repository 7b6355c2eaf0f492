#include "tools/sstdump/store/absent_keys.h"

#include <algorithm>
#include <cassert>

#include "lsm/bytes/shared_prefix.h"

namespace tools {
namespace {

constexpr int kTries = 4;
constexpr size_t kMutatedBytesMax = 16;
constexpr size_t kRandomBytes = 8;

}  // namespace

char AbsentKeys::Byte(uint8_t least, uint8_t most) {
  return static_cast<char>(least + random_.Below(uint64_t{most} - least + 1));
}

bool AbsentKeys::Mutate(std::string_view below, std::string_view above, std::string* key) {
  assert(below < above);
  const size_t shared = lsm::SharedPrefixBytes(below, above);
  if (shared == below.size()) return false;
  for (int i = 0; i < kTries; ++i) {
    key->assign(below);
    // The first byte in which the two keys differ decides.  A later byte changes less.
    const size_t at = shared + random_.Below(below.size() - shared);
    const auto byte_below = static_cast<uint8_t>(below[at]);
    (*key)[at] =
        at == shared ? Byte(byte_below, static_cast<uint8_t>(above[at])) : Byte(byte_below, 0xff);
    const size_t end = std::min(key->size(), at + kMutatedBytesMax);
    for (size_t j = at + 1; j < end; ++j) (*key)[j] = Byte(0, 0xff);
    if (*key > below && *key < above) return true;
  }
  return false;
}

bool AbsentKeys::Extend(std::string_view below, std::string_view above, std::string* key) {
  assert(below < above);
  // If `below` is a prefix of `above`, the added bytes must stay below the rest of `above`.
  const bool is_prefix = above.starts_with(below);
  const uint8_t most = is_prefix ? static_cast<uint8_t>(above[below.size()]) : 0xff;
  for (int i = 0; i < kTries; ++i) {
    key->assign(below);
    key->push_back(Byte(0, most));
    const uint64_t bits = random_.Next();
    for (size_t j = 1; j < kRandomBytes; ++j) key->push_back(static_cast<char>(bits >> (8 * j)));
    if (*key < above) return true;
  }
  return false;
}

}  // namespace tools
