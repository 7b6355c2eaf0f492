// Repairs of stores with keyspaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/limits.h"
#include "lsm/version/common_keys.h"
#include "lsm/write_batch.h"
#include "tests/lsm/repair/repair_keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing_support::StatusIs;

TEST_F(RepairKeyspacesTest, KeepsASoundStore) {
  Open();
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  ASSERT_OK(OpenKeyspace("small", {.target_fpp = 0.25}).Put("key", "value"));
  OpenKeyspace("empty");
  Put("key", "default");
  Flush();
  ASSERT_NO_FATAL_FAILURE(Close());
  const std::map<KeyspaceId, int> tables = TablesByTree();
  const KeyspaceRecords keyspaces = StateOnDisk().keyspaces;
  EXPECT_THAT(Repair(), IsEmpty());
  EXPECT_EQ(TablesByTree(), tables);
  EXPECT_EQ(StateOnDisk().keyspaces, keyspaces);
  EXPECT_EQ(Scan(OpenKeyspace("small")), "key=value");
  EXPECT_EQ(Scan(OpenKeyspace("own")).substr(0, 11), "key100=own2");
  EXPECT_EQ(Scan(), "key=default");
}

TEST_F(RepairKeyspacesTest, TakesTheChangesOfLogs) {
  for (const bool has_manifest : {true, false}) {
    SCOPED_TRACE(has_manifest);
    ASSERT_NO_FATAL_FAILURE(OpenNew());
    ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
    Keyspace own = OpenKeyspace("own"), old = OpenKeyspace("old"), kept = OpenKeyspace("kept");
    for (Keyspace* each : {&own, &old, &kept}) ASSERT_OK(each->Put("key1", "table"));
    Flush();
    // All of this is in the log.
    ASSERT_OK(old.Put("key1", "log"));
    ASSERT_OK(db_->DropKeyspace("old"));
    Keyspace old2 = OpenKeyspace("old", {.compression = Compression::kLz4});
    WriteBatch batch;
    batch.Put(old2, "key2", "log");
    batch.Put(kept, "key2", "log");
    batch.Delete(kept, "key1");
    batch.DeleteRange(own, "key100", std::nullopt);
    batch.Put(own, "key2", "log");
    batch.Put("key2", "log");
    ASSERT_OK(db_->Write(batch));
    OpenKeyspace("kept", {.filter_kind = "ribbon", .target_fpp = 0.125});
    ASSERT_NO_FATAL_FAILURE(Close());
    for (int pass = 0; pass < 3; ++pass) {
      SCOPED_TRACE(pass);  // again: what Repair writes can be repaired
      EXPECT_THAT(pass == 0 && has_manifest ? Repair() : RepairWithoutManifest(), IsEmpty());
      EXPECT_THAT(List(), ElementsAre("default", "kept", "old", "own"));
      ASSERT_TRUE(RecordOnDisk("own") && RecordOnDisk("kept"));
      EXPECT_EQ(Scan(OpenKeyspace("own")), "key1=table key2=log");
      EXPECT_EQ(Scan(OpenKeyspace("old")), "key2=log");
      EXPECT_EQ(Scan(OpenKeyspace("kept")), "key2=log");
      EXPECT_EQ(Scan(), "key2=log");
      EXPECT_EQ(OptionsOnDisk("old"), (KeyspaceOptions{.compression = Compression::kLz4}));
      EXPECT_EQ(OptionsOnDisk("kept"),
                (KeyspaceOptions{.filter_kind = "ribbon", .target_fpp = 0.125}));
      EXPECT_TRUE(RecordOnDisk("own")->has_own_tree);
      EXPECT_FALSE(RecordOnDisk("kept")->has_own_tree);
      EXPECT_EQ(IdOf("own"), 2u);
      EXPECT_EQ(IdOf("kept"), 4u);
      EXPECT_EQ(IdOf("old"), 5u);
      // Its entry in the log was not written.  That in a table is dead.
      if (pass == 0 && has_manifest) {
        EXPECT_EQ(CommonEntries()[CommonKeyOf(3, "key1")], "table");
      }
    }
  }
}

// --- without a manifest ---

// The entries that it has left in the common tree are older than its tables, where tombstones hide
// nothing any more.
TEST_F(RepairKeyspacesTest, AKeyspaceThatLeftKeepsItsDeletes) {
  Open();
  Keyspace small = OpenKeyspace("small");
  ASSERT_OK(small.Put("key", "value"));
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  Keyspace own = OpenKeyspace("own");
  ASSERT_OK(own.Delete("key100"));
  ASSERT_OK(own.DeleteRange("key102", std::nullopt));
  ASSERT_OK(own.CompactRange());
  const KeyspaceId id = IdOf("own");
  const auto entries = CommonEntries();
  ASSERT_TRUE(std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
    return KeyspaceOf(entry.first) == id;
  })) << "its old entries are still there";
  const std::string expected = Scan(own);
  ASSERT_EQ(expected.substr(0, 7), "key101=");
  ASSERT_NO_FATAL_FAILURE(Close());
  EXPECT_THAT(RepairWithoutManifest(), IsEmpty());
  EXPECT_EQ(Scan(OpenKeyspace("own")), expected);
  EXPECT_EQ(Scan(OpenKeyspace("small")), "key=value");
  for (const auto& [key, value] : CommonEntries()) EXPECT_NE(KeyspaceOf(key), id) << "it is dead";
  EXPECT_THAT(Names(), ElementsAre("2=small common", "3=own own"));
}

// A crash may cut off the flush in which it leaves.  Its log is still there.
TEST_F(RepairKeyspacesTest, ALeavingThatWasCutOffLosesNothing) {
  int merged = 0;
  for (uint64_t at = 0; at < 40; ++at) {
    SCOPED_TRACE(at);
    ASSERT_NO_FATAL_FAILURE(OpenNew());
    ASSERT_OK(OpenKeyspace("small").Put("key", "value"));
    Keyspace own = OpenKeyspace("own", {.target_fpp = 0.25});
    for (int round = 0; round < 2; ++round) ASSERT_NO_FATAL_FAILURE(Fill(own, Concat(round)));
    ASSERT_OK(own.Put("key9", "in the log"));
    ASSERT_OK(own.DeleteRange("key120", "key131"));
    ASSERT_OK(own.Delete("key131"));
    const std::string expected = Scan(own);
    ASSERT_FALSE(own.GetStatistics().has_own_tree);
    world_.files->CrashAt(world_.files->operation_count() + at);
    const bool has_left = db_->Flush().ok() && own.GetStatistics().has_own_tree;
    db_ = nullptr;
    world_.files->Restart(MemoryFileSystem::Unsynced::kKept);
    std::vector<std::string> lines = RepairWithoutManifest();
    // The table that was being written.
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("/store/"); });
    const bool is_merged = !lines.empty();
    if (is_merged) {
      EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("keyspace 3, \"own\", has tables of its own "
                                                     "and entries in the common tree"),
                                           HasSubstr("deleted keys may be back"))));
      EXPECT_FALSE(has_left);
    }
    merged += is_merged;
    EXPECT_EQ(Scan(OpenKeyspace("own")), expected);
    EXPECT_EQ(OptionsOnDisk("own").target_fpp, 0.25);
    EXPECT_EQ(RecordOnDisk("own")->has_own_tree, is_merged || !TablesOf(3).empty());
    EXPECT_EQ(Scan(OpenKeyspace("small")), "key=value");
    EXPECT_THAT(RepairWithoutManifest(), IsEmpty()) << "now its name says where it is";
    EXPECT_EQ(Scan(OpenKeyspace("own")), expected);
  }
  EXPECT_GT(merged, 0);
}

// The table with the newest name is lost, so it seems that a leaving was cut off.
TEST_F(RepairKeyspacesTest, ALostNameBringsDeletedKeysBack) {
  Open();
  ASSERT_OK(OpenKeyspace("small").Put("key", "value"));
  Keyspace own = OpenKeyspace("own");
  for (int round = 0; round < 2; ++round) ASSERT_NO_FATAL_FAILURE(Fill(own, Concat(round)));
  const std::string deleted = Concat("key131=1", std::string(1'000, 'v'));
  const std::string expected = Scan(own);
  ASSERT_THAT(expected, testing::EndsWith(deleted));
  ASSERT_OK(own.Delete("key131"));
  const std::vector<uint64_t> before = TablesOf(kCommonTree);
  Flush();
  ASSERT_TRUE(own.GetStatistics().has_own_tree);
  ASSERT_NO_FATAL_FAILURE(Close());
  const std::vector<uint64_t> after = TablesOf(kCommonTree);
  ASSERT_EQ(after.size(), before.size() + 1);
  Remove(Forger().PathOf(after.back()));
  EXPECT_THAT(RepairWithoutManifest(), ElementsAre(HasSubstr("deleted keys may be back")));
  EXPECT_EQ(Scan(OpenKeyspace("own")), expected);
  EXPECT_EQ(Scan(OpenKeyspace("small")), "key=value");
}

// The range deletes of the common tree hide older entries in its own tables.
TEST_F(RepairKeyspacesTest, RangesOfACutOffLeavingCount) {
  Open();
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  const KeyspaceId id = IdOf("own");
  ASSERT_OK(OpenKeyspace("small").Put("key", "value"));
  Flush();
  const std::vector<uint64_t> common = TablesOf(kCommonTree);
  const Sequence last = StateOnDisk().last_sequence;
  ASSERT_NO_FATAL_FAILURE(Close());
  const std::string name = NameKeyOf(id), from = CommonKeyOf(id, "key101"),
                    to = CommonKeyOf(id, "key200"), put = CommonKeyOf(id, "key105");
  const auto key = [&](const std::string& user_key, Sequence sequence) {
    std::string internal_key;
    AppendInternalKey(&internal_key, user_key, sequence, EntryKind::kPut);
    return internal_key;
  };
  const std::string value = EncodeName({.id = id, .has_own_tree = false, .name = "own"});
  Forger().SetEntries(common.back(), {{key(name, last), value}, {key(put, last + 3), "new"}},
                      RangesOf({{from, to, last + 2}}));
  EXPECT_THAT(RepairWithoutManifest(), Contains(HasSubstr("deleted keys may be back")));
  EXPECT_EQ(Scan(OpenKeyspace("own")).substr(0, 11), "key100=own2");
  EXPECT_THAT(Scan(OpenKeyspace("own")), testing::EndsWith("v key105=new"));
}

TEST_F(RepairKeyspacesTest, LeavesOutTablesOfADroppedOne) {
  for (const bool is_in_log : {false, true}) {
    SCOPED_TRACE(is_in_log);
    ASSERT_NO_FATAL_FAILURE(OpenNew());
    ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
    ASSERT_OK(OpenKeyspace("small").Put("key", "value"));
    Flush();
    std::map<std::string, std::string> tables;
    for (const uint64_t table : TablesOf(IdOf("own")))
      tables[Forger().PathOf(table)] = world_.files->FileBytes(Forger().PathOf(table));
    ASSERT_FALSE(tables.empty());
    ASSERT_OK(db_->DropKeyspace("own"));
    if (!is_in_log) Flush();
    ASSERT_NO_FATAL_FAILURE(Close());
    for (const auto& [path, bytes] : tables) world_.files->SetFileBytes(path, bytes);
    RemoveManifests();
    const absl::StatusOr<RepairReport> report = DB::Repair(kStorePath, options_);
    ASSERT_OK(report);
    for (const auto& [path, bytes] : tables) {
      EXPECT_THAT(report->left_out,
                  Contains(Concat(path, ": the table belongs to keyspace 2, which was dropped")));
      EXPECT_EQ(world_.files->FileBytes(path + ".damaged"), bytes);
    }
    Open();
    EXPECT_THAT(List(), ElementsAre("default", "small"));
    EXPECT_EQ(TablesByTree().count(2), 0u);
    EXPECT_EQ(Scan(OpenKeyspace("small")), "key=value");
    OpenKeyspace("next");
    Flush();
    EXPECT_EQ(IdOf("next"), 4u) << "no id is given again";
  }
}

// All tables of the common tree are lost.
TEST_F(RepairKeyspacesTest, AnIdWithoutANameGetsOne) {
  Open();
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  const std::string expected = Scan(OpenKeyspace("own"));
  ASSERT_NO_FATAL_FAILURE(Open());
  Put("key", "value");
  ASSERT_NO_FATAL_FAILURE(Close());
  for (const uint64_t table : TablesOf(kCommonTree)) Remove(Forger().PathOf(table));
  EXPECT_THAT(RepairWithoutManifest(),
              ElementsAre(Concat(kStorePath,
                                 ": keyspace 2 has no name in the files: it is "
                                 "\"keyspace-2\" now")));
  EXPECT_THAT(List(), ElementsAre("default", "keyspace-2"));
  EXPECT_EQ(Scan(OpenKeyspace("keyspace-2")), expected);
  EXPECT_EQ(Scan(), "key=value");
}

// The ids of all files are below the next one, also those of files that are left out.
TEST_F(RepairKeyspacesTest, GivesNoIdAgain) {
  const auto make = [this](const std::string& what) {
    ASSERT_NO_FATAL_FAILURE(OpenNew());
    ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
    WriteBatch batch;
    if (what == "an entry in a log") EncodedBatch::Put(&batch, 77, "key", "value");
    if (what == "a range in a log") EncodedBatch::DeleteRange(&batch, 77, "a", "b");
    if (what == "a drop in a log")
      EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kDropped, 77, "", {}});
    ASSERT_OK(db_->Write(batch));
    if (what == "the manifest") {
      ASSERT_OK(db_->Flush());
    }
    ASSERT_NO_FATAL_FAILURE(Close());
    StoreForger forger = Forger();
    const uint64_t table = TablesOf(2).front(), common = TablesOf(kCommonTree).front();
    if (what.find("manifest") != what.npos)
      forger.ChangeManifest([](VersionEdit* edit) { edit->next_keyspace_id = 78; });
    if (what == "a manifest that does not know all tables") {
      const std::string bytes = world_.files->FileBytes(forger.PathOf(table));
      Remove("/CURRENT");
      world_.files->SetFileBytes(forger.PathOf(900), bytes);
    }
    if (what == "a table without sound blocks") {
      forger.ChangeProperties(table, [](TableProperties* p, Footer*) { p->keyspace = 77; });
      for (uint64_t at = 40; at + 600 < forger.FooterOf(table).index.offset; at += 400)
        Flip(forger.PathOf(table), at);
    }
    if (what == "a range in the common tree") {
      const std::string from = CommonKeyOf(77, "a"), to = CommonKeyOf(77, "b");
      forger.SetEntries(common, forger.EntriesOf(common), RangesOf({{from, to, 5}}));
    }
    if (what == "a dead entry") {
      auto entries = forger.EntriesOf(common);
      std::string key;
      AppendInternalKey(&key, CommonKeyOf(77, "a"), 5, EntryKind::kPut);
      entries.emplace_back(key, "dead");
      forger.SetEntries(common, entries);
    }
  };
  for (const std::string what :
       {"an entry in a log", "a range in a log", "a drop in a log", "the manifest",
        "a manifest that does not know all tables", "a table without sound blocks",
        "a range in the common tree", "a dead entry"}) {
    for (const bool has_manifest : {true, false}) {
      if (!has_manifest && what.find("manifest") != what.npos) continue;
      SCOPED_TRACE(Concat(what, has_manifest ? "" : ", no manifest"));
      ASSERT_NO_FATAL_FAILURE(make(what));
      has_manifest ? Repair() : RepairWithoutManifest();
      ASSERT_NE(db_, nullptr);
      OpenKeyspace("next");
      Flush();
      EXPECT_EQ(IdOf("next"), 78u);
    }
  }
}

// A log whose record with a creation is damaged.
TEST_F(RepairKeyspacesTest, KeepsEntriesWhoseCreationIsLost) {
  for (const bool has_manifest : {true, false}) {
    SCOPED_TRACE(has_manifest);
    ASSERT_NO_FATAL_FAILURE(OpenNew());
    Put("key", "value");
    Keyspace a = OpenKeyspace("a to be lost"), b = OpenKeyspace("b");
    ASSERT_OK(a.Put("key", "of a"));
    ASSERT_OK(b.Put("key", "of b"));
    ASSERT_OK(a.DeleteRange("r", "s"));
    ASSERT_NO_FATAL_FAILURE(Close());
    const std::vector<std::string> logs = world_.FilesOf(FileKind::kLog);
    ASSERT_EQ(logs.size(), 1u);
    Flip(logs[0], world_.files->FileBytes(logs[0]).find("a to be lost"));
    EXPECT_FALSE(OpenStatus().ok());
    EXPECT_THAT(has_manifest ? Repair() : RepairWithoutManifest(),
                AllOf(Contains(HasSubstr(logs[0])),
                      Contains(HasSubstr("keyspace 2 has no name in the files"))));
    EXPECT_THAT(List(), ElementsAre("b", "default", "keyspace-2"));
    EXPECT_EQ(Scan(OpenKeyspace("keyspace-2")), "key=of a");
    EXPECT_EQ(Scan(OpenKeyspace("b")), "key=of b");
    EXPECT_EQ(Scan(), "key=value");
  }
}

// --- damage ---

TEST_F(RepairKeyspacesTest, DamagedBlocksLoseOnlyTheirKeys) {
  for (const bool has_manifest : {true, false}) {
    for (const bool is_own : {true, false}) {
      SCOPED_TRACE(Concat(has_manifest, is_own));
      ASSERT_NO_FATAL_FAILURE(OpenNew());
      ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
      Keyspace small = OpenKeyspace("small");
      for (int i = 0; i < 20; ++i)
        ASSERT_OK(small.Put(Concat("key", 100 + i), std::string(300, 's')));
      ASSERT_OK(small.DeleteRange("key110", "key112"));
      const std::string own_before = Scan(OpenKeyspace("own")), small_before = Scan(small);
      Flush();
      ASSERT_NO_FATAL_FAILURE(Close());
      const uint64_t table = is_own ? TablesOf(IdOf("own")).back() : TablesOf(kCommonTree).back();
      // In the second half of its data.
      Flip(Forger().PathOf(table), Forger().FooterOf(table).index.offset * 2 / 3);
      EXPECT_FALSE(world_.FilesOf(FileKind::kTable).empty());
      const std::vector<std::string> lines = has_manifest ? Repair() : RepairWithoutManifest();
      EXPECT_THAT(lines,
                  ElementsAre(AllOf(HasSubstr(Forger().PathOf(table)), HasSubstr("keys up to"))));
      EXPECT_THAT(List(), ElementsAre("default", "own", "small"));
      const std::string own = Scan(OpenKeyspace("own")), all = Scan(OpenKeyspace("small"));
      EXPECT_EQ(own == own_before, !is_own);
      EXPECT_EQ(all == small_before, is_own);
      EXPECT_GT((is_own ? own : all).size(), (is_own ? own_before : small_before).size() / 2);
    }
  }
}

// In the common tree the longest key has an id before it.
TEST_F(RepairKeyspacesTest, SavesTheLongestKeys) {
  Open();
  const std::string longest(kKeyBytesMax, 'k');
  Keyspace small = OpenKeyspace("small");
  for (int i = 0; i < 20; ++i) ASSERT_OK(small.Put(Concat("a", 100 + i), std::string(300, 's')));
  ASSERT_OK(small.Put(longest, "value"));
  Flush();
  ASSERT_NO_FATAL_FAILURE(Close());
  Flip(Forger().PathOf(TablesOf(kCommonTree).front()), 3'000);
  EXPECT_THAT(Repair(), ElementsAre(HasSubstr("keys up to")));
  EXPECT_EQ(Get(OpenKeyspace("small"), longest), "value");
}

// Entries out of order go to tables of the same tree.
TEST_F(RepairKeyspacesTest, SavesEntriesOutOfOrder) {
  for (const bool is_own : {true, false}) {
    for (const bool has_manifest : {true, false}) {
      SCOPED_TRACE(Concat(is_own, has_manifest));
      ASSERT_NO_FATAL_FAILURE(OpenNew());
      ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
      Keyspace small = OpenKeyspace("small");
      for (int i = 0; i < 8; ++i) ASSERT_OK(small.Put(Concat("key", i), Concat(i)));
      Flush();
      const std::string own_before = Scan(OpenKeyspace("own")), small_before = Scan(small);
      ASSERT_NO_FATAL_FAILURE(Close());
      const uint64_t table = TablesOf(is_own ? IdOf("own") : kCommonTree).back();
      const StoreForger::Entries entries = Forger().EntriesOf(table);
      const auto half = entries.begin() + static_cast<ptrdiff_t>(entries.size() / 2);
      Forger().SetBlocks(table, {{half, entries.end()}, {entries.begin(), half}});
      has_manifest ? Repair() : RepairWithoutManifest();
      ASSERT_NE(db_, nullptr);
      EXPECT_THAT(List(), ElementsAre("default", "own", "small"));
      EXPECT_EQ(Scan(OpenKeyspace("own")), own_before);
      EXPECT_EQ(Scan(OpenKeyspace("small")), small_before);
    }
  }
}

// Its names are lost, but the manifest knows them, and writes them again.
TEST_F(RepairKeyspacesTest, NamesInADamagedTableAreWrittenAgain) {
  Open();
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  ASSERT_OK(OpenKeyspace("small", {.target_fpp = 0.25}).Put("key", "value"));
  Flush();
  ASSERT_NO_FATAL_FAILURE(Close());
  for (const uint64_t table : TablesOf(kCommonTree)) Flip(Forger().PathOf(table), 40);
  EXPECT_THAT(Repair(), Contains(HasSubstr("keys up to")));
  EXPECT_THAT(List(), ElementsAre("default", "own", "small"));
  const std::string expected = Scan(OpenKeyspace("own"));
  EXPECT_FALSE(expected.empty());
  ASSERT_NO_FATAL_FAILURE(Close());
  EXPECT_THAT(RepairWithoutManifest(), IsEmpty());
  EXPECT_THAT(List(), ElementsAre("default", "own", "small"));
  EXPECT_EQ(Scan(OpenKeyspace("own")), expected);
  EXPECT_EQ(OptionsOnDisk("small").target_fpp, 0.25);
}

// The manifest knows the drop, and the older name is in another table.
TEST_F(RepairKeyspacesTest, ATombstoneInADamagedTableIsWrittenAgain) {
  Open();
  ASSERT_OK(OpenKeyspace("old").Put("key", "old"));
  const std::string value(2'000, 'v');  // more than a flush takes along
  ASSERT_OK(OpenKeyspace("small").Put("key1", value));
  Flush();
  ASSERT_OK(db_->DropKeyspace("old"));
  ASSERT_OK(OpenKeyspace("small").Put("key2", "value"));
  Flush();
  ASSERT_NO_FATAL_FAILURE(Close());
  ASSERT_EQ(TablesOf(kCommonTree).size(), 2u);
  Flip(Forger().PathOf(TablesOf(kCommonTree).back()), 40);
  EXPECT_THAT(Repair(), ElementsAre(HasSubstr("keys up to")));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(List(), ElementsAre("default", "small"));
    EXPECT_EQ(Scan(OpenKeyspace("small")), Concat("key1=", value));
    ASSERT_NO_FATAL_FAILURE(Close());
    EXPECT_THAT(RepairWithoutManifest(), IsEmpty());
  }
}

TEST_F(RepairKeyspacesTest, SaysWhichNamesAreInvalid) {
  Open();
  ASSERT_OK(OpenKeyspace("small").Put("key", "value"));
  Flush();
  ASSERT_NO_FATAL_FAILURE(Close());
  const uint64_t table = TablesOf(kCommonTree).front();
  auto entries = Forger().EntriesOf(table);
  ASSERT_EQ(UserKeyOf(entries[0].first), NameKeyOf(2));
  entries[0].second = "\x07";
  Forger().SetEntries(table, entries);
  EXPECT_THAT(RepairWithoutManifest(),
              ElementsAre(AllOf(HasSubstr(Forger().PathOf(table)), HasSubstr("the name at key"),
                                HasSubstr("the place of a keyspace is invalid")),
                          HasSubstr("keyspace 2 has no name in the files")));
  EXPECT_EQ(Scan(OpenKeyspace("keyspace-2")), "key=value");
}

// Otherwise its keys would be those of another keyspace.
TEST_F(RepairKeyspacesTest, LeavesOutATableOfAnotherTree) {
  for (const bool is_common : {true, false}) {
    SCOPED_TRACE(is_common);
    ASSERT_NO_FATAL_FAILURE(OpenNew());
    Put("key", "default");
    ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
    ASSERT_NO_FATAL_FAILURE(Close());
    const uint64_t table = TablesOf(IdOf("own")).front();
    Forger().ChangeRecord(table, [&](VersionEdit::Added* added) {
      added->table.keyspace = is_common ? kCommonTree : kDefaultKeyspace;
    });
    EXPECT_THAT(Repair(), Contains(AllOf(HasSubstr(Forger().PathOf(table)),
                                         HasSubstr(Concat("the properties say keyspace 2, the "
                                                          "manifest says ",
                                                          is_common)))));
    EXPECT_EQ(Scan(), "key=default");
    EXPECT_EQ(Scan(OpenKeyspace("own")), "");
    EXPECT_FALSE(world_.files->FileBytes(Forger().PathOf(table) + ".damaged").empty());
  }
}

// An id of more than 32 bits must not be cut.
TEST_F(RepairKeyspacesTest, LeavesOutATableWithAHugeId) {
  Open();
  Put("key", "default");
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  ASSERT_NO_FATAL_FAILURE(Close());
  const uint64_t table = TablesOf(IdOf("own")).front();
  Forger().ChangeProperties(table,
                            [](TableProperties* p, Footer*) { p->keyspace = uint64_t{1} << 32; });
  EXPECT_THAT(RepairWithoutManifest(),
              Contains(HasSubstr("the properties say keyspace 4294967296, which is too large")));
  EXPECT_EQ(Scan(), "key=default");
}

// --- levels ---

// Only the levels of the tree in question are ignored.
TEST_F(RepairKeyspacesTest, LevelsThatContradictAreThoseOfOneTree) {
  Open();
  Put("key", "default");
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  Keyspace own = OpenKeyspace("own");
  ASSERT_OK(own.Put("key100", "newer"));
  ASSERT_OK(OpenKeyspace("small").Put("key", "value"));
  Flush();
  ASSERT_NO_FATAL_FAILURE(Close());
  const KeyspaceId id = IdOf("own");
  const std::vector<uint64_t> others = TablesOf(kDefaultKeyspace), common = TablesOf(kCommonTree);
  Forger().ChangeRecord(TablesOf(id).back(), [](VersionEdit::Added* added) { added->level = 5; });
  EXPECT_THAT(Repair(), ElementsAre(AllOf(HasSubstr(Concat("keyspace ", id, ": ")),
                                          HasSubstr("the levels are ignored"))));
  EXPECT_EQ(TablesOf(kDefaultKeyspace), others);
  EXPECT_EQ(TablesOf(kCommonTree), common);
  EXPECT_EQ(Get(OpenKeyspace("own"), "key100"), "newer");
}

// The numbers are those of all trees.
TEST_F(RepairKeyspacesTest, NumbersAllTreesAgain) {
  Open();
  Put("key", "default");
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  Keyspace own = OpenKeyspace("own"), small = OpenKeyspace("small");
  ASSERT_OK(own.Put("key100", "newer"));
  ASSERT_OK(own.DeleteRange("key102", std::nullopt));
  ASSERT_OK(small.Put("key", "value"));
  Flush();
  ASSERT_NO_FATAL_FAILURE(Close());
  const uint64_t table = TablesOf(kDefaultKeyspace).back();
  static constexpr Sequence kHigh = kSequenceMax - 100;
  Forger().ChangeSequences(table, [](Sequence) { return kHigh; });
  Forger().ChangeManifest([](VersionEdit* edit) { edit->last_sequence = kHigh; });
  EXPECT_THAT(Repair(), ElementsAre(HasSubstr("all are numbered again")));
  EXPECT_LT(StateOnDisk().last_sequence, 1000u);
  EXPECT_EQ(Scan(), "key=default");
  EXPECT_EQ(Get(OpenKeyspace("own"), "key100"), "newer");
  EXPECT_EQ(Get(OpenKeyspace("own"), "key102"), "absent");
  EXPECT_EQ(Scan(OpenKeyspace("small")), "key=value");
  ASSERT_OK(OpenKeyspace("small").Put("key", "later"));
  ASSERT_NO_FATAL_FAILURE(Close());
  EXPECT_THAT(RepairWithoutManifest(), IsEmpty());
  EXPECT_EQ(Scan(OpenKeyspace("small")), "key=later");
}

// Keys that differ only in their keyspaces stay apart, with the range deletes of each.
TEST_F(RepairKeyspacesTest, MixesNothing) {
  for (const bool has_manifest : {true, false}) {
    SCOPED_TRACE(has_manifest);
    ASSERT_NO_FATAL_FAILURE(OpenNew());
    ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
    Keyspace own = OpenKeyspace("own"), a = OpenKeyspace("a"), b = OpenKeyspace("b");
    for (const bool is_flushed : {true, false}) {
      const std::string key = is_flushed ? "k1" : "k2";
      Put(key, "of default");
      ASSERT_OK(own.Put(key, "of own"));
      ASSERT_OK(a.Put(key, "of a"));
      ASSERT_OK(b.Put(key, "of b"));
      if (is_flushed) Flush();
      ASSERT_OK(a.DeleteRange("k", std::nullopt));
      if (is_flushed) {
        ASSERT_OK(own.DeleteRange("k", "k2"));
      }
      ASSERT_OK(own.DeleteRange("key", std::nullopt));
      if (is_flushed) Flush();
    }
    ASSERT_NO_FATAL_FAILURE(Close());
    EXPECT_THAT(has_manifest ? Repair() : RepairWithoutManifest(), IsEmpty());
    EXPECT_EQ(Scan(), "k1=of default k2=of default");
    EXPECT_EQ(Scan(OpenKeyspace("own")), "k2=of own");
    EXPECT_EQ(Scan(OpenKeyspace("a")), "");
    EXPECT_EQ(Scan(OpenKeyspace("b")), "k1=of b k2=of b");
  }
}

// --- refusals ---

// OK would mean that the store opens.
TEST_F(RepairKeyspacesTest, OptionsThatAnOpeningRefuses) {
  Open();
  OpenKeyspace("a");
  WriteBatch batch;
  EncodedBatch::Change(&batch, {KeyspaceChange::Kind::kOptions, 2, "", {.expire_after = 1}});
  ASSERT_OK(db_->Write(batch));
  ASSERT_NO_FATAL_FAILURE(Close());
  const std::map<std::string, std::string> before = world_.FilesIn();
  EXPECT_THAT(DB::Repair(kStorePath, options_),
              StatusIs(absl::StatusCode::kUnimplemented,
                       HasSubstr(Concat(kStorePath,
                                        ": the keyspace \"a\" has "
                                        "KeyspaceOptions::expire_after"))));
  EXPECT_EQ(world_.FilesIn(), before);
}

// Own options act on the tables that Repair writes.
TEST_F(RepairKeyspacesTest, WritesTablesWithTheOptionsOfTheirKeyspace) {
  Open();
  OpenKeyspace("own", {.filter_kind = "none"});
  ASSERT_NO_FATAL_FAILURE(MakeOwn("own"));
  ASSERT_NO_FATAL_FAILURE(Close());
  RepairWithoutManifest();
  uint64_t filter_bytes = 0;
  const KeyspaceStatistics statistics = OpenKeyspace("own").GetStatistics();
  EXPECT_TRUE(statistics.has_own_tree);
  for (const LevelStatistics& level : statistics.levels) filter_bytes += level.filter_bytes;
  EXPECT_EQ(filter_bytes, 0u);
}

}  // namespace
}  // namespace lsm
