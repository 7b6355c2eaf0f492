// The digest of a vector of numbers, as DigestOf is for a key of bytes.
//
//     XXH3-64 of the components, little-endian, without gaps, under the seed
//     Remix(number of components * 256 + type, seed)       type: 1 int32, 2 float32, 3 uint8
//
// Vectors that differ in a bit, in order, in length (also by zeros at the end) or in type therefore
// have unrelated digests, as different keys do.  Any length is allowed, including 0 and 1.
//
// Numbers are compared by their bytes: -0.0 is not +0.0, and a NaN equals only a NaN with the same
// bits.  If your comparison differs, normalise the numbers first.
//
// Frozen, as filters on disk depend on it; golden values pin it.  Thread-safe.
#ifndef TRELLIS_BLOOM_LITERATURE_VECTOR_DIGEST_H_
#define TRELLIS_BLOOM_LITERATURE_VECTOR_DIGEST_H_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "bloom/core/abi.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

template <class T>
concept VectorComponent =
    std::same_as<T, int32_t> || std::same_as<T, float> || std::same_as<T, uint8_t>;

// Part of the digest and of the bytes: the numbers never change.
enum class VectorType : uint8_t { kInt32 = 1, kFloat32 = 2, kUint8 = 3 };

template <VectorComponent T>
inline constexpr VectorType kVectorTypeOf = std::same_as<T, int32_t> ? VectorType::kInt32
                                            : std::same_as<T, float> ? VectorType::kFloat32
                                                                     : VectorType::kUint8;

// "int32", "float32" or "uint8"; empty for an invalid type.
constexpr std::string_view NameOf(VectorType type) {
  switch (type) {
    case VectorType::kInt32:
      return "int32";
    case VectorType::kFloat32:
      return "float32";
    case VectorType::kUint8:
      return "uint8";
  }
  return "";
}

// The components, little-endian, without gaps, on any machine.
template <VectorComponent T>
std::string LittleEndianBytes(std::span<const T> vector) {
  static_assert(sizeof(float) == 4 && std::numeric_limits<float>::is_iec559);
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint8_t>;
  std::string bytes;
  bytes.reserve(vector.size_bytes());
  for (const T component : vector) {
    const auto word = std::bit_cast<Word>(component);
    for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(word >> (8 * i) & 0xff);
  }
  return bytes;
}

template <VectorComponent T>
Digest VectorDigest(std::span<const T> vector, uint64_t seed) {
  const uint64_t kind = uint64_t{vector.size()} << 8 | static_cast<uint8_t>(kVectorTypeOf<T>);
  const uint64_t own_seed = Remix(kind, seed);
  if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
    return DigestOf({reinterpret_cast<const char*>(vector.data()), vector.size_bytes()}, own_seed);
  } else {
    return DigestOf(LittleEndianBytes(vector), own_seed);
  }
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_LITERATURE_VECTOR_DIGEST_H_
