#include "bloom/literature/vector_digest.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/dice.h"

namespace {

using bloom::Digest;
using bloom::VectorDigest;
using testing_support::Dice;

template <class T>
Digest DigestOfVector(const std::vector<T>& vector, uint64_t seed = 7) {
  return VectorDigest(std::span<const T>(vector), seed);
}

template <class T>
class VectorDigestTest : public testing::Test {
 protected:
  static std::vector<T> RandomVector(size_t dimension, uint64_t seed) {
    Dice dice(seed);
    std::vector<T> vector(dimension);
    for (T& component : vector) component = static_cast<T>(dice.Roll(200));
    return vector;
  }
};
using VectorComponents = testing::Types<int32_t, float, uint8_t>;
TYPED_TEST_SUITE(VectorDigestTest, VectorComponents);

TYPED_TEST(VectorDigestTest, EveryBitOfEveryComponentCounts) {
  using Word = std::conditional_t<sizeof(TypeParam) == 4, uint32_t, uint8_t>;
  for (const size_t dimension : {1, 2, 3, 4, 16, 17, 60, 64, 128, 300}) {
    std::vector<TypeParam> vector = this->RandomVector(dimension, dimension);
    std::set<Digest> digests = {DigestOfVector(vector)};
    for (size_t i = 0; i < dimension; ++i) {
      for (uint32_t bit = 0; bit < 8 * sizeof(TypeParam); ++bit) {
        const auto flipped = static_cast<Word>(std::bit_cast<Word>(vector[i]) ^ Word{1} << bit);
        std::vector<TypeParam> other = vector;
        std::memcpy(&other[i], &flipped, sizeof flipped);  // a NaN may lose a bit in a register
        ASSERT_TRUE(digests.insert(DigestOfVector(other)).second)
            << "bit " << bit << " of component " << i << " of " << dimension;
      }
    }
  }
}

TYPED_TEST(VectorDigestTest, OrderCounts) {
  for (const size_t dimension : {2, 3, 16, 128}) {
    std::vector<TypeParam> vector(dimension);
    for (size_t i = 0; i < dimension; ++i) vector[i] = static_cast<TypeParam>(i + 1);
    std::set<Digest> digests = {DigestOfVector(vector)};
    for (size_t i = 0; i < dimension; ++i) {
      for (size_t j = 0; j < i; ++j) {
        std::swap(vector[i], vector[j]);
        ASSERT_TRUE(digests.insert(DigestOfVector(vector)).second) << i << " and " << j;
        std::swap(vector[i], vector[j]);
      }
    }
  }
}

TYPED_TEST(VectorDigestTest, TrailingZerosCount) {
  for (const uint64_t seed : {0, 7}) {
    std::set<Digest> digests;
    std::vector<TypeParam> zeros, ones;
    for (size_t length = 0; length <= 1200; ++length) {
      ASSERT_TRUE(digests.insert(DigestOfVector(zeros, seed)).second) << length;
      zeros.push_back(0);
      ones.assign(1, 1);
      ones.resize(length + 1, 0);
      ASSERT_TRUE(digests.insert(DigestOfVector(ones, seed)).second) << length;
    }
  }
}

TYPED_TEST(VectorDigestTest, SeedsMakeOtherDigests) {
  for (const size_t dimension : {0, 1, 5, 128}) {
    const std::vector<TypeParam> vector = this->RandomVector(dimension, 1);
    std::set<Digest> digests;
    for (uint64_t seed = 0; seed < 1000; ++seed)
      ASSERT_TRUE(digests.insert(DigestOfVector(vector, seed)).second) << seed;
    EXPECT_EQ(DigestOfVector(vector, 5), DigestOfVector(vector, 5));
  }
}

TYPED_TEST(VectorDigestTest, DigestsTheLittleEndianBytes) {
  for (const size_t dimension : {0, 1, 2, 7, 128, 1000}) {
    const std::vector<TypeParam> vector = this->RandomVector(dimension, 3);
    const uint64_t type = std::is_same_v<TypeParam, int32_t> ? 1
                          : std::is_same_v<TypeParam, float> ? 2
                                                             : 3;
    const std::string bytes = bloom::LittleEndianBytes(std::span<const TypeParam>(vector));
    ASSERT_EQ(bytes.size(), dimension * sizeof(TypeParam));
    EXPECT_EQ(DigestOfVector(vector, 11),
              bloom::DigestOf(bytes, bloom::Remix(dimension * 256 + type, 11)));
  }
}

TEST(VectorDigestTypesTest, TellsTypesApart) {
  const std::vector<uint8_t> bytes = {0, 0, 128, 63, 0, 0, 0, 64};
  const std::vector<float> floats = {1, 2};
  const std::vector<int32_t> ints = {0x3f800000, 0x40000000};
  ASSERT_EQ(bloom::LittleEndianBytes(std::span<const float>(floats)),
            bloom::LittleEndianBytes(std::span<const int32_t>(ints)));
  ASSERT_EQ(bloom::LittleEndianBytes(std::span<const float>(floats)),
            std::string(bytes.begin(), bytes.end()));
  EXPECT_EQ(std::set<Digest>({DigestOfVector(bytes), DigestOfVector(floats), DigestOfVector(ints),
                              bloom::DigestOf(std::string(bytes.begin(), bytes.end()), 7)})
                .size(),
            4u);
  // The same for empty vectors.
  EXPECT_EQ(std::set<Digest>({DigestOfVector<uint8_t>({}), DigestOfVector<float>({}),
                              DigestOfVector<int32_t>({}), bloom::DigestOf("", 7)})
                .size(),
            4u);
}

TEST(VectorDigestTypesTest, NumbersAreComparedAsBytes) {
  EXPECT_NE(DigestOfVector<float>({0.0f}), DigestOfVector<float>({-0.0f}));
  const auto nan = [](uint32_t payload) {
    std::vector<float> vector(3, 1.0f);
    const uint32_t word = 0x7fc00000 | payload;
    std::memcpy(&vector[1], &word, 4);
    return DigestOfVector(vector);
  };
  EXPECT_EQ(nan(1), nan(1));
  EXPECT_NE(nan(1), nan(2));
  EXPECT_NE(nan(0), DigestOfVector<float>({1, -std::numeric_limits<float>::quiet_NaN(), 1}));
  EXPECT_NE(DigestOfVector<int32_t>({-1}), DigestOfVector<int32_t>({1}));
}

TEST(VectorDigestTypesTest, IsFrozen) {
  EXPECT_EQ(DigestOfVector<int32_t>({}, 0), 0x78c5fcab12a7426du);
  EXPECT_EQ(DigestOfVector<int32_t>({1, -2, 3}, 0), 0x53460fe2436f41bfu);
  EXPECT_EQ(DigestOfVector<float>({1, -2, 3}, 42), 0x647df46400aa4ef9u);
  EXPECT_EQ(DigestOfVector<uint8_t>({1, 2, 255}, 42), 0xaf2c990d0b29fed1u);
  EXPECT_EQ(DigestOfVector(std::vector<float>(128, 0.5f), 42), 0xcb68af5505d27a7cu);
}

TEST(VectorDigestTypesTest, BytesAreLittleEndian) {
  const int32_t ints[] = {1, -2};
  EXPECT_EQ(bloom::LittleEndianBytes(std::span<const int32_t>(ints)),
            std::string("\x01\0\0\0\xfe\xff\xff\xff", 8));
  const float floats[] = {-1.5f};
  EXPECT_EQ(bloom::LittleEndianBytes(std::span<const float>(floats)),
            std::string("\0\0\xc0\xbf", 4));
  const uint8_t bytes[] = {7, 200};
  EXPECT_EQ(bloom::LittleEndianBytes(std::span<const uint8_t>(bytes)), "\x07\xc8");
}

TEST(VectorDigestTypesTest, TypesHaveNames) {
  EXPECT_EQ(bloom::NameOf(bloom::kVectorTypeOf<int32_t>), "int32");
  EXPECT_EQ(bloom::NameOf(bloom::kVectorTypeOf<float>), "float32");
  EXPECT_EQ(bloom::NameOf(bloom::kVectorTypeOf<uint8_t>), "uint8");
  EXPECT_EQ(bloom::NameOf(bloom::VectorType{0}), "");
  EXPECT_EQ(bloom::NameOf(bloom::VectorType{4}), "");
}

}  // namespace
