#include "bloom/literature/vector_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::EncodeVectors;
using bloom::ParseVectors;
using bloom::VectorList;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::IsOk;
using testing_support::StatusIs;

constexpr auto kVectorLoss = absl::StatusCode::kDataLoss;

// Parses bytes that end where an array does, so that AddressSanitizer sees a read after them.
template <class T>
absl::StatusOr<VectorList<T>> ParseExactly(std::string_view bytes) {
  const std::unique_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return ParseVectors<T>({copy.get(), bytes.size()});
}

template <class T>
VectorList<T> CountingVectors(uint32_t dimension, size_t count) {
  VectorList<T> vectors(dimension);
  std::vector<T> vector(dimension);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < dimension; ++j) vector[j] = static_cast<T>(i * dimension + j);
    vectors.Add(vector);
  }
  return vectors;
}

template <class T>
class VectorFileTest : public testing::Test {};
using VectorFileTypes = testing::Types<int32_t, float, uint8_t>;
TYPED_TEST_SUITE(VectorFileTest, VectorFileTypes);

TYPED_TEST(VectorFileTest, ReadsItsOwnFiles) {
  for (const uint32_t dimension : {1, 2, 3, 4, 128, 961}) {
    for (const size_t count : {1, 2, 17}) {
      const VectorList<TypeParam> vectors = CountingVectors<TypeParam>(dimension, count);
      const std::string bytes = EncodeVectors(vectors);
      ASSERT_EQ(bytes.size(), count * (4 + dimension * sizeof(TypeParam)));
      const absl::StatusOr<VectorList<TypeParam>> parsed = ParseExactly<TypeParam>(bytes);
      ASSERT_THAT(parsed, IsOk());
      EXPECT_EQ(parsed->dimension(), dimension);
      ASSERT_EQ(parsed->size(), count);
      for (size_t i = 0; i < count; ++i) {
        for (size_t j = 0; j < dimension; ++j) ASSERT_EQ((*parsed)[i][j], vectors[i][j]);
      }
      EXPECT_EQ(EncodeVectors(*parsed), bytes);
    }
  }
}

TYPED_TEST(VectorFileTest, BytesStayAsTheyAre) {
  Dice dice(1);
  for (int round = 0; round < 100; ++round) {
    const size_t record = 4 + 5 * sizeof(TypeParam);
    std::string bytes(3 * record, '\0');
    for (char& byte : bytes) byte = static_cast<char>(dice.Next());
    if (round == 0) std::fill(bytes.begin(), bytes.end(), '\xff');  // NaN
    for (size_t at = 0; at < bytes.size(); at += record)
      bytes.replace(at, 4, std::string("\5\0\0\0", 4));
    const absl::StatusOr<VectorList<TypeParam>> parsed = ParseExactly<TypeParam>(bytes);
    ASSERT_THAT(parsed, IsOk());
    EXPECT_EQ(EncodeVectors(*parsed), bytes);
  }
}

TYPED_TEST(VectorFileTest, EveryTruncationIsDataLossThatNamesTheRecord) {
  const std::string bytes = EncodeVectors(CountingVectors<TypeParam>(3, 4));
  const size_t record = bytes.size() / 4;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto parsed = ParseExactly<TypeParam>(bytes.substr(0, size));
    if (size > 0 && size % record == 0) {  // the size cannot tell
      ASSERT_THAT(parsed, IsOk());
      EXPECT_EQ(parsed->size(), size / record);
      continue;
    }
    const std::string where = "record " + std::to_string(size / record) + " at offset " +
                              std::to_string(size / record * record) + " has ";
    const std::string left =
        size % record < 4 ? std::to_string(size % record) + " bytes, its dimension"
                          : std::to_string(size % record) + " bytes of " + std::to_string(record);
    ASSERT_THAT(parsed, StatusIs(kVectorLoss, HasSubstr(where + left))) << size;
  }
  for (size_t more = 1; more < record; ++more)
    ASSERT_THAT(ParseExactly<TypeParam>(bytes + std::string(more, '\0')), StatusIs(kVectorLoss));
}

TYPED_TEST(VectorFileTest, WrongDimensionsAreDataLossThatNamesRecordAndOffset) {
  const std::string sound = EncodeVectors(CountingVectors<TypeParam>(3, 4));
  const size_t record = sound.size() / 4;
  for (size_t i = 0; i < 4; ++i) {
    const std::string where =
        "record " + std::to_string(i) + " at offset " + std::to_string(i * record) + " ";
    for (const int32_t dimension :
         {0, -1, INT32_MIN, INT32_MAX, (1 << 20) + 1, 3 << 24, 1, 2, 4, 1 << 20}) {
      std::string bytes = sound;
      const int32_t own[] = {dimension};
      bytes.replace(i * record, 4, bloom::LittleEndianBytes(std::span<const int32_t>(own)));
      const bool possible = dimension >= 1 && dimension <= 1 << 20;
      const std::string value = "has dimension " + std::to_string(dimension);
      if (!possible) {
        ASSERT_THAT(ParseExactly<TypeParam>(bytes),
                    StatusIs(kVectorLoss, HasSubstr(where + value + ", not 1 to 1048576")));
      } else if (i > 0) {
        ASSERT_THAT(ParseExactly<TypeParam>(bytes),
                    StatusIs(kVectorLoss, HasSubstr(where + value + ", record 0 has 3")));
      } else {
        ASSERT_THAT(ParseExactly<TypeParam>(bytes), StatusIs(kVectorLoss));
      }
    }
  }
}

TYPED_TEST(VectorFileTest, AnyBytesAreReadOrRefused) {
  Dice dice(5);
  const std::string sound = EncodeVectors(CountingVectors<TypeParam>(2, 5));
  int parsed = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = sound;
    for (uint64_t changes = dice.Roll(4); changes > 0; --changes)
      bytes[dice.Roll(bytes.size())] = static_cast<char>(dice.Roll(4));
    bytes.resize(dice.Roll(2 * sound.size()));
    parsed += ParseExactly<TypeParam>(bytes).ok();
  }
  EXPECT_GT(parsed, 0);
}

TEST(VectorFileFormatTest, RecordsMatchTheDrawing) {
  VectorList<float> floats(2);
  floats.Add(std::vector<float>{1, -2});
  EXPECT_EQ(EncodeVectors(floats), std::string("\2\0\0\0\0\0\x80\x3f\0\0\0\xc0", 12));
  VectorList<uint8_t> bytes(1);
  bytes.Add(std::vector<uint8_t>{200});
  bytes.Add(std::vector<uint8_t>{3});
  EXPECT_EQ(EncodeVectors(bytes), std::string("\1\0\0\0\xc8\1\0\0\0\3", 10));
  VectorList<int32_t> ints(1);
  ints.Add(std::vector<int32_t>{-2});
  EXPECT_EQ(EncodeVectors(ints), std::string("\1\0\0\0\xfe\xff\xff\xff", 8));
}

// For example fvecs that are read as bvecs: the second dimension is not at its place.
TEST(VectorFileFormatTest, RefusesFilesOfAnotherType) {
  const std::string fvecs = EncodeVectors(CountingVectors<float>(16, 10));
  EXPECT_THAT(ParseExactly<uint8_t>(fvecs),
              StatusIs(kVectorLoss, AllOf(HasSubstr("record 1 at offset 20"))));
}

TEST(VectorFileFormatTest, AFileOfTheLargestDimensionIsRead) {
  VectorList<uint8_t> vectors(bloom::kMaxVectorDimension);
  vectors.Add(std::vector<uint8_t>(bloom::kMaxVectorDimension, 9));
  const auto parsed = ParseVectors<uint8_t>(EncodeVectors(vectors));
  ASSERT_THAT(parsed, IsOk());
  EXPECT_EQ(parsed->size(), 1u);
  EXPECT_EQ((*parsed)[0].back(), 9);
}

}  // namespace
