#include "lsm/bytes/readable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace lsm {
namespace {

TEST(ReadableTest, GroupsDigitsOfCounts) {
  EXPECT_EQ(ReadableCount(0), "0");
  EXPECT_EQ(ReadableCount(999), "999");
  EXPECT_EQ(ReadableCount(1000), "1,000");
  EXPECT_EQ(ReadableCount(123456), "123,456");
  EXPECT_EQ(ReadableCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(ReadableTest, BytesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(ReadableBytes(0), "0 B");
  EXPECT_EQ(ReadableBytes(1023), "1023 B");
  EXPECT_EQ(ReadableBytes(1024), "1.00 KiB");
  EXPECT_EQ(ReadableBytes(12595), "12.3 KiB");
  EXPECT_EQ(ReadableBytes((1 << 20) - 1), "1.00 MiB");
  EXPECT_EQ(ReadableBytes(uint64_t{123} << 30), "123 GiB");
  EXPECT_EQ(ReadableBytes(UINT64_MAX), "16.0 EiB");
}

TEST(ReadableTest, IdsHaveAllTheirDigits) {
  EXPECT_EQ(ReadableId(0), "0x0000000000000000");
  EXPECT_EQ(ReadableId(0x0123456789abcdef), "0x0123456789abcdef");
}

TEST(ReadableTest, TimesHaveAUnit) {
  EXPECT_EQ(ReadableNanos(999), "999 ns");
  EXPECT_EQ(ReadableNanos(1500), "1.50 us");
  EXPECT_EQ(ReadableNanos(12'300'000), "12.3 ms");
  EXPECT_EQ(ReadableNanos(999'900'000), "1.00 s");
  EXPECT_EQ(ReadableNanos(2'000'000'000), "2.00 s");
  EXPECT_EQ(ReadableNanos(200'000'000'000), "3 min 20 s");
}

TEST(ReadableTest, NumbersHaveThreeSignificantDigits) {
  EXPECT_EQ(ReadableNumber(0), "0");
  EXPECT_EQ(ReadableNumber(0.01), "0.0100");
  EXPECT_EQ(ReadableNumber(0.012345), "0.0123");
  EXPECT_EQ(ReadableNumber(9.996), "10.0");
  EXPECT_EQ(ReadableNumber(0.5), "0.500");
  EXPECT_EQ(ReadableNumber(0.009996), "0.0100");
  EXPECT_EQ(ReadableNumber(0.09996), "0.100");
  EXPECT_EQ(ReadableNumber(0.00009996), "0.000100");
  EXPECT_EQ(ReadableNumber(-0.0009999), "-0.00100");
  EXPECT_EQ(ReadableNumber(0.9999), "1.00");
  EXPECT_EQ(ReadableNumber(1.4999), "1.50");
  EXPECT_EQ(ReadableNumber(-12.34), "-12.3");
  EXPECT_EQ(ReadableNumber(9.999), "10.0");
  EXPECT_EQ(ReadableNumber(12345), "12345");
  EXPECT_EQ(ReadableNumber(0.00001234), "1.23e-05");
  EXPECT_EQ(ReadableNumber(std::nan("")), "-");
  EXPECT_EQ(ReadableNumber(HUGE_VAL), "inf");
  EXPECT_EQ(ReadablePercent(0.0123), "1.23 %");
}

TEST(ReadableTest, TimesAreInUtc) {
  EXPECT_EQ(ReadableTime(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(ReadableTime(1'700'000'000), "2023-11-14T22:13:20Z");
  EXPECT_EQ(ReadableTime(UINT32_MAX), "2106-02-07T06:28:15Z");
}

TEST(ReadableTest, TablesHaveAlignedColumns) {
  EXPECT_EQ(ReadableTable({{"name", "size"}, {"a", "1,000"}, {"longer", "7"}}, 2),
            "  name     size\n"
            "  a       1,000\n"
            "  longer      7\n");
  EXPECT_EQ(ReadableTable({}, 2), "");
}

TEST(ReadableTest, ColumnsAreCodePoints) {
  EXPECT_EQ(ColumnsOf("abc"), 3u);
  EXPECT_EQ(ColumnsOf("▁▂…"), 3u);
}

}  // namespace
}  // namespace lsm
