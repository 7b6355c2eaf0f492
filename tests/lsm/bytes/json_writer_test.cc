#include "lsm/bytes/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/dice.h"

namespace lsm {
namespace {

using nlohmann::json;
using testing_support::Dice;

std::string Quoted(std::string_view text) {
  JsonWriter writer;
  writer.String(text);
  return std::move(writer).Take();
}

TEST(JsonWriterTest, WritesNestedValues) {
  JsonWriter writer;
  writer.BeginObject();
  writer.Member("name", "x");
  writer.Key("list");
  writer.BeginArray();
  writer.Number(1);
  writer.Number(-2);
  writer.Bool(true);
  writer.BeginObject();
  writer.EndObject();
  writer.BeginArray();
  writer.EndArray();
  writer.EndArray();
  writer.Member("half", 0.5);
  writer.Member("yes", true);
  writer.EndObject();
  EXPECT_EQ(std::move(writer).Take(),
            R"({"name":"x","list":[1,-2,true,{},[]],"half":0.5,"yes":true})");
}

TEST(JsonWriterTest, EscapesStrings) {
  EXPECT_EQ(Quoted("a\"b\\c\n\t\x01\x1f\x7f"), R"("a\"b\\c\n\t\u0001\u001f\u007f")");
  EXPECT_EQ(Quoted(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(Quoted("é €, 𝄞"), "\"é €, 𝄞\"");
}

TEST(JsonWriterTest, ReplacesInvalidUtf8) {
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(Quoted("\xff"), "\"" + replacement + "\"");
  EXPECT_EQ(Quoted("\xc3"), "\"" + replacement + "\"");                    // cut off
  EXPECT_EQ(Quoted("\xc0\x80"), "\"" + replacement + replacement + "\"");  // overlong
  EXPECT_EQ(Quoted("\xed\xa0\x80"),
            "\"" + replacement + replacement + replacement + "\"");          // surrogate
  EXPECT_EQ(Quoted("\xf4\x90\x80\x80").size(), 2 + 4 * replacement.size());  // above U+10FFFF
}

TEST(JsonWriterTest, AnyBytesMakeAReadableString) {
  const uint64_t seed = 20240711;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(dice.Roll(12), '\0');
    for (char& byte : bytes)
      byte = static_cast<char>(dice.OneIn(4) ? dice.Next() : 0xc0 | dice.Roll(64));
    EXPECT_TRUE(json::accept(Quoted(bytes))) << Quoted(bytes);
  }
}

TEST(JsonWriterTest, NumbersReadBackTheSame) {
  const uint64_t seed = 7;
  SCOPED_TRACE(seed);
  Dice dice(seed);
  for (int round = 0; round < 20000; ++round) {
    const uint64_t bits = dice.Next();
    double number;
    static_assert(sizeof(number) == sizeof(bits));
    std::memcpy(&number, &bits, sizeof(number));
    JsonWriter writer;
    writer.BeginArray();
    writer.Number(number);
    writer.EndArray();
    const json parsed = json::parse(std::move(writer).Take());
    if (std::isfinite(number)) {
      EXPECT_EQ(parsed[0].get<double>(), number);
    } else {
      EXPECT_TRUE(parsed[0].is_null());
    }
  }
}

// Most readers of JSON hold numbers as doubles, which round integers beyond 2^53.
TEST(JsonWriterTest, WritesLargeIntegersAsTexts) {
  JsonWriter writer;
  writer.BeginArray();
  writer.Number(uint64_t{1} << 53);
  writer.Number((uint64_t{1} << 53) + 1);
  writer.Number(UINT64_MAX);
  writer.Number(-(int64_t{1} << 53));
  writer.Number(INT64_MIN);
  writer.Number(-5);
  writer.Number(uint8_t{7});
  writer.EndArray();
  EXPECT_EQ(std::move(writer).Take(),
            R"([9007199254740992,"9007199254740993","18446744073709551615",-9007199254740992,)"
            R"("-9223372036854775808",-5,7])");
}

TEST(JsonWriterTest, LongDocumentsCanBeTakenInPieces) {
  JsonWriter writer;
  writer.BeginArray();
  writer.Number(1);
  std::string text = writer.Drain();
  writer.Json(R"({"a":2})");
  text += writer.Drain();
  writer.Number(3);
  writer.EndArray();
  text += std::move(writer).Take();
  EXPECT_EQ(text, R"([1,{"a":2},3])");
}

TEST(JsonWriterTest, UnsupportedNumbersAreNull) {
  JsonWriter writer;
  writer.BeginArray();
  writer.Number(std::numeric_limits<double>::quiet_NaN());
  writer.Number(std::numeric_limits<double>::infinity());
  writer.Number(-std::numeric_limits<double>::infinity());
  writer.EndArray();
  EXPECT_EQ(std::move(writer).Take(), "[null,null,null]");
}

}  // namespace
}  // namespace lsm
