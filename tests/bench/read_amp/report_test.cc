#include "bench/read_amp/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/read_amp/tables.h"
#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"

namespace bench {
namespace {

using testing::HasSubstr;
using testing::Not;

// A store without filters that reads 4 blocks per lookup of an absent key, and two stores with
// filters that read 0.4 and 0.04.  A tenth of the blocks are in a cache that does not hold all of
// them.
Results WithCaches(const std::vector<CacheSize>& caches) {
  Results results;
  results.config.workloads = {Workload::kAbsent};
  results.config.caches = caches;
  results.stores.resize(3);
  results.stores[0].config = {"none", 0};
  results.stores[1].config = {"blocked", 0.1};
  results.stores[2].config = {"blocked", 0.01};
  for (size_t cache = 0; cache < caches.size(); ++cache) {
    results.caches.push_back({caches[cache], 0, false, "", 1});
    uint64_t blocks = 4000;
    for (size_t store = 0; store < results.stores.size(); ++store, blocks /= 10) {
      Measurement round;
      round.lookups = 1000;
      round.lookups_per_second = 1000;
      const uint64_t cached = caches[cache] == CacheSize::kFits    ? blocks
                              : caches[cache] == CacheSize::kTenth ? blocks / 10
                                                                   : 0;
      round.counted.blocks_from_cache = cached;
      round.counted.blocks_from_file = blocks - cached;
      results.cells.push_back({store, cache, Workload::kAbsent, {round}});
    }
  }
  return results;
}

std::string Headline(const std::vector<CacheSize>& caches) {
  const Page page = ReportOf(WithCaches(caches)).page;
  return page.lead.size() < 2 ? "" : page.lead[1];
}

TEST(ReportTest, HeadlineUsesTheSmallestCache) {
  for (const auto& caches : std::vector<std::vector<CacheSize>>{
           {CacheSize::kFits, CacheSize::kTenth, CacheSize::kNone},
           {CacheSize::kNone, CacheSize::kFits},
           {CacheSize::kTenth, CacheSize::kNone, CacheSize::kFits}}) {
    const std::string text = Headline(caches);
    EXPECT_THAT(text,
                HasSubstr("reads 4.00 data blocks without filters and 0.0400 with blocked-0.01"));
    EXPECT_THAT(text, HasSubstr("99.00 % of the I/O is avoided"));
    EXPECT_THAT(text, HasSubstr("(block cache: none)"));
  }
  EXPECT_THAT(Headline({CacheSize::kTenth, CacheSize::kFits}),
              HasSubstr("reads 3.60 data blocks without filters"));
}

TEST(ReportTest, HeadlineOmitsIoWithoutReads) {
  const std::string text = Headline({CacheSize::kFits});
  EXPECT_THAT(text, HasSubstr("looks into 4.00 data blocks without filters and 0.0400"));
  EXPECT_THAT(text, HasSubstr("99.00 % fewer"));
  EXPECT_THAT(text, Not(HasSubstr("I/O")));
  EXPECT_THAT(text, Not(HasSubstr("reads")));
}

TEST(ReportTest, HeadlineFallsBackToTheLastFilter) {
  Results results = WithCaches({CacheSize::kNone});
  results.stores[2].config.target_fpp = 0.001;
  EXPECT_THAT(ReportOf(results).page.lead.at(1), HasSubstr("with blocked-0.001"));
  results.cells.clear();
  EXPECT_EQ(ReportOf(results).page.lead.size(), 1u);
}

// Lines with one space between words.
std::vector<std::string> LinesOf(const std::string& text) {
  static const std::regex spaces(" +");
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(std::regex_replace(line, spaces, " "));
  return lines;
}

// `tools/dev excerpt demo` puts the demo's excerpt into the README.  It must be there, look like
// what is printed today, and have a row for each store of the demo.
TEST(ReportTest, ReadmeShowsTheDemo) {
  const std::string readme =
      testing_support::ReadFile(testing_support::SourceDirectory() / "bench/README.md");
  const size_t begin = readme.find("<!-- tools/dev excerpt demo -->");
  const size_t end = readme.find("<!-- end of excerpt -->", begin);
  ASSERT_LT(begin, end);
  ASSERT_NE(end, std::string::npos);
  const std::vector<std::string> shown = LinesOf(readme.substr(begin, end - begin));
  bool cells = false;
  for (const std::string& line : LinesOf(RenderExcerpt(WithCaches({CacheSize::kNone})))) {
    const bool is_header = line.starts_with("filter lookups/s ");
    cells |= is_header;
    if (is_header || line.starts_with("Avoided I/O, ") || line.starts_with("Keys: absent")) {
      EXPECT_THAT(shown, testing::Contains(line));
    }
  }
  EXPECT_TRUE(cells);
  for (const char* kind : {"standard", "blocked"}) {
    for (const char* fpp : {"0.1", "0.01", "0.001"}) {
      const std::string name = std::string(kind) + "-" + fpp + " ";
      EXPECT_THAT(shown, testing::Contains(testing::StartsWith(name)).Times(2)) << name;
    }
  }
}

// JSON.md explains every member of the JSON.
TEST(ReportTest, JsonPageDescribesTheReport) {
  const std::string readme =
      testing_support::ReadFile(testing_support::SourceDirectory() / "bench/report/JSON.md");
  Results results = WithCaches({CacheSize::kNone});
  results.stores[1].shape.levels[0].tables = 1;
  results.cells[0].rounds[0].timed_lookups = 1'000'000;
  nlohmann::json json = ToJson(results);
  json.erase("conditions");  // their names are free text
  std::set<std::string> members;
  const std::function<void(const nlohmann::json&)> collect = [&](const nlohmann::json& value) {
    for (const auto& item : value.items()) {
      if (value.is_object()) members.insert(item.key());
      if (item.value().is_structured()) collect(item.value());
    }
  };
  collect(json);
  EXPECT_TRUE(members.contains("filter_bytes") && members.contains("max")) << json;
  for (const std::string& member : members) {
    EXPECT_THAT(readme, HasSubstr("`" + member + "`"));
  }
}

}  // namespace
}  // namespace bench
