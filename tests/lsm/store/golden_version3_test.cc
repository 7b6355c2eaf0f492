// Whole stores with all that files of version 3 brought: range deletes, keyspaces with trees of
// their own, members of the common tree, drops, a keyspace that left the common tree, and entries
// that expire.
//
// The tests write these stores, too, and compare the bytes.  If a change of the program writes
// other bytes, give the new stores new names, and keep the old ones among those that are read, once
// a release has written such files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/keyspace.h"
#include "lsm/log/log_format.h"
#include "lsm/table/table.h"
#include "lsm/version/manifest.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/lsm/store/drawn_store.h"
#include "tests/support/golden.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// A keyspace's contents and place.
struct ExpectedKeyspace {
  bool has_own_tree = false;
  Contents contents;
};
using ExpectedKeyspaces = std::map<std::string, ExpectedKeyspace>;

Contents ContentsIn(const Keyspace& keyspace) {
  Contents contents;
  const std::unique_ptr<Iterator> iterator = keyspace.NewIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
    contents.emplace(iterator->key(), iterator->value());
  EXPECT_OK(iterator->status());
  return contents;
}

std::string NumberedKey(int number) { return Concat("key", 100 + number); }

// The keys with numbers in [from, to).
Contents Numbered(int from, int to, const std::string& value) {
  Contents contents;
  for (int i = from; i < to; ++i) contents[NumberedKey(i)] = value;
  return contents;
}

// Keys of the first that are in the second, too, have the second's values.
Contents Overlaid(Contents contents, const Contents& by) {
  for (const auto& [key, value] : by) contents[key] = value;
  return contents;
}

void ExpectHolds(DB& db, const ExpectedKeyspaces& expected) {
  std::set<std::string> keys;
  for (int i = 0; i < 45; ++i) keys.insert(NumberedKey(i));
  std::vector<std::string> names;
  for (const auto& [name, keyspace] : expected) {
    names.push_back(name);
    for (const auto& [key, value] : keyspace.contents) keys.insert(key);
  }
  ASSERT_OK_AND_ASSIGN(std::vector<std::string> listed, db.ListKeyspaces());
  ASSERT_EQ(listed, names);
  for (const auto& [name, wanted] : expected) {
    SCOPED_TRACE(name);
    ASSERT_OK_AND_ASSIGN(const Keyspace keyspace, db.OpenKeyspace(name));
    EXPECT_EQ(keyspace.GetStatistics().has_own_tree, wanted.has_own_tree);
    EXPECT_EQ(ContentsIn(keyspace), wanted.contents);
    for (const std::string& key : keys) {
      ASSERT_OK_AND_ASSIGN(const std::optional<std::string> found, keyspace.Get(key));
      const auto at = wanted.contents.find(key);
      EXPECT_EQ(found, at == wanted.contents.end() ? std::nullopt : std::optional(at->second))
          << key;
    }
  }
  EXPECT_OK(db.Verify());
  EXPECT_EQ(db.GetStatistics().total.filters_unknown, 0u);
  EXPECT_EQ(db.GetStatistics().total.filters_damaged, 0u);
}

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

class GoldenVersion3Test : public KeyspacesTest {
 protected:
  // Without compression, because LZ4's output may change.
  GoldenVersion3Test() { options_.compression = Compression::kNone; }

  void Fill(Keyspace keyspace, const Contents& contents) {
    for (const auto& [key, value] : contents) ASSERT_OK(keyspace.Put(key, value));
  }

  // Compares the files of the open store with the golden file.  Then opens the store in that file,
  // in each way, and compares what it has.  Readers' clocks begin where the test's did, and are
  // advanced by `seconds`.
  void ExpectStore(const std::string& name, const ExpectedKeyspaces& expected,
                   uint64_t seconds = 0) {
    testing_support::ExpectGolden("store/" + name, DrawStore(world_));
    World world;
    world.clock.Advance(seconds * kNanosPerSecond);
    ASSERT_NO_FATAL_FAILURE(LoadStore(name, &world));
    Options options = world.SmallOptions();
    for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kMustExist, OpenMode::kMustExist}) {
      options.mode = mode;
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(*db, expected));
    }
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
    for (const auto& [keyspace, wanted] : expected)
      ASSERT_OK(db->OpenKeyspace(keyspace)->CompactRange());
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*db, expected));
  }
};

// In tables: beside entries, alone, and two at a key, because of a snapshot.  In the log: without
// an end, and between the entries of a batch.
TEST_F(GoldenVersion3Test, RangeDeletes) {
  Open();
  for (const auto& [key, value] : Numbered(0, 40, "first")) Put(key, value);
  CompactAll();
  const std::unique_ptr<const Snapshot> first = db_->GetSnapshot();
  DeleteRange(NumberedKey(5), NumberedKey(15));
  const std::unique_ptr<const Snapshot> second = db_->GetSnapshot();
  DeleteRange(NumberedKey(10), NumberedKey(20));
  Put(NumberedKey(12), "newer");
  Delete(NumberedKey(21));
  Flush();
  DeleteRange(NumberedKey(25), NumberedKey(28));
  Flush();
  EXPECT_EQ(Levels(), "2 1");
  EXPECT_EQ(db_->GetStatistics().total.range_deletes, 4u);
  WriteBatch batch;
  batch.Put(NumberedKey(26), "back");
  batch.Put(NumberedKey(36), "hidden");
  batch.DeleteRange(NumberedKey(35), std::nullopt);
  batch.Put(NumberedKey(37), "back");
  ASSERT_OK(db_->Write(batch, {.sync = true}));

  Contents contents = Overlaid(Numbered(0, 5, "first"), Numbered(20, 21, "first"));
  contents = Overlaid(Overlaid(contents, Numbered(22, 25, "first")), Numbered(28, 35, "first"));
  contents[NumberedKey(12)] = "newer";
  contents[NumberedKey(26)] = contents[NumberedKey(37)] = "back";
  ExpectStore("version3_ranges.golden", {{"default", {true, contents}}});
}

TEST_F(GoldenVersion3Test, OwnTrees) {
  Open();
  Put("default", "1");
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"a", "b"}));
  Keyspace a = OpenKeyspace("a", {.filter_kind = "none", .compression = Compression::kNone}),
           b = OpenKeyspace("b",
                            {.target_fpp = 0.25, .compaction_style = CompactionStyle::kTiered});
  ASSERT_NO_FATAL_FAILURE(Fill(a, Numbered(0, 20, "of a")));
  ASSERT_NO_FATAL_FAILURE(Fill(b, Numbered(0, 20, "of b")));
  ASSERT_OK(a.CompactRange());
  ASSERT_OK(a.DeleteRange(NumberedKey(5), NumberedKey(10)));
  ASSERT_OK(b.Delete(NumberedKey(5)));
  Flush();
  WriteBatch batch;
  batch.Put(a, NumberedKey(7), "back");
  batch.DeleteRange(b, NumberedKey(10), std::nullopt);
  batch.Put("default", "2");
  ASSERT_OK(db_->Write(batch, {.sync = true}));

  Contents of_a = Overlaid(Numbered(0, 5, "of a"), Numbered(10, 20, "of a"));
  of_a[NumberedKey(7)] = "back";
  Contents of_b = Numbered(0, 10, "of b");
  of_b.erase(NumberedKey(5));
  ExpectStore("version3_own_trees.golden",
              {{"a", {true, of_a}}, {"b", {true, of_b}}, {"default", {true, {{"default", "2"}}}}});
}

TEST_F(GoldenVersion3Test, CommonTree) {
  const std::string any_bytes("\0\xff", 2);
  Open();
  Put("default", "1");
  Keyspace first = OpenKeyspace(any_bytes), second = OpenKeyspace("second");
  ASSERT_NO_FATAL_FAILURE(Fill(first, Numbered(0, 20, "first")));
  ASSERT_NO_FATAL_FAILURE(Fill(second, Numbered(0, 20, "second")));
  ASSERT_OK(first.CompactRange());
  ASSERT_OK(first.DeleteRange(NumberedKey(5), std::nullopt));
  ASSERT_OK(first.Put(NumberedKey(10), "newer"));
  ASSERT_OK(second.Delete(NumberedKey(5)));
  Flush();
  WriteBatch batch;
  batch.DeleteRange(first, "", NumberedKey(2));
  batch.Put(second, NumberedKey(5), "back");
  batch.Put("default", "2");
  ASSERT_OK(db_->Write(batch, {.sync = true}));

  Contents of_first = Numbered(2, 5, "first");
  of_first[NumberedKey(10)] = "newer";
  Contents of_second = Numbered(0, 20, "second");
  of_second[NumberedKey(5)] = "back";
  ExpectStore("version3_common_tree.golden", {{any_bytes, {false, of_first}},
                                              {"default", {true, {{"default", "2"}}}},
                                              {"second", {false, of_second}}});
}

// In the manifest and in the log; and a keyspace that got a tree of its own by growing.
TEST_F(GoldenVersion3Test, DropsAndALeaving) {
  Open();
  Keyspace gone = OpenKeyspace("gone"), grows = OpenKeyspace("grows");
  Keyspace goes = OpenKeyspace("goes"), stays = OpenKeyspace("stays");
  for (const Keyspace& each : {gone, goes, stays})
    ASSERT_NO_FATAL_FAILURE(Fill(each, {{"key", "value"}}));
  Flush();
  ASSERT_OK(db_->DropKeyspace("gone"));
  const std::string value(1'000, 'v');
  for (int round = 0; round < 4 && !grows.GetStatistics().has_own_tree; ++round) {
    ASSERT_NO_FATAL_FAILURE(Fill(grows, Numbered(32 * round, 32 * (round + 1), value)));
    Flush();
  }
  ASSERT_TRUE(grows.GetStatistics().has_own_tree);
  // It becomes small again, and keeps its tree.
  ASSERT_OK(grows.DeleteRange("", std::nullopt));
  ASSERT_NO_FATAL_FAILURE(Fill(grows, {{"key", "of its own tree"}}));
  ASSERT_OK(grows.CompactRange());
  ASSERT_OK(stays.CompactRange());
  ASSERT_OK(goes.Put("other", "value"));
  ASSERT_OK(db_->DropKeyspace("goes"));
  ASSERT_NO_FATAL_FAILURE(Fill(OpenKeyspace("gone"), {{"key", "of its namesake"}}));
  ASSERT_NO_FATAL_FAILURE(Fill(OpenKeyspace("new"), {{"key", "new"}}));
  OpenKeyspace("stays", {.filter_kind = "ribbon"});
  ASSERT_OK(stays.Put("other", "value", {.sync = true}));

  ExpectStore("version3_drops.golden",
              {{"default", {true, {}}},
               {"gone", {false, {{"key", "of its namesake"}}}},
               {"grows", {true, {{"key", "of its own tree"}}}},
               {"new", {false, {{"key", "new"}}}},
               {"stays", {false, {{"key", "value"}, {"other", "value"}}}}});
}

// Puts without a time, from before the limit; puts with times in tables and in the log; cutoffs in
// the manifest and in the log.
TEST_F(GoldenVersion3Test, Expiry) {
  Open();
  Put("untimed", "1");
  Flush();
  ASSERT_NO_FATAL_FAILURE(MakeOwnTrees({"own"}));
  Keyspace base = OpenKeyspace("default", {.expire_after = 1'000});
  Keyspace own = OpenKeyspace("own", {.expire_after = 100});
  Keyspace common = OpenKeyspace("common", {.expire_after = 50});
  for (const Keyspace& each : {base, own, common})
    ASSERT_NO_FATAL_FAILURE(Fill(each, Numbered(0, 20, "at 0")));
  world_.clock.Advance(60 * kNanosPerSecond);
  for (const Keyspace& each : {base, own, common})
    ASSERT_NO_FATAL_FAILURE(Fill(each, Numbered(15, 25, "at 60")));
  OpenKeyspace("common", {.expire_after = 200});
  Flush();
  world_.clock.Advance(50 * kNanosPerSecond);
  OpenKeyspace("own", {.expire_after = 1'000});
  WriteBatch batch;
  for (const Keyspace& each : {base, own, common}) batch.Put(each, NumberedKey(30), "at 110");
  ASSERT_OK(db_->Write(batch, {.sync = true}));

  const Contents of_110 = {{NumberedKey(30), "at 110"}};
  const Contents of_60 = Overlaid(Numbered(15, 25, "at 60"), of_110);
  Contents all = Overlaid(Numbered(0, 15, "at 0"), of_60);
  all["untimed"] = "1";
  // The changes of the limits came when the first puts had expired.  These stay expired.
  const char* const golden = "version3_expiry.golden";
  ExpectStore(golden,
              {{"common", {false, of_60}}, {"default", {true, all}}, {"own", {true, of_60}}},
              /*seconds=*/115);
  // 1,030 seconds after the first limit all older puts have expired, with times and without.
  ExpectStore(golden, {{"common", {false, {}}}, {"default", {true, of_60}}, {"own", {true, of_60}}},
              /*seconds=*/1'030);
}

bool HasVersion3(const TableMeta& table) {
  return !table.ranges.empty() || table.keyspace != kDefaultKeyspace ||
         table.times.timed_entries > 0;
}

// Releases before version 3 know logs of version 2, tables of versions 1 and 2, and no field of a
// manifest beyond 13.  They refuse the others by name or number.  Records of tombstones are fields
// of the manifest alone.
TEST_F(GoldenVersion3Test, OldReleasesRefuseThem) {
  for (const std::string name :
       {"version2_tombstones.golden", "version3_ranges.golden", "version3_own_trees.golden",
        "version3_common_tree.golden", "version3_drops.golden", "version3_expiry.golden"}) {
    SCOPED_TRACE(name);
    const bool is_version3 = name.starts_with("version3");
    World world;
    ASSERT_NO_FATAL_FAILURE(LoadStore(name, &world));
    const std::vector<std::string> logs = world.FilesOf(FileKind::kLog);
    ASSERT_FALSE(logs.empty());
    for (const std::string& log : logs) {
      LogHeader header;
      const std::string bytes = world.files->FileBytes(log);
      ASSERT_TRUE(LoadLogHeader(bytes.substr(0, kLogHeaderBytes), &header)) << log;
      EXPECT_EQ(header.version, is_version3 ? 3 : 2) << log;
    }
    const auto directory = *world.files->OpenDirectory(kStorePath, /*create=*/false);
    bool manifest_has_new_fields = false;
    const auto on_edit = [&](uint64_t, const VersionEdit& edit) {
      manifest_has_new_fields |= !edit.keyspaces.empty() || !edit.dropped_keyspaces.empty();
      for (const VersionEdit::Added& added : edit.added)
        manifest_has_new_fields |= added.table.dead != DeadEntries() || HasVersion3(added.table);
    };
    ASSERT_OK_AND_ASSIGN(const ManifestContents manifest, ReadManifest(*directory, on_edit));
    EXPECT_TRUE(manifest_has_new_fields);
    bool has_new_table = false;
    for (const auto& level : manifest.state.levels) {
      for (const auto& [number, meta] : level) {
        const bool is_new = HasVersion3(meta);
        auto file = directory->OpenRead(TableFileName(number), ReadMode::kBuffered);
        ASSERT_OK_AND_ASSIGN(const auto table, Table::Open(*std::move(file), {}));
        EXPECT_EQ(table->footer().version(), is_new ? 3u : 1u) << number;
        has_new_table |= is_new;
      }
    }
    EXPECT_EQ(has_new_table, is_version3);
  }
}

}  // namespace
}  // namespace lsm
