#include "bloom/parquet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::ParquetFilter;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::IsOk;
using testing_support::StatusIs;

std::string BytesOf(const std::vector<int>& numbers) {
  std::string bytes;
  for (const int number : numbers) bytes += static_cast<char>(number);
  return bytes;
}

// numBytes 32; algorithm, hash and compression the first of each.
const std::vector<int> kHeaderOf32 = {0x15, 0x40, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c,
                                      0,    0,    0x1c, 0x1c, 0, 0, 0};

// Bytes written by Apache Spark for a column of the strings a0 to a9, and for one of the 64-bit
// integers 0 to 9, each in a filter of one line.
const std::vector<int> kStrings = {200, 1,   80, 20, 64,  68, 8,   109, 6,  37, 4,
                                   67,  144, 80, 96, 32,  8,  132, 43,  33, 0,  5,
                                   99,  65,  2,  0,  224, 44, 64,  78,  96, 4};
const std::vector<int> kIntegers = {24,  130, 24, 8,  134, 8,   68, 6,   2,  101, 128,
                                    10,  64,  2,  38, 78,  114, 1,  64,  38, 1,   192,
                                    194, 152, 64, 70, 0,   36,  56, 121, 64, 0};

TEST(ParquetTest, ReadsFiltersOfOtherWriters) {
  const auto strings = ParquetFilter::Load(BytesOf(kHeaderOf32) + BytesOf(kStrings));
  ASSERT_THAT(strings, IsOk());
  const auto integers = ParquetFilter::Load(BytesOf(kHeaderOf32) + BytesOf(kIntegers) + "more");
  ASSERT_THAT(integers, IsOk());
  for (int64_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(strings->MayContain(std::string_view("a" + std::to_string(i))));
    EXPECT_TRUE(integers->MayContain(i));
  }
  int passing = 0;
  for (int64_t i = 10; i < 1010; ++i) {
    passing += strings->MayContain(std::string_view("a" + std::to_string(i)));
    passing += integers->MayContain(i);
  }
  EXPECT_LE(passing, 3);  // 2000 at 3 * 10^-5 with so few values in a line
  EXPECT_NEAR(strings->EstimatedValueCount(), 10, 3);
  EXPECT_EQ(strings->size_bytes(), 32u);
}

TEST(ParquetTest, WritesTheBytesOfOtherWriters) {
  ParquetFilter strings = ParquetFilter::Make(5, 0.01).value();
  ParquetFilter integers = ParquetFilter::Make(5, 0.01).value();
  ASSERT_EQ(strings.size_bytes(), 32u);
  for (int64_t i = 0; i < 10; ++i) {
    strings.Add(std::string_view("a" + std::to_string(i)));
    integers.Add(i);
  }
  EXPECT_EQ(strings.Serialize(), BytesOf(kHeaderOf32) + BytesOf(kStrings));
  EXPECT_EQ(integers.Serialize(), BytesOf(kHeaderOf32) + BytesOf(kIntegers));
}

TEST(ParquetTest, NumbersAreHashedByTheirPlainEncoding) {
  EXPECT_EQ(ParquetFilter::HashOf(std::string_view()), 17241709254077376921u);  // XXH64 of nothing
  EXPECT_EQ(ParquetFilter::HashOf(int32_t{0x01020304}),
            ParquetFilter::HashOf(std::string_view("\x04\x03\x02\x01")));
  EXPECT_EQ(ParquetFilter::HashOf(1.0f), ParquetFilter::HashOf(int32_t{0x3f800000}));
  EXPECT_EQ(ParquetFilter::HashOf(1.0), ParquetFilter::HashOf(int64_t{0x3ff0000000000000}));
  EXPECT_NE(ParquetFilter::HashOf(int32_t{1}), ParquetFilter::HashOf(int64_t{1}));
}

TEST(ParquetTest, MeetsItsTarget) {
  // The hash has no seed, so different filters need different values.
  constexpr int64_t kValues = 100'000, kFilters = 5;
  for (const double fpp : {0.1, 0.01, 0.001}) {
    double sum = 0, predicted = 0;
    for (int64_t first = 0; first < kFilters << 40; first += int64_t{1} << 40) {
      ParquetFilter filter = ParquetFilter::Make(kValues, fpp).value();
      EXPECT_EQ(filter.size_bytes() & (filter.size_bytes() - 1), 0u);
      for (int64_t i = 0; i < kValues; ++i) filter.Add(first + i);
      for (int64_t i = 0; i < kValues; ++i) ASSERT_TRUE(filter.MayContain(first + i));
      predicted = filter.PredictedFpp(kValues);
      EXPECT_LE(predicted, fpp);
      const auto queries = static_cast<int64_t>(5e3 / predicted);
      int64_t passing = 0;
      for (int64_t i = kValues; i < kValues + queries; ++i) passing += filter.MayContain(first + i);
      const double measured = static_cast<double>(passing) / static_cast<double>(queries);
      EXPECT_NEAR(measured / predicted, 1, 0.07) << fpp;
      EXPECT_NEAR(measured / filter.CurrentFpp(), 1, 0.05) << fpp;
      EXPECT_NEAR(filter.EstimatedValueCount(), kValues, kValues / 100.0);
      const auto loaded = ParquetFilter::Load(filter.Serialize());
      ASSERT_THAT(loaded, IsOk());
      EXPECT_EQ(loaded->Serialize(), filter.Serialize());
      sum += measured;
    }
    EXPECT_NEAR(sum / kFilters / predicted, 1, 0.03) << fpp;
  }
}

TEST(ParquetTest, RefusesSizesThatReadersReject) {
  EXPECT_THAT(ParquetFilter::Make(0, 0.01),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("value_count")));
  EXPECT_THAT(ParquetFilter::Make(10, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("target_fpp")));
  EXPECT_THAT(ParquetFilter::Make(200'000'000, 0.01),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("134217728")));
}

// A header with other fields, sizes and unions, followed by 64 bytes.
absl::StatusOr<ParquetFilter> LoadWithHeader(const std::vector<int>& header) {
  const std::string bytes = BytesOf(header) + std::string(64, '\xff');
  const std::unique_ptr<char[]> exact(new char[bytes.size()]);
  std::memcpy(exact.get(), bytes.data(), bytes.size());
  return ParquetFilter::Load({exact.get(), bytes.size()});
}

TEST(ParquetTest, SkipsOrRefusesNewerHeaders) {
  // Fields 5 to 9 after the known ones: a bool, a byte, a double, a string, a struct in a struct.
  std::vector<int> longer = kHeaderOf32;
  longer.pop_back();
  longer.insert(longer.end(), {0x11, 0x13, 7,   0x17, 1,    2,    3,    4, 5, 6, 7, 8,
                               0x18, 2,    'h', 'i',  0x1c, 0x1c, 0x15, 4, 0, 0, 0});
  EXPECT_THAT(LoadWithHeader(longer), IsOk());
  // Ids spelled out instead of as differences.
  EXPECT_THAT(
      LoadWithHeader({0x05, 2, 0x40, 0x0c, 4, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0}),
      IsOk());
  const auto unknown = [](const char* what) {
    return StatusIs(absl::StatusCode::kUnimplemented, HasSubstr(what));
  };
  EXPECT_THAT(LoadWithHeader({0x15, 0x40, 0x1c, 0x2c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0}),
              unknown("algorithm 2"));
  EXPECT_THAT(LoadWithHeader({0x15, 0x40, 0x1c, 0x1c, 0, 0, 0x1c, 0x3c, 0, 0, 0x1c, 0x1c, 0, 0, 0}),
              unknown("hash 3"));
  EXPECT_THAT(LoadWithHeader({0x15, 0x40, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x4c, 0, 0, 0}),
              unknown("compression 4"));
}

TEST(ParquetTest, OtherBytesAreDataLoss) {
  const auto lost = [](const char* what) {
    return StatusIs(absl::StatusCode::kDataLoss, HasSubstr(what));
  };
  EXPECT_THAT(ParquetFilter::Load(""), lost("cannot be read"));
  EXPECT_THAT(ParquetFilter::Load(std::string_view("\0", 1)), lost("which algorithm"));
  const std::vector<int> unions = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};
  const auto with_size = [&unions](std::vector<int> size) {
    std::vector<int> header = {0x15};
    header.insert(header.end(), size.begin(), size.end());
    header.insert(header.end(), unions.begin(), unions.end());
    return LoadWithHeader(header);
  };
  EXPECT_THAT(with_size({0x40}), IsOk());
  EXPECT_THAT(with_size({0x80, 0x01}), IsOk());                      // 64
  EXPECT_THAT(with_size({0}), lost("says 0 bytes"));                 // none
  EXPECT_THAT(with_size({0x3f}), lost("says -32 bytes"));            // fewer than none
  EXPECT_THAT(with_size({0x20}), lost("says 16 bytes"));             // half a line
  EXPECT_THAT(with_size({0xc0, 0x01}), lost("64 bytes of the 96"));  // a line more
  EXPECT_THAT(with_size({0xc0, 0xff, 0xff, 0xff, 0x0f}), lost("64 bytes of the 2147483616"));
  EXPECT_THAT(with_size({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}),
              lost("cannot be read"));
  EXPECT_THAT(LoadWithHeader({0x15, 0x40, 0x1c, 0x1c, 0, 0, 0}), lost("which hash"));
  EXPECT_THAT(LoadWithHeader({0x15, 0x40, 0x1c, 0x1c, 0, 0x1c, 0, 0, 0}), lost("which algorithm"));
  EXPECT_THAT(LoadWithHeader({0x19, 0xff}), lost("cannot be read"));  // a list
  EXPECT_THAT(LoadWithHeader({0x18, 0xff, 0xff, 0xff, 0xff, 0x7f}), lost("cannot be read"));
  EXPECT_THAT(LoadWithHeader(std::vector<int>(1000, 0x1c)), lost("cannot be read"));  // too deep
}

TEST(ParquetTest, AnyBytesAreReadOrRefused) {
  Dice dice(3);
  const std::string sound = BytesOf(kHeaderOf32) + BytesOf(kStrings);
  int loaded = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string bytes = sound;
    for (uint64_t changes = dice.Roll(4); changes > 0; --changes)
      bytes[dice.Roll(16)] = static_cast<char>(dice.Next());
    bytes.resize(dice.OneIn(8) ? dice.Roll(100) : bytes.size());
    const std::unique_ptr<char[]> exact(new char[bytes.size()]);
    std::memcpy(exact.get(), bytes.data(), bytes.size());
    auto filter = ParquetFilter::Load({exact.get(), bytes.size()});
    if (!filter.ok()) continue;
    ++loaded;
    filter->Add(int32_t{7});
    ASSERT_TRUE(filter->MayContain(int32_t{7}));
  }
  EXPECT_GT(loaded, 1000);
}

TEST(ParquetTest, MergeKeepsTheValuesOfBoth) {
  auto left = ParquetFilter::Make(1000, 0.01).value(),
       right = ParquetFilter::Make(1000, 0.01).value();
  auto both = ParquetFilter::Make(1000, 0.01).value();
  for (int64_t i = 0; i < 600; ++i) {
    (i < 300 ? left : right).Add(i);
    both.AddHash(ParquetFilter::HashOf(i));
  }
  ASSERT_THAT(left.Merge(right), IsOk());
  EXPECT_EQ(left.Serialize(), both.Serialize());
  EXPECT_TRUE(left.MayContainHash(ParquetFilter::HashOf(int64_t{599})));
  EXPECT_THAT(left.Merge(ParquetFilter::Make(10, 0.01).value()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sizes")));
  EXPECT_EQ(left.Serialize(), both.Serialize());
  left.Clear();
  EXPECT_FALSE(left.MayContain(int64_t{1}));
  EXPECT_EQ(left.Serialize(), ParquetFilter::Make(1000, 0.01).value().Serialize());
}

TEST(ParquetTest, IntegersOfOneSizeAreOneType) {
  EXPECT_EQ(ParquetFilter::HashOf(42LL), ParquetFilter::HashOf(int64_t{42}));
  EXPECT_EQ(ParquetFilter::HashOf(42), ParquetFilter::HashOf(int32_t{42}));
  EXPECT_NE(ParquetFilter::HashOf(42), ParquetFilter::HashOf(int64_t{42}));
}

TEST(ParquetTest, RefusesTooManyValues) {
  for (const uint64_t count : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_THAT(ParquetFilter::Make(count, 0.01),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("value_count")));
  }
}

TEST(ParquetTest, UnknownFieldIdsAreDataLoss) {
  // A bool with the id INT64_MAX, and one after it; ids 0 and -1.
  for (const std::string_view head :
       {std::string_view("\x05\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x15\x00", 14),
        std::string_view("\x01\x00\x15\x40\x00", 5), std::string_view("\x01\x01\x15\x40\x00", 5)}) {
    std::string bytes(head);
    bytes.resize(100);
    EXPECT_THAT(ParquetFilter::Load(bytes), StatusIs(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
