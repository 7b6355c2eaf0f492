#include "bloom/core/siphash.h"

#include <bit>
#include <cstddef>

#include "bloom/core/bits.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

// The state and its round (section 2.1 and figure 2.1 of the paper).
struct State {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void Take(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

}  // namespace

uint64_t SipHash24(std::string_view bytes, uint64_t key_low, uint64_t key_high) {
  // "somepseudorandomlygeneratedbytes"
  State state = {key_low ^ 0x736f6d6570736575, key_high ^ 0x646f72616e646f6d,
                 key_low ^ 0x6c7967656e657261, key_high ^ 0x7465646279746573};
  // The last word: the remaining bytes, and the length modulo 256 in the top byte.
  uint64_t last = static_cast<uint64_t>(bytes.size()) << 56;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) state.Take(Load64(bytes.data()));
  for (size_t i = 0; i < bytes.size(); ++i)
    last |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  state.Take(last);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace bloom
