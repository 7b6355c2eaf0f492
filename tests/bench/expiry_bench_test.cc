// expiry_bench: its arithmetic, and the command as a user runs it, with small stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bench/expiry/day.h"
#include "bench/expiry/parts.h"
#include "bench/expiry/store.h"
#include "tests/bench/parts_command.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace bench::expiry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::ProgramResult;

TEST(ExpiryBenchScheduleTest, AnEntryLivesForAWindowAndTheSecondInWhichItEnds) {
  const Schedule schedule(720);  // two a step
  EXPECT_EQ(schedule.Before(3), 6u);
  EXPECT_EQ(schedule.FirstLive(359), 0u);
  EXPECT_EQ(schedule.Live(359), 720u);
  EXPECT_EQ(schedule.FirstLive(360), 0u);
  EXPECT_EQ(schedule.Live(360), 722u);
  EXPECT_EQ(schedule.FirstLive(361), 2u);
  EXPECT_EQ(schedule.Live(361), 722u);
}

TEST(ExpiryBenchScheduleTest, AWindowHasAllEntriesIfStepsDoNotDivideThem) {
  const Schedule schedule(500);
  EXPECT_EQ(schedule.Before(360), 500u);
  EXPECT_EQ(schedule.Before(720) - schedule.Before(360), 500u);
}

TEST(ExpiryBenchSharesTest, AreOfTheLiveBytesOfTheSample) {
  // Tables of 1.01 to 2.00 live bytes, logs of 0.5.
  std::vector<Sample> samples;
  for (uint64_t i = 100; i > 0; --i)
    samples.push_back({100 * i, {i * (100 + i), 50 * i}, i == 40 ? 4000 * i : 0});
  const Shares all = SharesOf(samples, Counted::kAll);
  EXPECT_DOUBLE_EQ(all.median, 2.0);
  EXPECT_DOUBLE_EQ(all.p95, 2.45);
  EXPECT_DOUBLE_EQ(all.most, 2.5);
  const Shares tables = SharesOf(samples, Counted::kTables);
  EXPECT_DOUBLE_EQ(tables.median, 1.5);
  EXPECT_DOUBLE_EQ(tables.p95, 1.95);
  EXPECT_DOUBLE_EQ(tables.most, 2.0);
  const Shares merging = SharesOf(samples, Counted::kMerging);
  EXPECT_DOUBLE_EQ(merging.median, 2.01) << "at least the tables of the sample";
  EXPECT_DOUBLE_EQ(merging.most, 40.5);
}

TEST(ExpiryBenchSharesTest, OfOneSample) {
  const std::vector<Sample> samples = {{10, {20, 0}, 0}};
  const Shares shares = SharesOf(samples, Counted::kAll);
  EXPECT_EQ(shares.median, 2);
  EXPECT_EQ(shares.p95, 2);
  EXPECT_EQ(shares.most, 2);
}

TEST(ExpiryBenchTableBytesTest, MostStartsAgainWithThePresentBytes) {
  TableBytes bytes;
  bytes.Add(10);
  bytes.Add(5);
  bytes.Remove(10);
  EXPECT_EQ(bytes.TakeMost(), 15u);
  EXPECT_EQ(bytes.TakeMost(), 5u);
  bytes.Add(1);
  EXPECT_EQ(bytes.TakeMost(), 6u);
}

DayResult DayOf(uint64_t live, uint64_t tables, uint64_t written) {
  DayResult day;
  day.store = "day";
  day.live_at_the_end = 100;
  day.samples = {{live, {tables, 0}, tables}};
  day.user_bytes = 100;
  day.work.log_bytes = 100;
  day.work.flush_bytes = 50;
  day.work.compaction_bytes = written - 150;
  return day;
}

const Figure* Find(const Part& part, const std::string& name) {
  for (const Figure& figure : part.figures) {
    if (figure.name == name) return &figure;
  }
  return nullptr;
}

TEST(ExpiryBenchPartTest, GoalsAreThoseOfTheStoreThatExpires) {
  const Part part =
      PartOf(Config(), KeyOrder::kRandom, {DayOf(100, 900, 800), DayOf(100, 131, 400)});
  EXPECT_THAT(part.title, testing::StartsWith("random keys: 24 h"));
  const Figure* const writes = Find(part, "write amplification, expires / keeps all");
  ASSERT_NE(writes, nullptr);
  EXPECT_DOUBLE_EQ(writes->value, 0.5);
  std::set<std::string> missed;
  for (const auto& row : GoalsTable({&part, 1}).rows) {
    if (row.back() == "missed") missed.insert(row[1]);
  }
  EXPECT_THAT(missed,
              ElementsAre("day: bytes per live byte, median", "day: bytes per live byte, most"));
}

// Six virtual minutes of entries in each store, and what is left of them.
TEST(ExpiryBenchStoreTest, EntriesExpireByTheVirtualClock) {
  const testing_support::ScratchDir scratch{testing_support::FastFolder()};
  for (const bool is_rocksdb : {false, true}) {
    if (is_rocksdb && !HasRocksDb()) continue;
    for (const Expiry expiry : {Expiry::kNone, Expiry::kLimit}) {
      SCOPED_TRACE(testing::Message() << is_rocksdb << " " << static_cast<int>(expiry));
      VirtualClock clock;
      StoreSettings settings;
      settings.path = scratch.path_of("store");
      settings.expiry = expiry;
      settings.write_buffer_bytes = uint64_t{1} << 20;
      settings.clock = &clock;
      absl::StatusOr<std::unique_ptr<Store>> store =
          is_rocksdb ? MakeRocksDb(settings) : MakeTrellis(settings);
      ASSERT_OK(store);
      const std::vector<Entry> entries = {{"a", std::string(3'000'000, 'v')}, {"b", "w"}};
      ASSERT_OK((*store)->Write(entries));
      ASSERT_OK((*store)->CompactAll());
      EXPECT_GT(FilesOf(settings.path).table_bytes, 3'000'000u);
      EXPECT_GE((*store)->TakeMostTableBytes(), 3'000'000u);
      EXPECT_GE((*store)->Done().bytes(), 6'000'000u);
      std::string value;
      EXPECT_TRUE(*(*store)->Get("b", &value));
      EXPECT_EQ(value, "w");
      clock.Pass(kWindowSeconds + 2);
      ASSERT_OK((*store)->Settle());
      if (is_rocksdb) {
        EXPECT_TRUE(*(*store)->Get("b", &value)) << "it is shown until a compaction";
        ASSERT_OK((*store)->CompactAll());
      }
      const bool expires = expiry == Expiry::kLimit;
      EXPECT_EQ(*(*store)->Get("b", &value), !expires);
      if (expires) {
        EXPECT_LT(FilesOf(settings.path).table_bytes, 10'000u);
      } else {
        EXPECT_GT(FilesOf(settings.path).table_bytes, 3'000'000u);
      }
    }
  }
}

class ExpiryBenchCommandTest : public PartsCommandTest {
 protected:
  ExpiryBenchCommandTest() : PartsCommandTest(TRELLIS_EXPIRY_BENCH) {}

  static std::vector<std::string> Small(std::vector<std::string> arguments = {}) {
    for (const char* argument : {"--scale", "512", "--hours", "3", "--value-bytes", "1000",
                                 "--get-keys", "2000", "--operations", "100", "--rounds", "1"}) {
      arguments.emplace_back(argument);
    }
    return arguments;
  }
};

TEST_F(ExpiryBenchCommandTest, MeasuresEveryPartAndLeavesNoStore) {
  const ProgramResult result = Run(Small());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(FilesOfOut(), ElementsAre("excerpt-expiry.md", "report.html", "report.json"));
  for (const char* line : {"\nkeys by time: 3 h, ", "\nrandom keys: 3 h, ", "\ngets: 2,000 keys ",
                           "\nGoals\n", "\nTrellis, expires ", "\nTrellis, get absent "}) {
    EXPECT_THAT(result.out, HasSubstr(line));
  }
  std::map<std::string, double> figures = Figures();
  for (const char* keys : {"time: ", "random: "}) {
    SCOPED_TRACE(keys);
    const std::string kept = std::string(keys) + "Trellis, keeps all: ";
    const std::string expires = std::string(keys) + "Trellis, expires: ";
    // At the end the one has three windows.
    EXPECT_GT(figures[kept + "bytes per live byte, most"], 2.8);
    EXPECT_LT(figures[kept + "bytes per live byte, most"], 4);
    EXPECT_GT(figures[expires + "bytes per live byte, median"], 0.99);
    EXPECT_LT(figures[expires + "bytes per live byte, median"], 2);
    EXPECT_GE(figures[expires + "the same while jobs ran, most"],
              figures[expires + "the same of tables, most"]);
    EXPECT_EQ(figures[kept + "expired entries shown, share"], 1);
    EXPECT_EQ(figures[expires + "expired entries shown, share"], 0);
    EXPECT_GE(figures[expires + "write amplification"], 1.9);
    // The common tree keeps the table that the keyspace was in at first, since it has its name.
    EXPECT_LT(figures[expires + "idle, tables left"], 1.1 * 131'072);
    EXPECT_GT(figures[kept + "idle, tables left"], 2.5 * 16 * 131'072);
  }
  EXPECT_GT(figures["gets: Trellis, get present, expires / keeps all"], 0);
}

TEST_F(ExpiryBenchCommandTest, MeasuresNamedParts) {
  const ProgramResult result = Run(Small({"day", "--keys", "time", "--peer", "none"}));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\nkeys by time: "));
  for (const char* other : {"\nrandom keys", "\ngets", "RocksDB"})
    EXPECT_THAT(result.out, testing::Not(HasSubstr(other)));
}

// They do not depend on the speed of the machine.
TEST_F(ExpiryBenchCommandTest, SizesRepeat) {
  const std::vector<std::string> random = Small({"day", "--keys", "random", "--peer", "none"});
  const std::string store = "random: Trellis, expires: ";
  ASSERT_EQ(Run(random).code, 0);
  std::map<std::string, double> first = Figures();
  ASSERT_EQ(Run(random).code, 0);
  std::map<std::string, double> second = Figures();
  for (const char* name : {"bytes per live byte, median", "bytes per live byte, most",
                           "the same of tables, median", "write amplification"}) {
    const double expected = first.at(store + name);
    EXPECT_NEAR(second.at(store + name), expected, expected / 20) << name;
  }
}

TEST_F(ExpiryBenchCommandTest, RefusesWrongOptions) {
  ExpectRefusal({"dya"}, "PARTS: dya not in ");
  ExpectRefusal({"--keys", "sorted"}, "--keys: sorted not in ");
  ExpectRefusal({"--peer", "leveldb"}, "--peer: leveldb not in ");
  ExpectRefusal({"--scale", "0"}, "--scale: 0 is not a whole number from 1 to 512");
  ExpectRefusal({"--hours", "2"}, "--hours: 2 is not a whole number from 3 to 240");
  if (!HasRocksDb()) ExpectRefusal({"--peer", "rocksdb"}, "--peer: built without RocksDB");
}

TEST_F(ExpiryBenchCommandTest, InterruptReportsFinishedPartsAndLeavesNoStore) {
  std::vector<std::string> arguments = Small({"--keys", "time", "--peer", "none"});
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--operations") arguments[i + 1] = "10000000";
  }
  ExpectReportIfInterrupted(arguments, "gets: lookups", "time");
}

}  // namespace
}  // namespace bench::expiry
