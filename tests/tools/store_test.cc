// sstdump on a store that the engine wrote: the two must agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/iterator.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"
#include "tests/tools/sample_store.h"
#include "tools/sstdump/commands/commands.h"

namespace tools {
namespace {

using lsm::Concat;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing_support::Dice;

class StoreTest : public testing::TestWithParam<std::string> {
 protected:
  lsm::Options Options() {
    lsm::Options options;
    options.environment.file_system = &files_;
    const bool sip = GetParam() == "siphash";
    const bool has_runs = GetParam() == "tiered";
    const bool in_partitions = GetParam() == "partitioned";
    options.filter_kind = sip || has_runs || in_partitions ? "blocked" : GetParam();
    if (in_partitions) options.block_cache_bytes = 6 << 10;
    if (has_runs) options.compaction_style = lsm::CompactionStyle::kTiered;
    if (sip) options.filter_hash = bloom::DigestHash::kSipHash;
    options.write_buffer_bytes = 64 << 10;
    options.table_bytes = 64 << 10;
    options.level1_bytes = 64 << 10;
    options.block_bytes = 512;
    return options;
  }

  // Makes random writes, so that there are entries in every level and in a log, several versions of
  // keys, and deletions.
  void Fill(lsm::DB& db, uint64_t seed) {
    Dice dice(seed);
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = "key" + std::to_string(dice.Roll(12'000));
      if (dice.OneIn(5)) {
        ASSERT_OK(db.Delete(key));
        expected_.erase(key);
      } else {
        const std::string value = "value " + std::to_string(i) + std::string(dice.Roll(60), 'x');
        ASSERT_OK(db.Put(key, value, {.sync = dice.OneIn(1000)}));
        expected_[key] = value;
      }
    }
    ASSERT_OK(db.WaitForBackgroundWork());
    // Makes one more table in level 0, and then a log with entries.  The first table may trigger a
    // compaction of the level, which empties it.
    do {
      ASSERT_OK(db.Put("key0", "flushed"));
      ASSERT_OK(db.Flush());
      ASSERT_OK(db.WaitForBackgroundWork());
    } while (db.GetStatistics().levels[0].tables == 0);
    ASSERT_OK(db.Put("key1", "logged"));
    expected_["key0"] = "flushed";
    expected_["key1"] = "logged";
    ASSERT_OK(db.WaitForBackgroundWork());
  }

  json Document(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--json");
    const RunResult result = tools::Run(files_, arguments);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    return ParseOutput(result.out);
  }

  lsm::MemoryFileSystem files_;
  std::map<std::string, std::string> expected_;
};

// Checks the store while it is open, and after it was closed.
TEST_P(StoreTest, IsSoundAndMatchesTheEngine) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<lsm::DB> db, lsm::DB::Open("s", Options()));
  Fill(*db, 11);
  EXPECT_EQ(Document({"verify", "s"})["results"][0]["problems"].size(), 0u);

  const lsm::Statistics statistics = db->GetStatistics();
  const json tree = Document({"levels", "s"})["results"][0];
  uint64_t levels_in_use = 0;
  for (size_t level = 0; level < lsm::kLevels; ++level) {
    EXPECT_EQ(tree["levels"][level]["tables"], statistics.levels[level].tables);
    EXPECT_EQ(tree["levels"][level]["runs"], statistics.levels[level].runs);
    EXPECT_EQ(tree["levels"][level]["table_bytes"], statistics.levels[level].table_bytes);
    EXPECT_EQ(tree["levels"][level]["entries"], statistics.levels[level].entries);
    levels_in_use += statistics.levels[level].tables > 0 ? 1 : 0;
  }
  EXPECT_GE(levels_in_use, 2u);
  if (GetParam() == "siphash") {
    const std::string seed = Document({"info", "s"})["results"][0]["digest_seed"];
    EXPECT_EQ(seed.find("siphash-2-4 0x"), 0u);
    EXPECT_EQ(seed.size(), 14 + 32u);
    EXPECT_THAT(tools::Run(files_, {"manifest", "s"}).out, testing::HasSubstr(seed));
  }
  db.reset();
  EXPECT_EQ(Document({"verify", "s"})["results"][0]["problems"].size(), 0u);
}

// The newest of all writes of each key in tables and logs must be the contents of the store.
TEST_P(StoreTest, ScanAndWalShowEveryWrite) {
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open("s", Options()));
    Fill(*db, 12);
  }
  std::map<std::string, std::pair<uint64_t, std::optional<std::string>>> newest;
  const auto note = [&newest](const json& entry) {
    auto& known = newest[entry["key"]];
    if (entry["sequence"].get<uint64_t>() < known.first) return;
    known = {entry["sequence"],
             entry["kind"] == "put" ? std::optional<std::string>(entry["value"]) : std::nullopt};
  };
  const json tables = Document({"scan", "s"});
  for (const json& table : tables["results"]) {
    for (const json& entry : table["entries"]) note(entry);
  }
  const json logs = Document({"wal", "s"});
  for (const json& log : logs["results"]) {
    for (const json& line : log["entries"]) {
      if (!line.contains("entries")) continue;  // that of the log
      for (const json& entry : line["entries"]) note(entry);
    }
  }
  std::map<std::string, std::string> found;
  for (const auto& [key, known] : newest) {
    if (known.second) found[key] = *known.second;
  }
  EXPECT_EQ(found, expected_);
}

// `dump` merges tables and logs, and shows the newest version of each key.
TEST_P(StoreTest, DumpMatchesTheStore) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open("s", Options()));
  Fill(*db, 15);
  std::map<std::string, std::string> found;
  const json dump = Document({"dump", "s"});
  for (const json& pair : dump["results"][0]["entries"]) {
    EXPECT_TRUE(found.emplace(pair["key"], pair["value"]).second) << pair;
  }
  EXPECT_EQ(found, expected_);
  std::string range;
  for (auto at = expected_.lower_bound("key30"); at != expected_.lower_bound("key31"); ++at)
    range += at->first + "\t" + at->second + "\n";
  EXPECT_EQ(tools::Run(files_, {"dump", "--prefix", "key30", "s"}).out, range);
}

TEST_P(StoreTest, ExplainAndRawGetMatchTheStore) {
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open("s", Options()));
    Fill(*db, 13);
  }
  for (int i = 0; i < 12'000; i += 97) {
    const std::string key = "key" + std::to_string(i);
    const json explanation = Document({"explain", "s", key})["results"][0]["explanation"];
    const auto at = expected_.find(key);
    EXPECT_EQ(explanation["found"], at != expected_.end()) << explanation;
    if (at != expected_.end()) {
      EXPECT_EQ(explanation["value_bytes"], at->second.size()) << explanation;
    }
    const RunResult raw = tools::Run(files_, {"get", "--raw", "s", key});
    EXPECT_EQ(raw.code, 0) << raw.err;
    EXPECT_EQ(raw.out, at != expected_.end() ? at->second : "") << key;
  }
}

// Whole or in partitions, a table's filter, index and blocks are shown and asked.
TEST_P(StoreTest, TablesShowTheirParts) {
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open("s", Options()));
    Fill(*db, 14);
  }
  size_t partitioned = 0;
  const auto directory = files_.OpenDirectory("s", false).value();
  const std::vector<std::string> names = directory->List().value();
  for (const std::string& name : names) {
    if (!name.ends_with(".table")) continue;
    const json info = Document({"info", "s/" + name})["results"][0];
    const uint64_t partitions = info["partitions"];
    partitioned += partitions > 0;
    EXPECT_EQ(info["format_version"], partitions > 0 ? 2 : 1);
    const bool has_filter = GetParam() != "none";
    if (has_filter) {
      EXPECT_GT(info["filter"]["bits_per_key"], 8);
      const json filter = Document({"filter", "s/" + name})["results"][0];
      EXPECT_EQ(filter["state"], "usable");
      EXPECT_EQ(filter["measured"]["keys"], info["distinct_keys"]);
      EXPECT_EQ(filter["measured"]["false_negatives"], 0);
      // A table may have a single key.  Then there are no absent keys within its range.
      if (info["distinct_keys"] == 1) {
        EXPECT_EQ(filter["measured"]["absent_keys"], 0);
      } else {
        EXPECT_LT(filter["measured"]["fpp"], 0.05);
      }
    }
    const json blocks = Document({"blocks", "s/" + name})["results"][0];
    EXPECT_EQ(blocks["blocks"].size(), info["data_blocks"]);
    const size_t others = partitions > 0 ? (has_filter ? 2 : 1) * partitions + 2 : 2 + has_filter;
    EXPECT_EQ(blocks["other_blocks"].size(), others);
    const std::string key = info["smallest_key"];
    const json found = Document({"get", "s/" + name, key})["results"][0];
    EXPECT_EQ(found["filter_passed"], true);
    EXPECT_NE(found["answer"], "absent");
  }
  EXPECT_EQ(partitioned > 0, GetParam() == "partitioned");
  if (partitioned == 0) return;
  const std::string key = expected_.rbegin()->first;
  EXPECT_THAT(tools::Run(files_, {"explain", "s", key}).out, testing::HasSubstr("index partition"));
}

// Keyspaces in the common tree, with a tree of their own, and only in the log.
TEST_P(StoreTest, KeyspacesMatchTheStore) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open("s", Options()));
  std::map<std::string, std::map<std::string, std::string>> expected;
  Dice dice(16);
  const auto put = [&](const std::string& name, int i) {
    ASSERT_OK_AND_ASSIGN(lsm::Keyspace keyspace, db->OpenKeyspace(name));
    const std::string key = "key" + std::to_string(dice.Roll(3000));
    const std::string value = name + std::to_string(i) + std::string(dice.Roll(60), 'x');
    ASSERT_OK(keyspace.Put(key, value));
    expected[name][key] = value;
  };
  for (int i = 0; i < 12'000; ++i) put(dice.OneIn(3) ? Concat("small", dice.Roll(10)) : "large", i);
  ASSERT_OK(db->Flush());
  ASSERT_OK_AND_ASSIGN(lsm::Keyspace small, db->OpenKeyspace("small1"));
  ASSERT_OK(small.DeleteRange("key2", "key3"));
  std::erase_if(expected["small1"],
                [](const auto& entry) { return entry.first >= "key2" && entry.first < "key3"; });
  ASSERT_OK(db->Flush());
  for (int i = 0; i < 100; ++i) put(Concat("small", dice.Roll(12)), i);
  ASSERT_OK(db->WaitForBackgroundWork());
  ASSERT_OK_AND_ASSIGN(const lsm::Keyspace large, db->OpenKeyspace("large"));
  EXPECT_TRUE(large.GetStatistics().has_own_tree);
  EXPECT_EQ(Document({"verify", "s"})["results"][0]["problems"].size(), 0u);
  for (const auto& [name, entries] : expected) {
    std::map<std::string, std::string> dumped;
    const json dump = Document({"dump", "--keyspace", name, "s"});
    for (const json& pair : dump["results"][0]["entries"]) dumped[pair["key"]] = pair["value"];
    EXPECT_EQ(dumped, entries) << name;
    const auto& [key, value] = *entries.rbegin();
    EXPECT_EQ(tools::Run(files_, {"get", "--raw", "--keyspace", name, "s", key}).out, value);
    EXPECT_EQ(
        Document({"explain", "--keyspace", name, "s", key})["results"][0]["explanation"]["found"],
        true);
  }
}

// At each time sstdump shows what a reader of the store sees then.  Limits change on the way.
TEST_P(StoreTest, ExpiryMatchesTheStore) {
  testing_support::SetClock clock;
  lsm::Options options = Options();
  options.environment.clock = &clock;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<lsm::DB> db, lsm::DB::Open("s", options));
  Dice dice(17);
  const auto limit_all = [&] {
    for (const std::string name : {"default", "small", "large"}) {
      const auto seconds = static_cast<uint32_t>(100 * dice.Roll(20));
      ASSERT_OK(db->OpenKeyspace(name, {.expire_after = seconds}));
    }
  };
  for (int i = 0; i < 8000; ++i) {
    const std::string name = dice.OneIn(8) ? "small" : dice.OneIn(3) ? "default" : "large";
    ASSERT_OK_AND_ASSIGN(lsm::Keyspace keyspace, db->OpenKeyspace(name));
    const std::string key = "key" + std::to_string(dice.Roll(3000));
    if (dice.OneIn(10)) {
      ASSERT_OK(keyspace.Delete(key));
    } else {
      ASSERT_OK(keyspace.Put(key, name + std::to_string(i) + std::string(dice.Roll(60), 'x')));
    }
    if (dice.OneIn(5)) clock.Add(1);
    if (i == 1000 || i == 5000 || i == 7990) limit_all();
  }
  ASSERT_OK(db->WaitForBackgroundWork());
  size_t shown = 0;
  for (int i = 0; i < 6; ++i) {
    for (const std::string name : {"default", "small", "large"}) {
      const std::string at = std::to_string(clock.seconds());
      ASSERT_OK_AND_ASSIGN(const lsm::Keyspace keyspace, db->OpenKeyspace(name));
      std::string expected;
      const std::unique_ptr<lsm::Iterator> entries = keyspace.NewIterator();
      for (entries->SeekToFirst(); entries->Valid(); entries->Next())
        expected += Concat(entries->key(), "\t", entries->value(), "\n");
      EXPECT_OK(entries->status());
      EXPECT_EQ(tools::Run(files_, {"dump", "--at", at, "--keyspace", name, "s"}).out, expected)
          << name << " " << i;
      shown += expected.size();
      for (int k = 0; k < 20; ++k) {
        const std::string key = "key" + std::to_string(dice.Roll(3000));
        ASSERT_OK_AND_ASSIGN(const std::optional<std::string> value, keyspace.Get(key));
        EXPECT_EQ(
            tools::Run(files_, {"get", "--raw", "--at", at, "--keyspace", name, "s", key}).out,
            value.value_or(""))
            << name << " " << key;
      }
    }
    clock.Add(300);
  }
  EXPECT_GT(shown, 1000u);
  EXPECT_EQ(Document({"verify", "s"})["results"][0]["problems"].size(), 0u);
}

// Flushes and compactions remove files during every command.
TEST(BusyStoreTest, IsReadableAtAnyTime) {
  const testing_support::ScratchDir scratch;
  const std::string path = scratch.path_of("busy");
  lsm::Options options;
  options.write_buffer_bytes = options.table_bytes = options.level1_bytes = 64 << 10;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open(path, options));
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    Dice dice(5);
    while (!is_over) {
      ASSERT_OK(db->Put("key" + std::to_string(dice.Roll(2000)), std::string(100, 'v')));
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; std::chrono::steady_clock::now() - begin < std::chrono::seconds(3); ++i) {
    for (const Command& command : Commands()) {
      std::vector<std::string> arguments = {command.name, path};
      if (command.arguments.key) arguments.push_back("key1000");
      if (command.arguments.probes) arguments.insert(arguments.end(), {"--probes", "10"});
      const RunResult result = tools::Run(lsm::PosixFileSystem(), arguments);
      EXPECT_EQ(result.code, 0) << i << " " << command.name << result.err;
      EXPECT_THAT(result.err, Not(HasSubstr("meanwhile"))) << command.name;
    }
  }
  is_over = true;
  writer.join();
}

INSTANTIATE_TEST_SUITE_P(Kinds, StoreTest,
                         testing::Values("blocked", "standard", "none", "siphash", "tiered",
                                         "partitioned"));

}  // namespace
}  // namespace tools
