#include "bench/read_amp/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

using testing::HasSubstr;
using testing::Not;

// A store without filters that looks into 4 blocks a lookup of an absent key, and two with them
// that look into 0.4 and 0.04; a tenth of the blocks are in a cache that does not hold them all.
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
  const Page page = ReportPage(WithCaches(caches), "");
  return page.lead.size() < 2 ? "" : page.lead[1];
}

TEST(ReportTest, TheHeadlineUsesTheLeastCacheWhereverItStands) {
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

TEST(ReportTest, WhereNothingIsReadTheHeadlineSpeaksOfNoIo) {
  const std::string text = Headline({CacheSize::kFits});
  EXPECT_THAT(text, HasSubstr("looks into 4.00 data blocks without filters and 0.0400"));
  EXPECT_THAT(text, HasSubstr("99.00 % fewer"));
  EXPECT_THAT(text, Not(HasSubstr("I/O")));
  EXPECT_THAT(text, Not(HasSubstr("reads")));
}

TEST(ReportTest, WithoutTheDefaultFilterTheHeadlineTakesTheLastOne) {
  Results results = WithCaches({CacheSize::kNone});
  results.stores[2].config.target_fpp = 0.001;
  EXPECT_THAT(ReportPage(results, "").lead.at(1), HasSubstr("with blocked-0.001"));
  results.cells.clear();
  EXPECT_EQ(ReportPage(results, "").lead.size(), 1u);
}

}  // namespace
}  // namespace bench
