// Repairs of stores with range deletes, which stand in logs, or in tables that the tests forge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "tests/lsm/store/forged_store.h"
#include "tests/lsm/table/table_ranges.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RepairRangesTest : public ForgedStoreTest {
 protected:
  // Level 0 has [d, h)@28 and [p, end)@29 as well.
  void MakeStore() {
    ForgedStoreTest::MakeStore();
    SetRanges(newest_, {{"d", "h", 28}, {"p", std::nullopt, 29}});
  }
  static constexpr const char* kVisible = "a=1 b=1 c=2 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1";

  // The table keeps its entries.
  void SetRanges(uint64_t table, const std::vector<RangeDelete>& ranges) {
    StoreForger forger = Forger();
    forger.SetEntries(table, forger.EntriesOf(table), RangeMap::Of(ranges));
    Sequence last = 0;
    for (const RangeDelete& range : ranges) last = std::max(last, range.sequence);
    forger.ChangeManifest(
        [&](VersionEdit* edit) { edit->last_sequence = std::max(*edit->last_sequence, last); });
  }

  // Opens the store and writes to its log: [a, c)@30, b@31, [n, end)@32.
  void LogRanges() {
    Open();
    WriteBatch batch;
    batch.DeleteRange("a", "c");
    batch.Put("b", "4");
    batch.DeleteRange("n", std::nullopt);
    ASSERT_OK(db_->Write(batch));
  }

  static std::string EntryKey(std::string_view key, Sequence sequence) {
    std::string internal_key;
    AppendInternalKey(&internal_key, key, sequence, EntryKind::kPut);
    return internal_key;
  }

  void Flip(uint64_t table, uint64_t offset) {
    const std::string path = Forger().PathOf(table);
    std::string bytes = world_.files->FileBytes(path);
    bytes[offset] ^= 0x10;
    world_.files->SetFileBytes(path, bytes);
  }

  void RemoveManifest() {
    const auto directory = world_.files->OpenDirectory(kStorePath, /*create=*/false).value();
    const std::vector<std::string> names = directory->List().value();
    ASSERT_OK(directory->Remove("CURRENT"));
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      if (!parsed || parsed->kind != FileKind::kManifest) continue;
      ASSERT_OK(directory->Remove(name));
    }
  }

  // Opens the store after the repair.  It must be sound, and later writes must be visible.
  std::vector<std::string> Repair(const std::string& visible) {
    std::vector<std::string> left_out = RepairAndOpen();
    if (db_ == nullptr) return {};
    EXPECT_EQ(Scan(), visible);
    for (char key = 'a'; key <= 'z'; ++key) {
      const bool is_visible = visible.find(std::string{key, '='}) != std::string::npos;
      EXPECT_EQ(Get(std::string(1, key)) != "absent", is_visible) << key;
    }
    EXPECT_OK(db_->Put("q", "3"));
    EXPECT_EQ(Get("q"), "3");
    ExpectSound();
    db_ = nullptr;
    return left_out;
  }

  // The range deletes of all tables of a level, in the order of their numbers.
  std::vector<RangeMap> RangesOfLevel(size_t level) {
    std::vector<RangeMap> ranges;
    const ManifestState state = Forger().State();
    for (const auto& [number, meta] : state.levels[level])
      ranges.push_back(Forger().RangesOf(number));
    return ranges;
  }
  std::vector<RangeMap> AllRanges() {
    std::vector<RangeMap> all;
    for (size_t level = 0; level < kLevels; ++level) {
      for (RangeMap& ranges : RangesOfLevel(level)) {
        if (!ranges.empty()) all.push_back(std::move(ranges));
      }
    }
    return all;
  }
  RangeMap NewestRangesOfStore() { return RangesOf({{"d", "h", 28}, {"p", std::nullopt, 29}}); }
};

TEST_F(RepairRangesTest, SoundTablesKeepTheirs) {
  MakeStore();
  EXPECT_THAT(Repair(kVisible), IsEmpty());
  EXPECT_THAT(RangesOfLevel(0), ElementsAre(NewestRangesOfStore()));
}

// --- merges of everything ---

TEST_F(RepairRangesTest, ApplyWithoutAManifest) {
  MakeStore();
  RemoveManifest();
  Repair(kVisible);
  EXPECT_THAT(AllRanges(), IsEmpty());
  EXPECT_GE(Forger().State().last_sequence, 29u) << "their numbers are not reused";
}

TEST_F(RepairRangesTest, HideOnlyOlderEntries) {
  MakeStore();
  SetRanges(newest_, {});
  SetRanges(low_, {{"a", "z", 20}});  // in the middle of those of the other table
  RemoveManifest();
  Repair("c=2 t=1 u=1 v=1 w=1 x=1 y=1 z=1");
  EXPECT_THAT(AllRanges(), IsEmpty());
}

TEST_F(RepairRangesTest, ApplyIfLevelsContradict) {
  MakeStore();
  Forger().ChangeRecord(newest_, [](VersionEdit::Added* added) { added->level = 3; });
  EXPECT_THAT(Repair(kVisible), ElementsAre(HasSubstr("is newer than the entry above it")));
  EXPECT_THAT(AllRanges(), IsEmpty());
}

// A table with ranges alone that lies below what it hides is a contradiction, too.
TEST_F(RepairRangesTest, ApplyIfOnlyTheyContradict) {
  MakeStore();
  Forger().SetEntries(newest_, {}, NewestRangesOfStore());
  Forger().ChangeRecord(newest_, [](VersionEdit::Added* added) { added->level = 3; });
  EXPECT_THAT(Repair("a=1 b=1 c=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1"),
              ElementsAre(HasSubstr("the range delete in")));
}

TEST_F(RepairRangesTest, ApplyBeforeEntriesAreNumberedAgain) {
  MakeStore();
  static constexpr Sequence kLast = kSequenceMax;
  Forger().SetEntries(newest_, {{EntryKey("c", kLast), "2"}}, RangesOf({{"b", "h", kLast - 1}}));
  Forger().ChangeManifest([](VersionEdit* edit) { edit->last_sequence = kLast; });
  EXPECT_THAT(Repair("a=1 c=2 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1 r=1 s=1 t=1 u=1 v=1 w=1 x=1 "
                     "y=1 z=1"),
              ElementsAre(HasSubstr("numbered again")));
  EXPECT_THAT(AllRanges(), IsEmpty());
  EXPECT_LT(Forger().State().last_sequence, 100u);
}

// The number of a range alone may leave no room.
TEST_F(RepairRangesTest, MayHaveTheLastOfAllSequences) {
  MakeStore();
  SetRanges(newest_, {{"d", std::nullopt, (uint64_t{1} << 56) - 1}});
  EXPECT_THAT(Repair("a=1 b=1 c=2"), ElementsAre(HasSubstr("numbered again")));
}

// --- merges of level 0 ---

TEST_F(RepairRangesTest, StayInAMergeOfLevelZero) {
  MakeStore();
  Open();
  Put("f", "2");
  Put("m", "2");
  Flush();
  db_ = nullptr;
  const uint64_t second = Forger().State().levels[0].rbegin()->first;
  SetRanges(second, {{"e", "g", 40}, {"k", "l", 41}});
  Flip(second, kTableHeaderBytes + 3);  // its only block
  // Its entries are lost.  Its ranges are newer than those of the other table.
  EXPECT_THAT(Repair("a=1 b=1 c=2 h=1 i=1 j=1 l=1 m=1 n=1 o=1"),
              ElementsAre(HasSubstr(Forger().PathOf(second))));
  EXPECT_THAT(RangesOfLevel(0),
              ElementsAre(RangesOf(
                  {{"d", "h", 28}, {"e", "g", 40}, {"k", "l", 41}, {"p", std::nullopt, 29}})));
}

// --- rescued tables ---

TEST_F(RepairRangesTest, StayIfNoEntryIsLeft) {
  MakeStore();
  Flip(newest_, kTableHeaderBytes + 3);  // the block of c@27
  EXPECT_THAT(Repair("a=1 b=1 c=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1"),
              ElementsAre(AllOf(HasSubstr(Forger().PathOf(newest_)), HasSubstr("keys up to"))));
  EXPECT_THAT(RangesOfLevel(0), ElementsAre(NewestRangesOfStore()));
  EXPECT_FALSE(Forger().State().levels[0].begin()->second.has_entries());
}

TEST_F(RepairRangesTest, StayInATableOfADeeperLevel) {
  MakeStore();
  const RangeMap ranges = RangesOf({{"a", "c", 13}, {"k", "m0", 14}});
  Forger().SetEntries(low_, Forger().EntriesOf(low_), ranges);
  Flip(low_, Forger().FooterOf(low_).filter.offset + 40);
  EXPECT_THAT(Repair("c=2 h=1 i=1 j=1 n=1 o=1"), ElementsAre(HasSubstr(Forger().PathOf(low_))));
  EXPECT_THAT(RangesOfLevel(1), Contains(ranges));
  EXPECT_THAT(RangesOfLevel(0), ElementsAre(NewestRangesOfStore()));
}

TEST_F(RepairRangesTest, StayIfPropertiesContradictThem) {
  MakeStore();
  Forger().ChangeProperties(newest_, [](TableProperties* p, Footer*) { ++p->range_deletes; });
  EXPECT_THAT(Repair(kVisible), ElementsAre(HasSubstr("range_deletes")));
  EXPECT_THAT(RangesOfLevel(0), ElementsAre(NewestRangesOfStore()));
}

// --- damaged ranges ---

TEST_F(RepairRangesTest, DamagedOnesBringDeletedKeysBack) {
  MakeStore();
  const uint64_t offset = Forger().FooterOf(newest_).ranges.offset;
  Flip(newest_, offset);
  EXPECT_FALSE(OpenStatus().ok());
  EXPECT_THAT(Repair("a=1 b=1 c=2 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1 r=1 s=1 "
                     "t=1 u=1 v=1 w=1 x=1 y=1 z=1"),
              ElementsAre(AllOf(HasSubstr(Concat(Forger().PathOf(newest_), ": offset ", offset)),
                                HasSubstr("(2 range deletes from \"d\" to the last key: keys that "
                                          "they deleted may be back)"))));
  EXPECT_THAT(AllRanges(), IsEmpty());
}

TEST_F(RepairRangesTest, DamagedOnesAreNamedWithoutAManifest) {
  MakeStore();
  Flip(newest_, Forger().FooterOf(newest_).ranges.offset);
  RemoveManifest();
  EXPECT_THAT(
      Repair("a=1 b=1 c=2 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1 r=1 s=1 "
             "t=1 u=1 v=1 w=1 x=1 y=1 z=1"),
      Contains(HasSubstr("(the table's range deletes: keys that they deleted may be back)")));
}

TEST_F(RepairRangesTest, ALostTableNamesThemToo) {
  MakeStore();
  world_.files->SetFileBytes(Forger().PathOf(newest_), "nothing of the table");
  EXPECT_THAT(
      Repair("a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1 r=1 s=1 t=1 u=1 "
             "v=1 w=1 x=1 y=1 z=1"),
      ElementsAre(AllOf(HasSubstr(Forger().PathOf(newest_)),
                        HasSubstr("keys that they deleted may be back"))));
}

// --- records ---

TEST_F(RepairRangesTest, AreComparedWithTheirRecord) {
  MakeStore();
  Forger().ChangeRecord(newest_, [](VersionEdit::Added* added) {
    added->table.ranges.begin = "e";
    ++added->table.ranges.range_count;
  });
  EXPECT_FALSE(OpenStatus().ok());
  EXPECT_THAT(Repair(kVisible),
              ElementsAre(HasSubstr("the manifest says range deletes 3 range deletes from \"e\" to "
                                    "the last key, the table has 2 range deletes from \"d\" to the "
                                    "last key")));
}

TEST_F(RepairRangesTest, CountForTheLastSequence) {
  MakeStore();
  Forger().ChangeManifest([](VersionEdit* edit) { edit->last_sequence = 27; });
  EXPECT_FALSE(OpenStatus().ok());
  EXPECT_THAT(Repair(kVisible),
              ElementsAre(HasSubstr("the manifest says last sequence 27, the table has 29")));
}

// --- old tables and logs ---

TEST_F(RepairRangesTest, HideObsoleteTablesThatAreStillThere) {
  MakeStore();
  const std::string old = world_.files->FileBytes(Forger().PathOf(low_));
  const std::string path = Concat(kStorePath, "/", TableFileName(900));
  RemoveManifest();
  world_.files->SetFileBytes(path, old);
  Repair(kVisible);
}

TEST_F(RepairRangesTest, OfLogsStayInLevelZero) {
  MakeStore();
  LogRanges();
  EXPECT_THAT(Repair("b=4 c=2 h=1 i=1 j=1 k=1 l=1 m=1"), IsEmpty());
  EXPECT_THAT(RangesOfLevel(0), ElementsAre(NewestRangesOfStore(),
                                            RangesOf({{"a", "c", 30}, {"n", std::nullopt, 32}})));
}

TEST_F(RepairRangesTest, OfLogsApplyWithoutAManifest) {
  MakeStore();
  LogRanges();
  db_ = nullptr;
  RemoveManifest();
  Repair("b=4 c=2 h=1 i=1 j=1 k=1 l=1 m=1");
  EXPECT_THAT(AllRanges(), IsEmpty());
}

}  // namespace
}  // namespace lsm
