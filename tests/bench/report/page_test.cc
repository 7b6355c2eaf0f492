#include "bench/report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <string>

#include "bench/report/assets.h"
#include "tests/support/read_file.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::StatusIs;

// Text that would do harm if a page contained it unescaped.
constexpr char kHostile[] =
    "</script><script>alert(1)</script><img src=x onerror='a' title=\"b\">{{data}}";

Page HostilePage() {
  Page page;
  page.title = kHostile;
  page.lead = {kHostile};
  page.warnings = {kHostile};
  page.data_name = "read_amp";
  page.data = {{"benchmark", kHostile}, {"bytes", "\xff\xfe \u2028"}};
  page.sections.push_back(
      {kHostile,
       kHostile,
       "avoided",
       {{"id", kHostile, {{kHostile, "", false}}, {{kHostile}, {"a,\"b\"\n"}}}}});
  page.chart_js = "const end = '</SCRIPT>';";
  return page;
}

// The text between the tags of the element with this beginning.
std::string ElementText(const std::string& html, const std::string& begin, const std::string& end) {
  const size_t from = html.find(begin);
  EXPECT_NE(from, std::string::npos) << begin;
  if (from == std::string::npos) return "";
  const size_t at = from + begin.size();
  return html.substr(at, html.find(end, at) - at);
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PageTest, EmbeddedTextCannotBreakOut) {
  const std::string html = RenderPage(HostilePage());
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(CountOf(html, "<script"), 3u);  // data, Chart.js, ours
  EXPECT_EQ(CountOf(html, "</script"), 3u);
  EXPECT_EQ(CountOf(html, "</SCRIPT"), 0u);
}

TEST(PageTest, EmbeddedJsonReadsBack) {
  const std::string html = RenderPage(HostilePage());
  const std::string text =
      ElementText(html, "<script type=\"application/json\" id=\"data\">", "</script>");
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << text;
  EXPECT_EQ(json["benchmark"], kHostile);
}

// The page has no construct that loads something, and no address except the namespace of SVG and
// embedded CSV data.
TEST(PageTest, PageLoadsNothing) {
  Page page = HostilePage();
  page.chart_js.clear();
  const std::string html = RenderPage(page);
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  const std::regex loading(
      R"((<link|<iframe|<object|<embed|<base|<form|<meta[^>]*refresh|@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|import\())",
      std::regex::icase);
  std::smatch match;
  EXPECT_FALSE(std::regex_search(html, match, loading)) << match.str();
  const std::regex attribute(R"re(<[^>]*\s(src|href|srcset|action|poster)="([^"]*)")re");
  for (auto it = std::sregex_iterator(html.begin(), html.end(), attribute);
       it != std::sregex_iterator(); ++it) {
    EXPECT_THAT((*it)[2].str(), testing::StartsWith("data:text/csv")) << it->str();
  }
  EXPECT_THAT(html, HasSubstr("href=\"data:text/csv"));
  const std::string no_namespace =
      std::regex_replace(html, std::regex("http://www\\.w3\\.org/2000/svg"), "");
  EXPECT_THAT(no_namespace, Not(HasSubstr("http://")));
  EXPECT_THAT(no_namespace, Not(HasSubstr("https://")));
}

TEST(PageTest, ShowsTablesWithoutScripts) {
  Page page = HostilePage();
  page.sections[0].tables[0].rows = {{"forty-two"}};
  const std::string html = RenderPage(page);
  EXPECT_THAT(html, HasSubstr("<details open"));
  EXPECT_THAT(html, HasSubstr("<td>forty-two</td>"));
}

TEST(PageTest, OmitsPlotsWithoutChartJs) {
  Page page = HostilePage();
  EXPECT_THAT(RenderPage(page), HasSubstr("class=\"plot\""));
  page.chart_js.clear();
  EXPECT_THAT(RenderPage(page), Not(HasSubstr("class=\"plot\"")));
}

TEST(PageTest, WritesFilesWholeOrNotAtAll) {
  const testing_support::ScratchDir scratch;
  const std::string path = scratch.path_of("report.html");
  EXPECT_OK(WriteWhole(path, "first"));
  EXPECT_OK(WriteWhole(path, "second"));
  EXPECT_EQ(testing_support::ReadFile(path), "second");
  EXPECT_FALSE(std::filesystem::exists(path + ".writing"));
  EXPECT_THAT(WriteWhole(scratch.path_of("no/such/folder/report.html"), "x"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no/such/folder")));
}

TEST(PageTest, ReadsFilesWholeOrNotAtAll) {
  const testing_support::ScratchDir scratch;
  const std::string path = scratch.path_of("file");
  std::string bytes;
  for (uint32_t i = 0; i < 200'000; ++i) bytes += static_cast<char>(i * i >> 4);
  ASSERT_OK(WriteWhole(path, bytes));
  ASSERT_OK_AND_ASSIGN(const std::string read, ReadWhole(path));
  EXPECT_EQ(read, bytes);
  ASSERT_OK(WriteWhole(path, ""));
  ASSERT_OK_AND_ASSIGN(const std::string nothing, ReadWhole(path));
  EXPECT_EQ(nothing, "");
  EXPECT_THAT(ReadWhole(scratch.path_of("no file")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no file: cannot be read: ")));
  // Can be opened, and gives an error when it is read.
  EXPECT_THAT(ReadWhole(scratch.path()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot be read: ")));
}

}  // namespace
}  // namespace bench
