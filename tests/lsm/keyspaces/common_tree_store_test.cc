// Keyspaces that share the common tree of a store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/limits.h"
#include "lsm/version/common_keys.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class CommonTreeTest : public KeyspacesTest {};

TEST_F(CommonTreeTest, HasOneTableForAFlushOfMany) {
  Open();
  std::vector<Keyspace> keyspaces;
  for (int i = 0; i < 50; ++i) keyspaces.push_back(OpenKeyspace(Concat("k", i)));
  for (int round = 0; round < 2; ++round) {
    for (Keyspace& keyspace : keyspaces) {
      ASSERT_OK(keyspace.Put("a", Concat(keyspace.name(), " ", round)));
      ASSERT_OK(keyspace.Put(Concat("b", round), "value"));
    }
    Flush();
    EXPECT_THAT(TablesByTree(), ElementsAre(Pair(kCommonTree, round + 1)));
  }
  Put("key", "of default");
  Flush();
  EXPECT_EQ(TablesByTree()[kDefaultKeyspace], 1);
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    uint64_t bytes = 0;
    for (int i = 0; i < 50; ++i) {
      Keyspace keyspace = OpenKeyspace(Concat("k", i));
      EXPECT_EQ(Scan(keyspace), Concat("a=k", i, " 1 b0=value b1=value"));
      EXPECT_EQ(Get(keyspace, "b0"), "value");
      EXPECT_FALSE(keyspace.GetStatistics().has_own_tree);
      bytes += keyspace.ApproximateBytes();
    }
    EXPECT_GT(bytes, 0u) << "a keyspace within one block may have 0";
    EXPECT_EQ(Scan(), "key=of default");
    if (pass == 0) {
      ASSERT_OK(OpenKeyspace("k7").CompactRange());
    }
    if (pass == 1) {
      ASSERT_NO_FATAL_FAILURE(Open());
    }
  }
}

TEST_F(CommonTreeTest, HasTheNames) {
  Open();
  OpenKeyspace("a");
  OpenKeyspace("b", {.target_fpp = 0.25});
  EXPECT_THAT(Names(), IsEmpty());
  Flush();
  EXPECT_THAT(Names(), ElementsAre("2=a common", "3=b common"));
  OpenKeyspace("c");
  ASSERT_NO_FATAL_FAILURE(Open());  // an opening flushes, too
  EXPECT_THAT(Names(), ElementsAre("2=a common", "3=b common", "4=c common"));
  OpenKeyspace("d");
  Fail(FileOperation::kSyncFile, ".log");
  EXPECT_FALSE(db_->Put("key", "lost", {.sync = true}).ok());
  world_.files->SetFault(nullptr);
  ASSERT_OK(db_->Resume());
  EXPECT_THAT(Names(), ElementsAre("2=a common", "3=b common", "4=c common", "5=d common"));
  OpenKeyspace("a", {.target_fpp = 0.5});
  Flush();
  EXPECT_THAT(Names(), ElementsAre("2=a common", "3=b common", "4=c common", "5=d common"));
  KeyspaceRecord record;
  ASSERT_OK(DecodeName(CommonEntries().at(NameKeyOf(2)), &record));
  EXPECT_EQ(record.options.target_fpp, 0.5);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(OpenKeyspace("a").CompactRange());
    EXPECT_EQ(Names().size(), 4u);
  }
}

// Ids follow each other, so what leaves one keyspace enters the next.
TEST_F(CommonTreeTest, RangesAndWalksEndWithTheirKeyspace) {
  Open();
  std::vector<Keyspace> keyspaces;
  for (const char* const name : {"a", "b", "c"}) keyspaces.push_back(OpenKeyspace(name));
  const std::string last(100, '\xff');
  for (int pass = 0; pass < 4; ++pass) {
    SCOPED_TRACE(pass);
    for (Keyspace& keyspace : keyspaces) {
      for (const std::string& key : {std::string(), std::string("m"), last})
        ASSERT_OK(keyspace.Put(key, keyspace.name()));
    }
    if (pass > 0) Flush();
    ASSERT_OK(keyspaces[1].DeleteRange("m", std::nullopt));
    if (pass > 1) Flush();
    if (pass > 2) {
      ASSERT_OK(keyspaces[1].CompactRange());
    }
    EXPECT_EQ(Scan(keyspaces[0]), Concat("=a m=a ", last, "=a"));
    EXPECT_EQ(Scan(keyspaces[1]), "=b");
    EXPECT_EQ(Scan(keyspaces[2]), Concat("=c m=c ", last, "=c"));
    EXPECT_EQ(Get(keyspaces[1], last), "absent");
    EXPECT_EQ(Get(keyspaces[2], ""), "c");
    const std::unique_ptr<Iterator> iterator = keyspaces[1].NewIterator();
    iterator->Seek("a");
    EXPECT_FALSE(iterator->Valid());
    iterator->SeekForPrev(last + last);
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "");
    iterator->Prev();
    EXPECT_FALSE(iterator->Valid());
  }
}

TEST_F(CommonTreeTest, TheLastIdHasNoEnd) {
  Open();
  OpenKeyspace("first");
  Flush();
  db_ = nullptr;
  {
    const auto directory = *world_.files->OpenDirectory(kStorePath, /*create=*/false);
    ManifestContents contents = ReadManifest(*directory).value();
    ASSERT_EQ(contents.state.keyspaces.Advance(KeyspaceRecords::kIdEnd - 2), "");
    const uint64_t number = contents.state.next_file_number++;
    const auto manifest = ManifestWriter::Create(
        *directory, number, /*file_id=*/77, contents.state.ToSnapshot(), contents.current_bytes);
    ASSERT_OK(manifest.status());
    ASSERT_OK((*manifest)->Close());
  }
  ASSERT_NO_FATAL_FAILURE(Open());
  Keyspace before = OpenKeyspace("before"), last = OpenKeyspace("last");
  EXPECT_EQ(db_->OpenKeyspace("more").status().code(), absl::StatusCode::kResourceExhausted);
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    for (const char* const key : {"k1", "k2"}) {
      ASSERT_OK(before.Put(key, "1"));
      ASSERT_OK(last.Put(key, "2"));
    }
    Flush();
    EXPECT_EQ(Scan(last), "k1=2 k2=2");
    ASSERT_OK(last.DeleteRange("k2", std::nullopt));
    ASSERT_OK(before.DeleteRange("k2", std::nullopt));
    if (pass > 0) Flush();
    if (pass > 1) {
      ASSERT_OK(last.CompactRange());
    }
    EXPECT_EQ(Scan(before), "k1=1");
    EXPECT_EQ(Scan(last), "k1=2");
    EXPECT_EQ(Get(last, "k2"), "absent");
  }
  EXPECT_EQ(IdOf("last"), 0xffffffffu);
}

TEST_F(CommonTreeTest, KeysMayBeAsLongAsElsewhere) {
  options_.write_buffer_bytes = 1 << 20;
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  const std::string longest(kKeyBytesMax, 'k'), next = longest + '\0';
  for (Keyspace keyspace : {a, b}) {
    ASSERT_OK(keyspace.Put(longest, keyspace.name()));
    ASSERT_OK(keyspace.Put("short", keyspace.name()));
    ASSERT_OK(keyspace.DeleteRange(next, "l"));
  }
  Flush();
  ASSERT_OK(a.DeleteRange(longest, next));
  for (int pass = 0; pass < 4; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(Get(a, longest), "absent");
    EXPECT_EQ(Get(b, longest), "b");
    EXPECT_EQ(Scan(a), "short=a");
    EXPECT_EQ(Scan(b), Concat(longest, "=b short=b"));
    if (pass == 0) Flush();
    if (pass == 1) {
      ASSERT_OK(a.CompactRange());
    }
    if (pass == 2) {
      ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
      EXPECT_THAT(report.problems, IsEmpty());
      ASSERT_NO_FATAL_FAILURE(Open());
      a = OpenKeyspace("a");
      b = OpenKeyspace("b");
    }
  }
}

// An own tree and the common one beside each other, in one flush and in one batch.
TEST_F(CommonTreeTest, LivesBesideOwnTrees) {
  Open();
  MakeOwnTrees({"own"});
  Keyspace own = OpenKeyspace("own"), small = OpenKeyspace("small");
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    WriteBatch batch;
    batch.Put("k", "default");
    batch.Put(own, "k", "own");
    batch.Put(small, "k", "small");
    batch.Put(own, Concat(pass), "own");
    batch.DeleteRange(small, "0", std::nullopt);
    batch.Put(small, Concat(pass), "small");
    ASSERT_OK(db_->Write(batch));
    Flush();
    EXPECT_EQ(Scan(), "k=default");
    EXPECT_EQ(Scan(small), Concat(pass, "=small"));
    EXPECT_EQ(Get(own, "k"), "own");
    EXPECT_EQ(Get(own, "0"), "own");
  }
  const std::map<KeyspaceId, int> tables = TablesByTree();
  EXPECT_EQ(tables.at(IdOf("own")), 1) << "each flush took the small table along";
  EXPECT_FALSE(tables.contains(IdOf("small")));
  EXPECT_TRUE(own.GetStatistics().has_own_tree);
  ASSERT_OK(own.CompactRange());
  ASSERT_OK(small.CompactRange());
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Scan(OpenKeyspace("own")), "0=own 1=own 2=own k=own");
  EXPECT_EQ(Scan(OpenKeyspace("small")), "2=small");
}

// A tree of its own stays a keyspace's place, also without tables.
TEST_F(CommonTreeTest, AnEmptyOwnTreeIsNotLeft) {
  Open();
  MakeOwnTrees({"own"});
  Keyspace own = OpenKeyspace("own");
  EXPECT_TRUE(own.GetStatistics().has_own_tree);
  EXPECT_EQ(Scan(own), "");
  ASSERT_OK(own.Put("key", "value"));
  Flush();
  ASSERT_OK(own.Delete("key"));
  Flush();
  ASSERT_OK(own.CompactRange());
  EXPECT_FALSE(TablesByTree().contains(IdOf("own")));
  EXPECT_TRUE(own.GetStatistics().has_own_tree);
  ASSERT_OK(own.Put("key", "again"));
  Flush();
  EXPECT_EQ(TablesByTree().at(IdOf("own")), 1);
  EXPECT_EQ(Scan(own), "key=again");
}

TEST_F(CommonTreeTest, FiltersKnowItsKeys) {
  options_.write_buffer_bytes = 1 << 20;
  Open();
  std::vector<Keyspace> keyspaces;
  for (int i = 0; i < 10; ++i) keyspaces.push_back(OpenKeyspace(Concat("k", i)));
  for (int key = 0; key < 100; ++key) {
    for (size_t i = 0; i < keyspaces.size(); ++i) {
      if (key % 10 != static_cast<int>(i)) {
        ASSERT_OK(keyspaces[i].Put(Concat(key), "value"));
      }
    }
  }
  Flush();
  const Statistics before = db_->GetStatistics();
  int found = 0;
  for (int key = 0; key < 100; ++key) {
    for (size_t i = 0; i < keyspaces.size(); ++i)
      found += Get(keyspaces[i], Concat(key)) == "value" ? 1 : 0;
  }
  EXPECT_EQ(found, 900);
  const LevelStatistics level0 = db_->GetStatistics().levels[0];
  const uint64_t wasted = level0.wasted_reads - before.levels[0].wasted_reads;
  const uint64_t avoided = level0.reads_avoided - before.levels[0].reads_avoided;
  EXPECT_GE(wasted + avoided, 99u) << "one key is beyond the table";
  EXPECT_LT(wasted, 20u);
}

// A flush takes the newest table of a tree along while that is small.
TEST_F(CommonTreeTest, FlushesOfAFewKeysMakeFewTables) {
  options_.write_buffer_bytes = 4 << 20;  // small: below 64 KiB
  options_.level0_compaction_tables = options_.level0_stop_tables = 30;
  options_.compression = Compression::kNone;
  Open();
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"own"}));
  std::map<std::string, std::map<std::string, std::string>> model;
  const auto put = [&](const std::string& name, const std::string& key, const std::string& value) {
    Keyspace keyspace = OpenKeyspace(name);
    ASSERT_OK(value.empty() ? keyspace.Delete(key) : keyspace.Put(key, value));
    if (value.empty()) {
      model[name].erase(key);
    } else {
      model[name][key] = value;
    }
  };
  for (int round = 0; round < 20; ++round) {
    for (const char* const name : {"own", "small", "default"}) {
      put(name, Concat(round), std::string(1'000, 'v'));
      put(name, Concat(round % 7), Concat(name, round));
      put(name, Concat(round % 5), "");
    }
    Flush();
  }
  for (const auto& [id, tables] : TablesByTree()) EXPECT_EQ(tables, 1) << id;
  EXPECT_EQ(world_.FilesOf(FileKind::kTable).size(), 3u);
  Keyspace own = OpenKeyspace("own");
  for (int round = 0; round < 4; ++round) {
    ASSERT_OK(own.Put(Concat("large", round), std::string(50'000, 'v')));
    model["own"][Concat("large", round)] = std::string(50'000, 'v');
    Flush();
  }
  EXPECT_EQ(TablesByTree()[IdOf("own")], 2) << "one was no longer small";
  for (int pass = 0; pass < 2; ++pass) {
    for (const auto& [name, keys] : model) {
      std::string expected;
      for (const auto& [key, value] : keys)
        expected += Concat(expected.empty() ? "" : " ", key, "=", value);
      EXPECT_EQ(Scan(OpenKeyspace(name)), expected) << name;
    }
    ASSERT_NO_FATAL_FAILURE(Open());
  }
}

TEST_F(CommonTreeTest, StatisticsCountAllTrees) {
  Open();
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"own"}));
  ASSERT_OK(OpenKeyspace("own").Put("a", "1"));
  ASSERT_OK(OpenKeyspace("small").Put("a", "2"));
  Put("a", "3");
  Flush();
  uint64_t bytes = 0;
  for (const std::string& path : world_.FilesOf(FileKind::kTable))
    bytes += world_.files->FileBytes(path).size();
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.levels[0].tables, 3u);
  EXPECT_EQ(statistics.total.table_bytes, bytes);
  EXPECT_EQ(statistics.trees, 3u);
  EXPECT_EQ(statistics.keyspaces, 3u);
  EXPECT_DOUBLE_EQ(statistics.space_amplification(), 1);
}

}  // namespace
}  // namespace lsm
