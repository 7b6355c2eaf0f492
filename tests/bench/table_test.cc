#include "bench/table.h"

#include <gtest/gtest.h>

namespace bench {
namespace {

Table Small() {
  return {"small",
          "A small table",
          {{"name", "", false}, {"n", "number of <things>", true}},
          {{"one, two", "1"}, {}, {"say \"\u00b5s\"", "12345"}}};
}

TEST(TableTest, TextAlignsColumnsByTerminalWidth) {
  EXPECT_EQ(ToText(Small()),
            "name          n\n"
            "one, two      1\n"
            "\n"
            "say \"\u00b5s\"  12345\n");
}

TEST(TableTest, CsvQuotesCellsAndHasNoGaps) {
  EXPECT_EQ(ToCsv(Small()),
            "name,number of <things>\r\n"
            "\"one, two\",1\r\n"
            "\"say \"\"\u00b5s\"\"\",12345\r\n");
}

TEST(TableTest, EscapesHtml) {
  const std::string html = ToHtml(Small());
  EXPECT_NE(html.find("number of &lt;things&gt;"), std::string::npos);
  EXPECT_NE(html.find("say &quot;\u00b5s&quot;"), std::string::npos);
  EXPECT_EQ(html.find("<things>"), std::string::npos);
}

TEST(TableTest, FiguresHaveThreeDigits) {
  EXPECT_EQ(Short(0), "0");
  EXPECT_EQ(Short(9500), "9500");
  EXPECT_EQ(Short(9999), "9999");
  EXPECT_EQ(Short(9999.5), "10.0k");
  EXPECT_EQ(Short(12345), "12.3k");
  EXPECT_EQ(Short(1234567), "1.23M");
  EXPECT_EQ(Short(9.996), "10.0");
}

}  // namespace
}  // namespace bench
