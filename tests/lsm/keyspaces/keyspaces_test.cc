// Keyspaces of one store: creation, changes, writes and reads, and what an opening finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/explanation.h"
#include "lsm/filter_goal.h"
#include "lsm/keyspace.h"
#include "lsm/pinned_value.h"
#include "lsm/snapshot.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/write_batch.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::StatusIs;

// --- making them ---

TEST_F(KeyspacesTest, EachHasItsOwnKeys) {
  Open();
  MakeOwnTrees({"a", "b"});
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  EXPECT_EQ(a.name(), "a");
  Put("key", "of default");
  ASSERT_OK(a.Put("key", "of a"));
  ASSERT_OK(b.Put("key", "of b"));
  ASSERT_OK(b.Put("other", "of b"));
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);  // in the memtable, in level 0, after a compaction
    EXPECT_EQ(Get("key"), "of default");
    EXPECT_EQ(Get("other"), "absent");
    EXPECT_EQ(Get(a, "key"), "of a");
    EXPECT_EQ(Get(a, "other"), "absent");
    EXPECT_EQ(Get(b, "key"), "of b");
    EXPECT_EQ(Scan(), "key=of default");
    EXPECT_EQ(Scan(a), "key=of a");
    EXPECT_EQ(Scan(b), "key=of b other=of b");
    if (pass == 0) Flush();
    if (pass == 1) {
      ASSERT_OK(b.CompactRange());
    }
  }
  EXPECT_EQ(a.GetStatistics().levels[0].tables, 1u) << "only the tree of \"b\" is compacted";
  EXPECT_EQ(b.GetStatistics().levels[0].tables, 0u);
  EXPECT_EQ(b.GetStatistics().levels[1].tables, 1u);
  EXPECT_TRUE(a.GetStatistics().has_own_tree);
}

TEST_F(KeyspacesTest, OneNameIsOneKeyspace) {
  Open();
  Keyspace first = OpenKeyspace("a");
  ASSERT_OK(first.Put("key", "value"));
  EXPECT_EQ(Get(OpenKeyspace("a"), "key"), "value");
  EXPECT_THAT(List(), ElementsAre("a", "default"));
}

TEST_F(KeyspacesTest, TheDefaultOneHasAHandle) {
  Open();
  Put("key", "value");
  Keyspace keyspace = OpenKeyspace("default");
  EXPECT_EQ(Get(keyspace, "key"), "value");
  ASSERT_OK(keyspace.Delete("key"));
  EXPECT_EQ(Get("key"), "absent");
  EXPECT_THAT(List(), ElementsAre("default"));
  Flush();
  EXPECT_FALSE(StateOnDisk().keyspaces.any());
}

TEST_F(KeyspacesTest, NamesAreAnyBytes) {
  Open();
  std::string all_bytes;
  for (int c = 255; c > 0; --c) all_bytes += static_cast<char>(c);
  const std::vector<std::string> names = {
      std::string(1, '\0'), std::string("\0\0", 2), " ", "/", "../a", "\n", all_bytes,
      std::string(255, 'x')};
  for (const std::string& name : names) ASSERT_OK(OpenKeyspace(name).Put("key", name));
  for (int pass = 0; pass < 2; ++pass) {
    for (const std::string& name : names) EXPECT_EQ(Get(OpenKeyspace(name), "key"), name);
    std::set<std::string> expected(names.begin(), names.end());
    expected.insert("default");
    EXPECT_EQ(List(), std::vector<std::string>(expected.begin(), expected.end()));
    ASSERT_NO_FATAL_FAILURE(Open());
  }
  for (const std::string& name : {std::string(), std::string(256, 'x')}) {
    EXPECT_THAT(db_->OpenKeyspace(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(Concat("has ", name.size(), " bytes: it must have 1 to 255"))));
  }
}

TEST_F(KeyspacesTest, OptionsOutOfRangeAreRefused) {
  Open();
  const auto refused = [&](std::string_view name, const KeyspaceOptions& options,
                           const std::string& text) {
    EXPECT_THAT(db_->OpenKeyspace(name, options),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text)));
  };
  refused("a", {.filter_kind = "no such kind"}, "KeyspaceOptions::filter_kind");
  refused("a", {.target_fpp = 0.6}, "KeyspaceOptions::target_fpp is 0.6");
  refused("a", {.compression = static_cast<Compression>(2)}, "KeyspaceOptions::compression");
  refused("a", {.compaction_style = static_cast<CompactionStyle>(3)},
          "KeyspaceOptions::compaction_style");
  const std::string of_default = "keyspace \"default\": filters, compression and style of";
  refused("default", {.filter_kind = "ribbon"}, of_default);
  refused("default", {.target_fpp = 0.1}, of_default);
  refused("default", {.compression = Compression::kNone}, of_default);
  refused("default", {.compaction_style = CompactionStyle::kTiered}, of_default);
  EXPECT_THAT(List(), ElementsAre("default"));
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  ASSERT_NO_FATAL_FAILURE(Open());
  refused("a", {.filter_kind = "none"}, "KeyspaceOptions::filter_kind is none");
  // The store keeps the options of keyspaces, but not those of DB::Open.
  options_.filter_goal = FilterGoal();
  ASSERT_NO_FATAL_FAILURE(Open());
  OpenKeyspace("a", {.filter_kind = "none"});
  db_ = nullptr;
  options_.filter_goal = FilterGoal::BitsPerKey(10);
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("keyspace \"a\": KeyspaceOptions::filter_kind is none")));
  options_.filter_goal = FilterGoal();
  ASSERT_NO_FATAL_FAILURE(Open());
}

// --- reopening ---

TEST_F(KeyspacesTest, SurviveReopening) {
  Open();
  Keyspace a = OpenKeyspace("a");
  ASSERT_OK(a.Put("in a table", "1"));
  Flush();
  ASSERT_OK(a.Put("in a log", "2"));
  OpenKeyspace("empty");
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    ASSERT_NO_FATAL_FAILURE(Open());
    EXPECT_THAT(List(), ElementsAre("a", "default", "empty"));
    EXPECT_EQ(Scan(OpenKeyspace("a")), "in a log=2 in a table=1");
    EXPECT_EQ(Scan(OpenKeyspace("empty")), "");
    EXPECT_EQ(Scan(), "");
  }
}

TEST_F(KeyspacesTest, ReadOnlyOpeningsSeeThem) {
  Open();
  Keyspace a = OpenKeyspace("a", {.compression = Compression::kNone});
  ASSERT_OK(a.Put("in a table", "1"));
  Flush();
  ASSERT_OK(OpenKeyspace("b").Put("in a log", "2"));
  ASSERT_OK(a.Put("in a log", "2"));
  db_ = nullptr;
  options_.mode = OpenMode::kReadOnly;
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_THAT(List(), ElementsAre("a", "b", "default"));
  a = OpenKeyspace("a", {.compression = Compression::kNone});
  EXPECT_EQ(Scan(a), "in a log=2 in a table=1");
  EXPECT_EQ(Scan(OpenKeyspace("b")), "in a log=2");
  EXPECT_THAT(a.Put("key", "value"), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(db_->OpenKeyspace("c"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("keyspace \"c\"")));
  EXPECT_THAT(db_->OpenKeyspace("a", {.compression = Compression::kLz4}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other options")));
}

// --- options ---

TEST_F(KeyspacesTest, UnsetOptionsStay) {
  const KeyspaceOptions all = {"ribbon", 0.25, Compression::kNone, CompactionStyle::kTiered};
  Open();
  OpenKeyspace("a", all);
  OpenKeyspace("b");
  Flush();
  EXPECT_EQ(OptionsOnDisk("a"), all);
  EXPECT_EQ(OptionsOnDisk("b"), KeyspaceOptions());
  const std::vector<KeyspaceOptions> changes = {{},
                                                {.filter_kind = "blocked"},
                                                {.target_fpp = 0.125},
                                                {.compression = Compression::kLz4},
                                                {.compaction_style = CompactionStyle::kLeveled}};
  KeyspaceOptions expected = all;
  for (size_t i = 0; i < changes.size(); ++i) {
    SCOPED_TRACE(i);
    const auto& [filter_kind, target_fpp, compression, style, refused] = changes[i];
    ASSERT_FALSE(refused);
    if (filter_kind) expected.filter_kind = filter_kind;
    if (target_fpp) expected.target_fpp = target_fpp;
    if (compression) expected.compression = compression;
    if (style) expected.compaction_style = style;
    OpenKeyspace("a", changes[i]);
    OpenKeyspace("a");
    // By a flush, by the replay of a log, or after both.
    if (i % 2 == 0) Flush();
    if (i % 3 != 0) {
      ASSERT_NO_FATAL_FAILURE(Open());
    }
    OpenKeyspace("a");
    Flush();
    EXPECT_EQ(OptionsOnDisk("a"), expected);
    EXPECT_EQ(OptionsOnDisk("b"), KeyspaceOptions());
  }
}

// The kind of filter, the target and the compression act only on the keyspace's own tree.
TEST_F(KeyspacesTest, OptionsActInTheOwnTree) {
  options_.filter_kind = "blocked";
  Open();
  MakeOwnTrees({"a", "b"});
  Keyspace a = OpenKeyspace("a", {.filter_kind = "standard"}), b = OpenKeyspace("b");
  const auto fill = [&] {
    for (int i = 0; i < 100; ++i) {
      const std::string key = std::to_string(i);
      Put(key, std::string(100, 'v'));
      ASSERT_OK(a.Put(key, std::string(100, 'v')));
      ASSERT_OK(b.Put(key, std::string(100, 'v')));
    }
    Flush();
  };
  const auto newest = [](const Keyspace& keyspace) { return keyspace.GetStatistics().levels[0]; };
  fill();
  EXPECT_THAT(newest(a).filter_kind, HasSubstr("standard"));
  EXPECT_THAT(newest(b).filter_kind, HasSubstr("blocked"));
  const uint64_t compressed = newest(a).table_bytes;

  ASSERT_NO_FATAL_FAILURE(Open());
  a = OpenKeyspace("a", {.target_fpp = 0.25, .compression = Compression::kNone});
  b = OpenKeyspace("b");
  fill();
  EXPECT_THAT(newest(a).filter_kind, HasSubstr("standard"));
  EXPECT_GT(newest(a).table_bytes, compressed + 100 * 90) << "the second table is not compressed";
  EXPECT_LT(newest(b).table_bytes, 100 * 90u);
  EXPECT_GT(newest(a).target_fpp, 0.1);
  EXPECT_LT(newest(b).target_fpp, 0.1);
  // A compaction uses these options, too.
  ASSERT_OK(a.CompactRange());
  EXPECT_GT(a.GetStatistics().table_bytes, 100u * 90);
  EXPECT_THAT(a.GetStatistics().levels[1].filter_kind, HasSubstr("standard"));
  EXPECT_GT(a.GetStatistics().levels[1].target_fpp, 0.2);
  // And so does an opening that replays a log.
  ASSERT_OK(a.Put("in the log", std::string(5000, 'v')));
  ASSERT_OK(b.Put("in the log", std::string(5000, 'v')));
  const uint64_t compressed_b = newest(b).table_bytes;
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(newest(OpenKeyspace("a")).tables, 1u);
  EXPECT_GT(newest(OpenKeyspace("a")).table_bytes, 5000u);
  EXPECT_EQ(newest(OpenKeyspace("b")).tables, 3u);
  EXPECT_LT(newest(OpenKeyspace("b")).table_bytes, compressed_b + 2500);
}

// A tiered tree merges tables of level 0 into further runs; a leveled one has one run.
TEST_F(KeyspacesTest, EachTreeIsCompactedByItsStyle) {
  options_.level0_compaction_tables = 2;
  options_.compression = Compression::kNone;
  Open();
  MakeOwnTrees({"tiered", "leveled"});
  const std::string filler(1'000, 'v');
  Keyspace tiered = OpenKeyspace("tiered", {.compaction_style = CompactionStyle::kTiered});
  Keyspace leveled = OpenKeyspace("leveled");
  for (int i = 0; i < 12; ++i) {
    for (const char* const key : {"a", "m", "z"}) {
      ASSERT_OK(tiered.Put(key, std::to_string(i)));
      ASSERT_OK(leveled.Put(key, std::to_string(i)));
      // Large enough that the next flush does not take the table along.
      ASSERT_OK(tiered.Put(Concat("t", key), filler));
      ASSERT_OK(leveled.Put(Concat("t", key), filler));
    }
    Flush();
    ASSERT_OK(db_->WaitForBackgroundWork());
  }
  const KeyspaceStatistics of_tiered = tiered.GetStatistics();
  const KeyspaceStatistics of_leveled = leveled.GetStatistics();
  EXPECT_EQ(of_leveled.levels[1].runs, 1u);
  EXPECT_EQ(of_leveled.levels[2].runs, 0u);
  EXPECT_GT(of_tiered.levels[2].runs + of_tiered.levels[3].runs, 0u);
  for (const Keyspace& keyspace : {tiered, leveled})
    EXPECT_TRUE(Scan(keyspace).starts_with("a=11 m=11 ta=")) << Scan(keyspace);
}

// --- ids ---

TEST_F(KeyspacesTest, IdsAreNeverGivenAgain) {
  std::set<KeyspaceId> ids;
  for (int i = 0; i < 6; ++i) {
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(Open());
    const std::string name = Concat("keyspace ", i);
    ASSERT_OK(OpenKeyspace(name).Put("key", name));
    if (i % 2 == 0) Flush();
    if (i % 3 == 0) {
      ASSERT_NO_FATAL_FAILURE(Open());
    }
    Flush();
    const std::optional<KeyspaceRecord> record = RecordOnDisk(name);
    ASSERT_TRUE(record);
    EXPECT_TRUE(ids.insert(record->id).second) << record->id;
    EXPECT_GE(record->id, kOtherKeyspaceMin);
    EXPECT_GT(StateOnDisk().keyspaces.next_id(), record->id);
  }
  for (int i = 0; i < 6; ++i) {
    const std::string name = Concat("keyspace ", i);
    EXPECT_EQ(Scan(OpenKeyspace(name)), Concat("key=", name));
  }
}

// --- batches ---

TEST_F(KeyspacesTest, BatchesGoOverSeveral) {
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  ASSERT_OK(b.Put("m", "old"));
  WriteBatch batch;
  batch.Put("k", "1");
  batch.Put(a, "k", "2");
  batch.Put(a, "gone", "2");
  batch.Delete(a, "gone");
  batch.Put(b, "k", "3");
  batch.DeleteRange(b, "l", "z");
  WriteBatch more;
  more.Put(b, "z", "4");
  batch.Append(more);
  ASSERT_OK(db_->Write(batch));
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(Scan(), "k=1");
    EXPECT_EQ(Scan(a), "k=2");
    EXPECT_EQ(Scan(b), "k=3 z=4");
    EXPECT_EQ(Get(b, "m"), "absent");
    if (pass == 0) {
      ASSERT_NO_FATAL_FAILURE(Open());
      a = OpenKeyspace("a");
      b = OpenKeyspace("b");
    } else {
      ASSERT_OK(b.CompactRange());
    }
  }
}

TEST_F(KeyspacesTest, BatchesOfAnotherDBAreRefused) {
  Open();
  WriteBatch batch, unnamed;
  batch.Put("key", "of default");
  batch.Put(OpenKeyspace("a"), "key", "value");
  unnamed.Put(Keyspace(), "key", "value");
  EXPECT_THAT(unnamed.status(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(db_->Write(unnamed), StatusIs(absl::StatusCode::kFailedPrecondition));
  // The same store, and perhaps an engine at the same address.
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_THAT(db_->Write(batch),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a\" of another DB")));
  WriteBatch outer;
  outer.Append(batch);
  EXPECT_THAT(db_->Write(outer), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(Get("key"), "absent");
  batch.Clear();
  batch.Put("key", "value");
  EXPECT_OK(db_->Write(batch));
}

// --- handles ---

TEST_F(KeyspacesTest, HandlesOutliveTheDB) {
  Open();
  Keyspace a = OpenKeyspace("a");
  ASSERT_OK(a.Put("key", "value"));
  Flush();
  const std::unique_ptr<Iterator> iterator = a.NewIterator();
  ASSERT_OK(db_->Close());
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);
    const auto closed = StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed"));
    EXPECT_EQ(a.name(), "a");
    EXPECT_THAT(a.Put("key", "value"), closed);
    EXPECT_THAT(a.Delete("key"), closed);
    EXPECT_THAT(a.DeleteRange("a", "b"), closed);
    EXPECT_THAT(a.Get("key"), closed);
    const std::string_view key = "key";
    EXPECT_THAT(a.MultiGet({&key, 1}), ElementsAre(closed));
    EXPECT_THAT(a.NewIterator()->status(), closed);
    EXPECT_THAT(a.CompactRange(), closed);
    EXPECT_THAT(a.Explain("key"), closed);
    EXPECT_EQ(a.ApproximateBytes(), 0u);
    EXPECT_FALSE(a.GetStatistics().has_own_tree);
    if (pass == 0) {
      EXPECT_THAT(db_->OpenKeyspace("a"), closed);
      EXPECT_THAT(db_->OpenKeyspace("b"), closed);
      EXPECT_THAT(db_->ListKeyspaces(), closed);
    }
    db_ = nullptr;
  }
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->value(), "value");
}

TEST_F(KeyspacesTest, AHandleOfNoStoreRefusesEachCall) {
  Keyspace none;
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("belongs to no store"));
  EXPECT_EQ(none.name(), "");
  EXPECT_THAT(none.Put("key", "value"), refused);
  EXPECT_THAT(none.Delete("key"), refused);
  EXPECT_THAT(none.DeleteRange("a", "b"), refused);
  EXPECT_THAT(none.Get("key"), refused);
  std::string value;
  EXPECT_THAT(none.Get("key", &value), refused);
  PinnedValue pinned;
  EXPECT_THAT(none.Get("key", &pinned), refused);
  const std::string_view key = "key";
  EXPECT_THAT(none.MultiGet({&key, 1}), ElementsAre(refused));
  EXPECT_THAT(none.NewIterator()->status(), refused);
  EXPECT_THAT(none.CompactRange(), refused);
  EXPECT_THAT(none.Explain("key"), refused);
  EXPECT_EQ(none.ApproximateBytes(), 0u);
  EXPECT_FALSE(none.GetStatistics().has_own_tree);
}

// --- reads ---

TEST_F(KeyspacesTest, SnapshotsAreOfAll) {
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  ASSERT_OK(a.Put("key", "1"));
  ASSERT_OK(b.Put("key", "1"));
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  const ReadOptions then = {.snapshot = snapshot.get()};
  Keyspace later = OpenKeyspace("later");
  ASSERT_OK(a.Put("key", "2"));
  ASSERT_OK(b.DeleteRange("", std::nullopt));
  ASSERT_OK(later.Put("key", "2"));
  for (int pass = 0; pass < 3; ++pass) {
    SCOPED_TRACE(pass);
    EXPECT_EQ(Get(a, "key", then), "1");
    EXPECT_EQ(Get(b, "key", then), "1");
    EXPECT_EQ(Get(later, "key", then), "absent");
    EXPECT_EQ(Scan(a, then), "key=1");
    EXPECT_EQ(Scan(b, then), "key=1");
    EXPECT_EQ(Scan(later, then), "");
    EXPECT_EQ(Get(a, "key"), "2");
    EXPECT_EQ(Get(b, "key"), "absent");
    EXPECT_EQ(Scan(later), "key=2");
    if (pass == 0) Flush();
    if (pass == 1) {
      for (Keyspace keyspace : {a, b, later}) ASSERT_OK(keyspace.CompactRange());
    }
  }
}

TEST_F(KeyspacesTest, IteratorsKeepTheirMomentAndBounds) {
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  for (const char* const key : {"k1", "k2", "k3"}) {
    Put(key, "0");
    ASSERT_OK(a.Put(key, "1"));
    ASSERT_OK(b.Put(key, "2"));
  }
  EXPECT_EQ(Scan(a, {.lower_bound = "k2"}), "k2=1 k3=1");
  EXPECT_EQ(Scan(a, {.upper_bound = "k2"}), "k1=1");
  const std::unique_ptr<Iterator> iterator = a.NewIterator();
  ASSERT_OK(a.Put("k2", "new"));
  ASSERT_OK(a.DeleteRange("k3", std::nullopt));
  Flush();
  EXPECT_EQ(ScanOf(*iterator), "k1=1 k2=1 k3=1");
  EXPECT_EQ(Scan(a), "k1=1 k2=new");
  EXPECT_EQ(Scan(b), "k1=2 k2=2 k3=2");
}

// A walk over deleted keys of one keyspace tells nothing about those of another, whose iterators
// meet deleted keys in the same place.
TEST_F(KeyspacesTest, GapsAreOfOneKeyspace) {
  Open();
  Keyspace a = OpenKeyspace("a");
  for (int i = 100; i < 300; ++i) {
    const std::string key = std::to_string(i);
    Put(key, "default");
    ASSERT_OK(a.Put(key, "a"));
    if (i > 100) Delete(key);
    if (i > 100 && i < 200) {
      ASSERT_OK(a.Delete(key));
    }
  }
  const auto count = [](std::unique_ptr<Iterator> iterator) {
    int entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++entries;
    return entries;
  };
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(count(db_->NewIterator()), 1);
    EXPECT_EQ(count(a.NewIterator()), 101);
  }
  EXPECT_GT(db_->GetStatistics().gap_jumps, 0u);
  // The other way round.
  Put("150", "again");
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(count(a.NewIterator()), 101);
    EXPECT_EQ(count(db_->NewIterator()), 2);
  }
}

TEST_F(KeyspacesTest, MultiGetAndExplainAreOfOneKeyspace) {
  Open();
  Keyspace a = OpenKeyspace("a");
  Put("1", "default");
  Put("2", "default");
  ASSERT_OK(a.Put("2", "a"));
  ASSERT_OK(a.Put("3", "a"));
  const std::vector<std::string_view> keys = {"1", "2", "3"};
  using Value = absl::StatusOr<std::optional<std::string>>;
  for (int pass = 0; pass < 2; ++pass) {
    SCOPED_TRACE(pass);
    std::vector<std::string> shown;
    for (const Value& value : a.MultiGet(keys)) shown.push_back(value.value().value_or("absent"));
    for (const Value& value : db_->MultiGet(keys))
      shown.push_back(value.value().value_or("absent"));
    EXPECT_THAT(shown, ElementsAre("absent", "a", "a", "default", "default", "absent"));
    ASSERT_OK_AND_ASSIGN(const Explanation found, a.Explain("3"));
    EXPECT_TRUE(found.found);
    ASSERT_OK_AND_ASSIGN(const Explanation absent, a.Explain("1"));
    EXPECT_FALSE(absent.found);
    EXPECT_EQ(absent.tables_by_level[0], pass == 0 ? 0u : 1u);
    std::string value;
    ASSERT_OK_AND_ASSIGN(const bool copied, a.Get("2", &value));
    EXPECT_TRUE(copied && value == "a");
    PinnedValue pinned;
    ASSERT_OK_AND_ASSIGN(const bool is_pinned, a.Get("3", &pinned));
    EXPECT_TRUE(is_pinned && pinned.view() == "a");
    Flush();
  }
  EXPECT_GT(a.ApproximateBytes(), 0u);
  EXPECT_EQ(OpenKeyspace("b").ApproximateBytes(), 0u);
}

TEST_F(KeyspacesTest, RangeDeletesHideOlderEntriesOfTheirKeyspace) {
  Open();
  Keyspace a = OpenKeyspace("a"), b = OpenKeyspace("b");
  const auto fill = [&] {
    for (const char* const key : {"k1", "k2", "k3"}) {
      ASSERT_OK(a.Put(key, "1"));
      ASSERT_OK(b.Put(key, "2"));
    }
  };
  for (int pass = 0; pass < 4; ++pass) {
    SCOPED_TRACE(pass);
    fill();
    if (pass > 0) Flush();
    ASSERT_OK(a.DeleteRange("k1", "k3"));
    if (pass > 1) Flush();
    if (pass > 2) {
      ASSERT_OK(a.CompactRange());
    }
    EXPECT_EQ(Get(a, "k2"), "absent");
    const std::string_view key = "k2";
    EXPECT_EQ(a.MultiGet({&key, 1})[0].value(), std::nullopt);
    EXPECT_EQ(Scan(a), "k3=1");
    EXPECT_EQ(Scan(b), "k1=2 k2=2 k3=2");
  }
}

// --- failures ---

TEST_F(KeyspacesTest, SurviveResume) {
  Open();
  Keyspace a = OpenKeyspace("a", {.target_fpp = 0.25});
  ASSERT_OK(a.Put("key", "1"));
  Flush();
  Keyspace b = OpenKeyspace("b");
  ASSERT_OK(b.Put("key", "2"));
  Fail(FileOperation::kSyncFile, ".log");
  EXPECT_FALSE(db_->Put("key", "lost", {.sync = true}).ok());
  EXPECT_THAT(db_->OpenKeyspace("c"), StatusIs(absl::StatusCode::kAborted));
  world_.files->SetFault(nullptr);
  ASSERT_OK(db_->Resume());
  EXPECT_EQ(Scan(a), "key=1");
  EXPECT_EQ(Scan(b), "key=2");
  EXPECT_EQ(OptionsOnDisk("a"), KeyspaceOptions{.target_fpp = 0.25});
  EXPECT_THAT(List(), ElementsAre("a", "b", "default"));
  ASSERT_OK(OpenKeyspace("c").Put("key", "3"));
  ASSERT_NO_FATAL_FAILURE(Open());
  EXPECT_EQ(Scan(OpenKeyspace("a")), "key=1");
  EXPECT_EQ(Scan(OpenKeyspace("b")), "key=2");
  EXPECT_EQ(Scan(OpenKeyspace("c")), "key=3");
}

// After Resume, the keyspace can be created as if the first call had not been made.
TEST_F(KeyspacesTest, AFailedCreationMakesNoHandle) {
  Open();
  Put("key", "value");
  Fail(FileOperation::kAppend, ".log");
  EXPECT_THAT(db_->OpenKeyspace("a"), StatusIs(absl::StatusCode::kUnknown));
  world_.files->SetFault(nullptr);
  EXPECT_THAT(List(), ElementsAre("default"));
  ASSERT_OK(db_->Resume());
  ASSERT_OK(OpenKeyspace("a").Put("key", "value"));
  EXPECT_EQ(Scan(OpenKeyspace("a")), "key=value");
}

TEST_F(KeyspacesTest, VerifyFindsNothingWrong) {
  Open();
  Keyspace a = OpenKeyspace("a");
  ASSERT_OK(a.Put("key", "value"));
  Flush();
  ASSERT_OK(a.Put("key", "in the log"));
  ASSERT_OK(OpenKeyspace("b", {.target_fpp = 0.1}).Put("key", "in the log"));
  ASSERT_OK_AND_ASSIGN(const VerifyReport report, db_->Verify());
  EXPECT_THAT(report.problems, testing::IsEmpty());
}

}  // namespace
}  // namespace lsm
