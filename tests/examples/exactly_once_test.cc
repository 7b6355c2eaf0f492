#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lsm/db.h"
#include "lsm/examples/ids_filter.h"
#include "tests/examples/programs.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace {

using testing::HasSubstr;
using testing_support::Dice;

class ExactlyOnceTest : public testing_support::ProgramsTest {
 protected:
  struct Contents {
    int64_t total = 0;
    std::map<std::string, int64_t> ids;
    std::optional<std::string> filter;
  };

  // The contents of the store, read without changing it.
  Contents Look(const std::string& name) {
    Contents contents;
    auto db = lsm::DB::Open(PathOf(name), {.mode = lsm::OpenMode::kReadOnly});
    EXPECT_OK(db);
    if (!db.ok()) return contents;
    const auto entry = (*db)->NewIterator();
    for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
      const std::string key(entry->key()), value(entry->value());
      if (key == "total") contents.total = std::stoll(value);
      if (key == "filter") contents.filter = value;
      if (key.starts_with("id/")) contents.ids[key.substr(3)] = std::stoll(value);
    }
    EXPECT_OK(entry->status());
    // If the store has a filter, it must contain exactly the stored ids.
    if (contents.filter.has_value()) {
      const size_t space = contents.filter->find(' ');
      const auto filter = examples::IdsFilter::Load(contents.filter->substr(space + 1));
      EXPECT_OK(filter);
      EXPECT_EQ(filter->added_count(), contents.ids.size());
      for (const auto& id : contents.ids) EXPECT_TRUE(filter->MayContain(id.first)) << id.first;
    }
    return contents;
  }

  static int64_t SumOf(const std::map<std::string, int64_t>& ids) {
    int64_t sum = 0;
    for (const auto& [id, amount] : ids) sum += amount;
    return sum;
  }
};

TEST_F(ExactlyOnceTest, IdsTakeEffectOnce) {
  Save("records", "a,5\nb,7\na,5\nc d,-20\nb,7\n");
  const Outcome first = Shell("exactly_once store < records");
  EXPECT_EQ(first.code, 0);
  EXPECT_EQ(first.out, "a applied\nb applied\na again\nc d applied\nb again\n");
  EXPECT_EQ(
      first.err,
      "exactly_once: total 0, filter made from the store: 0 ids\n"
      "exactly_once: total -8; 3 applied, 2 again, 0 refused; the store was asked 2 times and "
      "synced 3 times\n");
  const Outcome second = Shell("(cat records; echo e,1) | exactly_once store");
  EXPECT_EQ(second.out, "a again\nb again\na again\nc d again\nb again\ne applied\n");
  EXPECT_EQ(
      second.err,
      "exactly_once: total -8, filter as it was saved: 3 ids\n"
      "exactly_once: total -7; 1 applied, 5 again, 0 refused; the store was asked 5 times and "
      "synced 1 times\n");
}

TEST_F(ExactlyOnceTest, RefusesOnlyMalformedRecords) {
  const std::string long_id(1025, 'x');
  Save("records", "a,5\n\nb\n,4\nc,\nc,1.5\nc,9223372036854775808\na,6\n" + long_id +
                      ",1\nd,9223372036854775807\nd,1 \nd,1\r\r\nd,9,9\ne,2\nf,12");
  const Outcome outcome = Shell("exactly_once store < records");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "a applied\ne applied\n");
  for (const char* message :
       {"\"\" is no record", "\"b\" is no record", "\",4\" is no record", "\"c,\" is no record",
        "\"c,1.5\" is no record", "\"c,9223372036854775808\" is no record",
        "\"a,6\" came before as 5", "\"d,9223372036854775807\" would take the total beyond 2^63",
        "\"d,1 \" is no record", "\"d,1\r\" is no record", "\"d,9,9\" is no record",
        "\"f,12\" is cut off", "total 7; 2 applied, 0 again, 13 refused", "not all lines were"}) {
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
  const Contents contents = Look("store");
  EXPECT_THAT(contents.ids, testing::ElementsAre(testing::Pair("a", 5), testing::Pair("e", 2)));
  EXPECT_EQ(contents.total, 7);
}

TEST_F(ExactlyOnceTest, ReadsRecordsOfOtherSystems) {
  Save("records",
       "\xEF\xBB\xBF"
       "a,5\r\nb,7\r\na,5\n");
  EXPECT_EQ(OutputOf("exactly_once store < records"), "a applied\nb applied\na again\n");
}

// The purpose of the filter: only one new id in a hundred causes a lookup in the store.
TEST_F(ExactlyOnceTest, NewIdsRarelyReadTheStore) {
  std::string records;
  for (int i = 0; i < 20'000; ++i) records += std::to_string(i) + ",1\n";
  Save("records", records);
  const Outcome outcome = Shell("exactly_once store --ids 20000 --fpp 0.05 --seed 4 < records");
  const size_t at = outcome.err.find("asked ");
  ASSERT_NE(at, std::string::npos);
  // The rate grows from 0 at the first id to one in twenty at the last.  The expected number is the
  // sum of the predictions.
  const int asked = std::stoi(outcome.err.substr(at + 6));
  EXPECT_GT(asked, 100);
  EXPECT_LT(asked, 350);
  // After too many ids, the next start makes a larger filter, with the low rate again.
  Save("more", "20000,1\n20001,1\n");
  const Outcome next = Shell("exactly_once store --ids 10000 --fpp 0.01 < more");
  EXPECT_THAT(next.err, HasSubstr("filter made from the store: 20000 ids"));
}

// The source repeats everything that was not acknowledged, and more.  The program is killed several
// times at random moments.
TEST_F(ExactlyOnceTest, KillingItLosesAndRepeatsNothing) {
  Dice dice(20'261);
  std::vector<std::pair<std::string, int64_t>> all;
  std::map<std::string, int64_t> oracle;
  for (int i = 0; i < 4000; ++i) {
    const std::string id = "id" + std::to_string(i * 37 % 4001);
    all.emplace_back(id, static_cast<int64_t>(dice.Roll(2'000'001)) - 1'000'000);
    oracle.insert(all.back());
  }
  ASSERT_EQ(oracle.size(), 4000u);
  const size_t runs = testing_support::kIsSanitized ? 8 : 24;
  std::set<std::string> acknowledged;
  size_t killed_halfway = 0, ended = 0, known_before = 0;
  for (size_t run = 0; run < runs; ++run) {
    // The input is everything up to some place, in any order and partly repeated.  Every third run
    // may end by itself.
    const size_t known = all.size() * (run + 1) / runs;
    const bool may_end = run % 3 == 0;
    std::vector<size_t> order;
    for (size_t i = 0; i < known; ++i) order.insert(order.end(), 1 + dice.Roll(2), i);
    std::shuffle(order.begin(), order.end(), dice);
    std::string records;
    for (const size_t i : order) {
      records += all[i].first + "," + std::to_string(all[i].second) + "\n";
    }
    Save("records", records);

    testing_support::RunningProgram program("exactly_once", {PathOf("store"), "--ids", "3000"},
                                            PathOf("records"), PathOf("errors"));
    size_t acknowledgements = may_end ? order.size() + 1 : dice.Roll(order.size());
    const auto take = [&](const std::string& line) {
      acknowledged.insert(line.substr(0, line.find(' ')));
    };
    while (acknowledgements-- > 0) {
      const std::optional<std::string> line = program.ReadLine();
      if (!line.has_value()) break;
      take(*line);
    }
    if (!may_end) program.Signal(SIGKILL);
    const int code = program.Wait();
    while (const std::optional<std::string> line = program.ReadLine()) take(*line);
    EXPECT_TRUE(may_end ? code == 0 : code == 128 + SIGKILL || code == 0)
        << code << Saved("errors");

    const Contents contents = Look("store");
    ASSERT_EQ(contents.total, SumOf(contents.ids)) << "in run " << run << "\n" << Saved("errors");
    for (const auto& id : contents.ids) {
      ASSERT_TRUE(oracle.contains(id.first));
      ASSERT_EQ(oracle[id.first], id.second);
    }
    for (const std::string& id : acknowledged) ASSERT_TRUE(contents.ids.contains(id)) << id;
    if (code == 0) {
      EXPECT_EQ(contents.ids.size(), known);
      EXPECT_TRUE(contents.filter.has_value());
      ++ended;
    } else {
      killed_halfway += contents.ids.size() > known_before && contents.ids.size() < known;
    }
    known_before = contents.ids.size();
  }
  EXPECT_GE(killed_halfway, runs / 3);
  EXPECT_GE(ended, runs / 3);

  std::string records;
  for (const auto& [id, amount] : all) records += id + "," + std::to_string(amount) + "\n";
  Save("records", records);
  EXPECT_EQ(Shell("exactly_once store < records").code, 0);
  const Contents contents = Look("store");
  EXPECT_EQ(contents.ids, oracle);
  EXPECT_EQ(contents.total, SumOf(oracle));
}

// A failed write may still be on the disk, so a filter without it must not be kept.
TEST_F(ExactlyOnceTest, FailedWritesLeaveNoFilter) {
  std::string records;
  std::map<std::string, int64_t> oracle;
  for (int i = 0; i < 3000; ++i) {
    oracle["id" + std::to_string(i)] = i;
    records += "id" + std::to_string(i) + "," + std::to_string(i) + "\n";
  }
  Save("records", records);
  EXPECT_EQ(Shell("head -n 100 records | exactly_once store --ids 1000").code, 0);
  EXPECT_TRUE(Look("store").filter.has_value());
  const Outcome failed = Shell("trap '' XFSZ; ulimit -f 64; exactly_once store < records");
  EXPECT_EQ(failed.code, 3);
  EXPECT_THAT(failed.err, HasSubstr("filter as it was saved: 100 ids"));
  EXPECT_THAT(failed.err, HasSubstr("File too large"));
  const Contents between = Look("store");
  EXPECT_FALSE(between.filter.has_value());
  EXPECT_EQ(between.total, SumOf(between.ids));
  EXPECT_GT(between.ids.size(), 500u);
  EXPECT_LT(between.ids.size(), 3000u);
  EXPECT_EQ(Shell("exactly_once store < records").code, 0);
  EXPECT_EQ(Look("store").ids, oracle);
  EXPECT_EQ(Look("store").total, SumOf(oracle));
}

// DB::Repair may bring such a filter back.
TEST_F(ExactlyOnceTest, IgnoresOldFilters) {
  OutputOf("echo a,1 | exactly_once store");
  const Contents before = Look("store");
  ASSERT_TRUE(before.filter.has_value());
  OutputOf("echo b,2 | exactly_once store");
  {
    auto db = lsm::DB::Open(PathOf("store")).value();
    ASSERT_OK(db->Put("filter", *before.filter));
  }
  const Outcome outcome = Shell("echo b,2 | exactly_once store");
  EXPECT_EQ(outcome.out, "b again\n");
  EXPECT_THAT(outcome.err, HasSubstr("filter made from the store: 2 ids"));
  // It ignores a damaged filter, too, although a store cannot damage a single value.
  {
    auto db = lsm::DB::Open(PathOf("store")).value();
    std::string filter = db->Get("filter").value().value();
    filter[100] = static_cast<char>(filter[100] ^ 1);
    ASSERT_OK(db->Put("filter", filter));
  }
  EXPECT_THAT(Shell("echo b,2 | exactly_once store").err, HasSubstr("made from the store: 2 ids"));
}

TEST_F(ExactlyOnceTest, ReportsImpossibleRequests) {
  Save("list", "a,1\n");
  EXPECT_EQ(Shell("exactly_once < list").code, 2);
  EXPECT_EQ(Shell("exactly_once store --fpp 1 < list").code, 2);
  EXPECT_THAT(Shell("exactly_once list < list").err, HasSubstr("Not a directory"));
  EXPECT_EQ(Shell("exactly_once list < list").code, 2);
  EXPECT_EQ(Shell("exactly_once store < .").code, 3);
  // Its output must not go into a file of the store.
  OutputOf("exactly_once closed < list");
  for (const char* files : {"< list >&-", "<&- 2>&-", "<&- >&- 2>&-"})
    EXPECT_EQ(Shell(std::string("exactly_once closed ") + files).code, 3) << files;
  EXPECT_EQ(OutputOf("exactly_once closed < list"), "a again\n");
  // The store of another program, in which the total is text.
  {
    auto db = lsm::DB::Open(PathOf("other")).value();
    ASSERT_OK(db->Put("total", "three"));
  }
  EXPECT_THAT(Shell("exactly_once other < list").err, HasSubstr("its total is no number"));
  EXPECT_EQ(Shell("exactly_once other < list").code, 1);
  // A store with ids but without a total.  It keeps its filter.
  {
    auto db = lsm::DB::Open(PathOf("ids")).value();
    ASSERT_OK(db->Put("id/user7", "profile"));
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Shell("exactly_once ids < list").code, 1);
  EXPECT_FALSE(lsm::DB::Open(PathOf("ids")).value()->Get("id/a").value().has_value());
  // A store that is open in another process.
  auto db = lsm::DB::Open(PathOf("store")).value();
  EXPECT_EQ(Shell("exactly_once store < list").code, 3);
}

}  // namespace
