#include "lsm/bytes/coding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lsm {
namespace {

// Every power of two and its neighbours: all the places where a varint grows.
std::vector<uint64_t> InterestingNumbers() {
  std::vector<uint64_t> numbers = {0};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    numbers.insert(numbers.end(), {power - 1, power, power + 1});
  }
  numbers.push_back(std::numeric_limits<uint64_t>::max());
  return numbers;
}

TEST(CodingTest, WritesFixedIntegersLowByteFirst) {
  std::string out;
  AppendFixed32(&out, 0x04030201);
  AppendFixed64(&out, 0x0c0b0a0908070605);
  EXPECT_EQ(out, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c");
  EXPECT_EQ(LoadFixed32(out.data()), 0x04030201u);
  EXPECT_EQ(LoadFixed64(out.data() + 4), 0x0c0b0a0908070605u);
}

TEST(CodingTest, WritesVarintsLowBitsFirst) {
  std::string out;
  AppendVarint32(&out, 0);
  AppendVarint32(&out, 127);
  AppendVarint32(&out, 128);
  AppendVarint64(&out, 300);
  AppendVarint32(&out, 0xffffffff);
  AppendVarint64(&out, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(out, std::string("\x00\x7f\x80\x01\xac\x02\xff\xff\xff\xff\x0f"
                             "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                             21));
}

TEST(CodingTest, ReadsBackItsBytes) {
  std::string out;
  for (const uint64_t number : InterestingNumbers()) {
    AppendFixed32(&out, static_cast<uint32_t>(number));
    AppendFixed64(&out, number);
    AppendVarint32(&out, static_cast<uint32_t>(number));
    AppendVarint64(&out, number);
  }
  std::string_view input = out;
  for (const uint64_t number : InterestingNumbers()) {
    uint32_t fixed32 = 0;
    uint64_t fixed64 = 0;
    uint32_t varint32 = 0;
    uint64_t varint64 = 0;
    ASSERT_TRUE(TakeFixed32(&input, &fixed32) && TakeFixed64(&input, &fixed64) &&
                TakeVarint32(&input, &varint32) && TakeVarint64(&input, &varint64));
    EXPECT_EQ(fixed32, static_cast<uint32_t>(number));
    EXPECT_EQ(fixed64, number);
    EXPECT_EQ(varint32, static_cast<uint32_t>(number));
    EXPECT_EQ(varint64, number);
  }
  EXPECT_TRUE(input.empty());
}

TEST(CodingTest, VarintsKeepTheirLengthLimit) {
  for (const uint64_t number : InterestingNumbers()) {
    std::string out;
    AppendVarint64(&out, number);
    EXPECT_LE(out.size(), static_cast<size_t>(kVarint64BytesMax));
    out.clear();
    AppendVarint32(&out, static_cast<uint32_t>(number));
    EXPECT_LE(out.size(), static_cast<size_t>(kVarint32BytesMax));
  }
}

TEST(CodingTest, RefusesTruncatedInputAndKeepsIt) {
  const auto refuses_every_cut = [](const std::string& whole, auto take) {
    for (size_t length = 0; length < whole.size(); ++length) {
      // Memory of exactly this length, so that a sanitizer sees a read beyond it.
      const std::vector<char> cut(whole.begin(),
                                  whole.begin() + static_cast<std::ptrdiff_t>(length));
      std::string_view input(cut.data(), cut.size());
      EXPECT_FALSE(take(&input)) << length << " of " << whole.size() << " bytes";
      EXPECT_EQ(input.data(), cut.data());
      EXPECT_EQ(input.size(), cut.size());
    }
    std::string_view input = whole;
    EXPECT_TRUE(take(&input));
    EXPECT_TRUE(input.empty());
  };
  uint32_t small = 0;
  uint64_t large = 0;
  std::string_view bytes;
  const std::string prefixed = "\x05hello";  // which `bytes` will point into
  refuses_every_cut("abcd", [&](std::string_view* in) { return TakeFixed32(in, &small); });
  refuses_every_cut("abcdefgh", [&](std::string_view* in) { return TakeFixed64(in, &large); });
  refuses_every_cut("\xff\xff\xff\xff\x0f",
                    [&](std::string_view* in) { return TakeVarint32(in, &small); });
  refuses_every_cut("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                    [&](std::string_view* in) { return TakeVarint64(in, &large); });
  refuses_every_cut(prefixed, [&](std::string_view* in) { return TakeLengthPrefixed(in, &bytes); });
  EXPECT_EQ(bytes, "hello");
}

TEST(CodingTest, RefusesLongAndLargeVarints) {
  uint32_t small = 0;
  uint64_t large = 0;
  for (const std::string_view bad : {"\xff\xff\xff\xff\x10", "\xff\xff\xff\xff\x1f",
                                     "\x80\x80\x80\x80\x80\x01", "\xff\xff\xff\xff\xff"}) {
    std::string_view input = bad;
    EXPECT_FALSE(TakeVarint32(&input, &small));
    EXPECT_EQ(input, bad);
    EXPECT_EQ(LoadVarint32(bad.data(), bad.data() + bad.size(), &small), nullptr);
  }
  for (const std::string_view bad :
       {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
    std::string_view input = bad;
    EXPECT_FALSE(TakeVarint64(&input, &large));
    EXPECT_EQ(input, bad);
  }
}

TEST(CodingTest, RefusesALengthBeyondTheInput) {
  std::string huge;
  AppendVarint32(&huge, 0xffffffff);
  huge += "few";
  std::string_view input = huge;
  std::string_view bytes;
  EXPECT_FALSE(TakeLengthPrefixed(&input, &bytes));
  EXPECT_EQ(input, huge);
}

TEST(CodingTest, KeepsLengthPrefixedBytesOfAnyKind) {
  const std::string with_nul("a\0b", 3);
  std::string out;
  AppendLengthPrefixed(&out, "");
  AppendLengthPrefixed(&out, with_nul);
  AppendLengthPrefixed(&out, std::string(1000, 'x'));
  std::string_view input = out;
  std::string_view bytes = "not empty";
  ASSERT_TRUE(TakeLengthPrefixed(&input, &bytes));
  EXPECT_EQ(bytes, "");
  ASSERT_TRUE(TakeLengthPrefixed(&input, &bytes));
  EXPECT_EQ(bytes, with_nul);
  ASSERT_TRUE(TakeLengthPrefixed(&input, &bytes));
  EXPECT_EQ(bytes, std::string(1000, 'x'));
  EXPECT_TRUE(input.empty());
}

TEST(CodingTest, LoadsZeroFromEmptyInput) {
  uint32_t small = 0;
  EXPECT_EQ(LoadVarint32(nullptr, nullptr, &small), nullptr);
}

}  // namespace
}  // namespace lsm
