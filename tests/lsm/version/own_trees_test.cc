// Versions with several trees: which tables belong to which, and what an edit replaces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/threads/epoch.h"
#include "lsm/version/version.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/lsm/version/tree_fixture.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing_support::StatusIs;

class OwnTreesTest : public TreeFixture {
 protected:
  // A table of one put, whose value is the id.
  std::shared_ptr<const OpenTable> TableOf(KeyspaceId keyspace, uint64_t number, std::string key,
                                           Sequence sequence) {
    maker_.keyspace = keyspace;
    return maker_.Make(number, {PutOf(std::move(key), sequence, std::to_string(keyspace))});
  }
  // Trees of ids 0, 5 and 7.
  std::shared_ptr<const Version> ThreeTrees() {
    std::array<OpenTables, kLevels> levels;
    levels[0] = {TableOf(7, 1, "k", 40), TableOf(0, 2, "k", 20), TableOf(5, 3, "k", 30)};
    levels[1] = {TableOf(5, 4, "k", 2), TableOf(7, 5, "k", 1), TableOf(7, 6, "m", 3)};
    return Version::Create(std::move(levels)).value();
  }
  static std::vector<KeyspaceId> IdsOf(const Version& version) {
    std::vector<KeyspaceId> ids;
    for (const auto& [id, tree] : version.trees()) ids.push_back(id);
    return ids;
  }
  std::string Get(const Tree& tree, std::string_view key) {
    const EpochGuard guard;
    KeyLookup lookup(key, kSequenceMax, TableMaker::kDigestSeed);
    tree.Get(&lookup, {}, &maker_.counters);
    return TextOf(lookup);
  }
};

TEST_F(OwnTreesTest, TablesGoToTheTreesOfTheirKeyspaces) {
  const auto version = ThreeTrees();
  EXPECT_THAT(IdsOf(*version), ElementsAre(0, 5, 7));
  for (const auto& [id, tree] : version->trees()) {
    EXPECT_EQ(tree->keyspace(), id);
    EXPECT_EQ(version->TreeOf(id), tree.get());
    EXPECT_EQ(Get(*tree, "k"), std::to_string(id));
  }
  EXPECT_EQ(version->TreeOf(0), version->default_tree().get());
  for (const KeyspaceId id : {1, 4, 6, 8}) EXPECT_EQ(version->TreeOf(id), nullptr) << id;
  EXPECT_THAT(NumbersOf(version->TreeOf(7)->level(0)), ElementsAre(1));
  EXPECT_THAT(NumbersOf(version->TreeOf(7)->level(1)), ElementsAre(5, 6));
  EXPECT_EQ(Get(*version->TreeOf(5), "m"), "absent");
  EXPECT_THAT(NumbersOf(version->Levels()[0]), UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(NumbersOf(version->Levels()[1]), UnorderedElementsAre(4, 5, 6));
  uint64_t bytes = 0;
  for (const OpenTables& level : version->Levels()) {
    for (const auto& table : level) bytes += table->meta.file_bytes;
  }
  EXPECT_EQ(version->bytes(), bytes);
}

TEST_F(OwnTreesTest, TheDefaultTreeIsThereWithoutTables) {
  const auto version = Version::Create({}).value();
  EXPECT_THAT(IdsOf(*version), ElementsAre(0));
  ASSERT_NE(version->default_tree(), nullptr);
  EXPECT_THAT(version->default_tree()->level(0), IsEmpty());
  EXPECT_EQ(version->TreeOf(1), nullptr);
}

TEST_F(OwnTreesTest, EditsShareTreesThatTheyDoNotTouch) {
  const auto base = ThreeTrees();
  const auto added = TableOf(7, 8, "n", 50);
  VersionEdit edit;
  edit.removed.push_back({1, 5});
  edit.added.push_back({0, added->meta});
  const auto next = base->After(edit, {added}).value();
  EXPECT_EQ(next->TreeOf(0), base->TreeOf(0));
  EXPECT_EQ(next->default_tree(), base->default_tree());
  EXPECT_EQ(next->TreeOf(5), base->TreeOf(5));
  EXPECT_THAT(NumbersOf(next->TreeOf(7)->level(0)), ElementsAre(8, 1));
  EXPECT_THAT(NumbersOf(next->TreeOf(7)->level(1)), ElementsAre(6));
  EXPECT_THAT(NumbersOf(base->TreeOf(7)->level(1)), ElementsAre(5, 6)) << "the base stays";
}

TEST_F(OwnTreesTest, RemovalsAndMovesTouchTheTreeOfTheirTables) {
  const auto base = ThreeTrees();
  VersionEdit removal;
  removal.removed.push_back({0, 2});
  const auto without = base->After(removal, {}).value();
  EXPECT_THAT(without->default_tree()->level(0), IsEmpty());
  EXPECT_EQ(without->TreeOf(5), base->TreeOf(5));
  EXPECT_EQ(without->TreeOf(7), base->TreeOf(7));
  VersionEdit move;
  const auto& table = base->TreeOf(5)->level(1).front();
  move.removed.push_back({1, 4});
  move.added.push_back({2, table->meta});
  const auto moved = base->After(move, {}).value();
  EXPECT_THAT(moved->TreeOf(5)->level(1), IsEmpty());
  EXPECT_THAT(moved->TreeOf(5)->level(2), ElementsAre(table));
  EXPECT_EQ(moved->TreeOf(0), base->TreeOf(0));
  EXPECT_EQ(moved->TreeOf(7), base->TreeOf(7));
}

TEST_F(OwnTreesTest, EditsOfSeveralTreesReplaceThese) {
  const auto base = ThreeTrees();
  const OpenTables outputs = {TableOf(0, 8, "a", 60), TableOf(6, 9, "k", 61)};
  VersionEdit edit;
  for (const auto& table : outputs) edit.added.push_back({0, table->meta});
  const auto next = base->After(edit, outputs).value();
  EXPECT_THAT(IdsOf(*next), ElementsAre(0, 5, 6, 7)) << "a table makes the tree of a new keyspace";
  EXPECT_EQ(Get(*next->TreeOf(6), "k"), "6");
  EXPECT_EQ(next->default_tree().get(), next->TreeOf(0));
  EXPECT_THAT(NumbersOf(next->default_tree()->level(0)), ElementsAre(8, 2));
  EXPECT_EQ(next->TreeOf(5), base->TreeOf(5));
  EXPECT_EQ(next->TreeOf(7), base->TreeOf(7));
}

KeyspaceRecord RecordOf(KeyspaceId id, bool has_own_tree) {
  return {.id = id, .has_own_tree = has_own_tree, .options = {}, .name = std::to_string(id)};
}

TEST_F(OwnTreesTest, MembersAreInTheCommonTree) {
  KeyspaceRecords records;
  ASSERT_EQ(records.Advance(10), "");
  ASSERT_EQ(records.Put(RecordOf(2, /*has_own_tree=*/true)), "");
  ASSERT_EQ(records.Put(RecordOf(3, /*has_own_tree=*/false)), "");
  const auto base = Version::Create({}, records).value();
  EXPECT_THAT(IdsOf(*base), ElementsAre(0, 2)) << "an own tree needs no table";
  EXPECT_THAT(base->members()->ids(), ElementsAre(3));
  EXPECT_EQ(base->TreeWith(0), base->default_tree().get());
  EXPECT_EQ(base->TreeWith(2), base->TreeOf(2));
  EXPECT_EQ(base->TreeWith(3), nullptr);

  const auto table = TableOf(kCommonTree, 4, CommonKeyOf(3, "k"), 7);
  VersionEdit edit;
  edit.added.push_back({0, table->meta});
  edit.keyspaces = {RecordOf(4, /*has_own_tree=*/false), RecordOf(5, /*has_own_tree=*/true)};
  const auto next = base->After(edit, {table}).value();
  EXPECT_THAT(IdsOf(*next), ElementsAre(0, 1, 2, 5));
  EXPECT_THAT(next->members()->ids(), ElementsAre(3, 4));
  EXPECT_EQ(next->TreeWith(3), next->TreeOf(kCommonTree));
  EXPECT_TRUE(next->TreeWith(4)->is_common());
  EXPECT_EQ(next->TreeWith(4)->members(), next->members().get());
  EXPECT_THAT(next->TreeOf(kCommonTree)->needless(), IsEmpty());
  EXPECT_GT(next->ApproximateBytes(3, "", std::nullopt), 0u);
  EXPECT_EQ(next->ApproximateBytes(4, "", std::nullopt), 0u);

  // Other options, and nothing else.
  VersionEdit options;
  options.keyspaces = {RecordOf(3, /*has_own_tree=*/false)};
  const auto same = next->After(options, {}).value();
  EXPECT_EQ(same->members(), next->members());
  EXPECT_EQ(same->TreeOf(kCommonTree), next->TreeOf(kCommonTree));

  VersionEdit drops;
  drops.dropped_keyspaces = {2, 3};
  const auto last = next->After(drops, {}).value();
  EXPECT_THAT(IdsOf(*last), ElementsAre(0, 1, 5));
  EXPECT_THAT(last->members()->ids(), ElementsAre(4));
  EXPECT_THAT(next->members()->ids(), ElementsAre(3, 4)) << "the base stays";
  ASSERT_EQ(last->TreeOf(kCommonTree)->needless().size(), 1u) << "all of the table is dead";
  EXPECT_EQ(last->TreeOf(kCommonTree)->needless()[0].table, table);
  EXPECT_EQ(last->TreeOf(kCommonTree)->needless()[0].hidden_from, 0u);

  // One leaves the common tree.
  VersionEdit leaving;
  leaving.keyspaces = {RecordOf(4, /*has_own_tree=*/true)};
  const auto left = last->After(leaving, {}).value();
  EXPECT_THAT(left->members()->ids(), IsEmpty());
  EXPECT_FALSE(left->TreeWith(4)->is_common());
}

TEST_F(OwnTreesTest, TablesOfTwoTreesMayOverlap) {
  const auto low = TableOf(0, 1, "a", 9), high = TableOf(5, 2, "a", 8);
  const auto version =
      Version::Create({{{low, high}, {TableOf(0, 3, "b", 1), TableOf(5, 4, "b", 2)}}});
  EXPECT_OK(version.status());
  // Ages in level 0, and overlaps below it, are checked within each tree.
  EXPECT_THAT(Version::Create({{{TableOf(5, 5, "a", 9), TableOf(5, 6, "a", 8)}}}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("newer writes")));
  const auto overlapping = TableOf(5, 7, "b", 3);
  VersionEdit edit;
  edit.added.push_back({1, overlapping->meta});
  EXPECT_THAT((*version)->After(edit, {overlapping}).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("overlap")));
}

TEST_F(OwnTreesTest, VersionsOfATreeShareItsReads) {
  const auto base = ThreeTrees();
  EXPECT_EQ(Get(*base->TreeOf(5), "k"), "5");
  const auto added = TableOf(5, 9, "m", 60);
  VersionEdit edit;
  edit.added.push_back({0, added->meta});
  const auto next = base->After(edit, {added}).value();
  EXPECT_NE(next->TreeOf(5), base->TreeOf(5));
  EXPECT_EQ(&next->TreeOf(5)->reads(), &base->TreeOf(5)->reads());
  EXPECT_EQ(Get(*base->TreeOf(5), "k"), "5") << "a reader of the older one";
  EXPECT_EQ(next->TreeOf(5)->LookupsSoFar(&maker_.counters), 2u);
  EXPECT_EQ(next->TreeOf(7)->LookupsSoFar(&maker_.counters), 0u);
  EXPECT_EQ(next->TreeOf(0)->LookupsSoFar(&maker_.counters), 0u);
  EXPECT_EQ(Get(*next->TreeOf(0), "k"), "0");
  EXPECT_EQ(next->TreeOf(0)->LookupsSoFar(&maker_.counters), 1u);
  // As in DB::Resume.
  const auto again = Version::Create(next->Levels(), {}, next.get()).value();
  EXPECT_EQ(again->TreeOf(5)->LookupsSoFar(&maker_.counters), 2u);
  EXPECT_EQ(Version::Create(next->Levels()).value()->TreeOf(5)->LookupsSoFar(nullptr), 0u);
}

// In level 0 a lookup asks each table, or reads it for nothing, until one answers.
TEST_F(OwnTreesTest, LookupsCountWastedReadsOfLevel0) {
  std::array<OpenTables, kLevels> levels;
  maker_.target_fpp = 0.000001;
  levels[0] = {maker_.Make(4, {PutOf("a", 8), PutOf("z", 9)}),
               maker_.Make(3, {PutOf("a", 6), PutOf("k", 6), PutOf("z", 7)})};
  maker_.filter_kind = "";
  levels[0].push_back(maker_.Make(2, {PutOf("a", 4), PutOf("z", 5)}));
  levels[1] = {maker_.Make(1, {PutOf("a", 1), PutOf("m", 2), PutOf("z", 3)})};
  const auto tree = Tree::Create(std::move(levels), 5).value();
  const auto counts_are = [&](uint64_t lookups, uint64_t asks, uint64_t reads) {
    const TreeCounters& counters = tree->reads().counters;
    EXPECT_EQ(counters.SumOf(TreeCounters::kLookups), lookups);
    EXPECT_EQ(counters.SumOf(TreeCounters::kLevel0Asks), asks);
    EXPECT_EQ(counters.SumOf(TreeCounters::kLevel0Reads), reads);
  };
  Get(*tree, "zz");  // beyond all spans
  counts_are(1, 0, 0);
  Get(*tree, "a");  // answered by the newest
  counts_are(2, 0, 0);
  Get(*tree, "k");  // by the second one
  counts_are(3, 1, 0);
  Get(*tree, "m");  // by level 1
  counts_are(4, 3, 1);
  Get(*tree, "n");  // by none
  counts_are(5, 5, 2);
  EXPECT_EQ(maker_.counters.SumOf(0, LevelCounts::kReadsAvoided), 0u) << "of the default tree";
}

TEST_F(OwnTreesTest, OwnTreesStayWithoutTables) {
  const auto base = ThreeTrees();
  VersionEdit edit;
  edit.removed = {{0, 2}, {0, 3}, {1, 4}};
  const auto next = base->After(edit, {}).value();
  EXPECT_THAT(IdsOf(*next), ElementsAre(0, 5, 7));
  EXPECT_TRUE(next->TreeOf(5)->empty());
  EXPECT_EQ(next->fullest_tree(), next->TreeOf(7));
  const auto added = TableOf(5, 8, "k", 50);
  VersionEdit flush;
  flush.added.push_back({0, added->meta});
  EXPECT_EQ(Get(*next->After(flush, {added}).value()->TreeOf(5), "k"), "5");
}

TEST_F(OwnTreesTest, TheLastTableOfTheCommonTreeTakesItAlong) {
  KeyspaceRecords records;
  ASSERT_EQ(records.Advance(10), "");
  ASSERT_EQ(records.Put(RecordOf(3, /*has_own_tree=*/false)), "");
  const auto table = TableOf(kCommonTree, 4, CommonKeyOf(3, "k"), 7);
  const auto base = Version::Create({{{table}}}, records).value();
  EXPECT_THAT(IdsOf(*base), ElementsAre(0, 1));
  VersionEdit edit;
  edit.removed = {{0, 4}};
  const auto next = base->After(edit, {}).value();
  EXPECT_THAT(IdsOf(*next), ElementsAre(0));
  EXPECT_EQ(next->TreeWith(3), nullptr);
  EXPECT_THAT(next->members()->ids(), ElementsAre(3));
  EXPECT_EQ(next->ApproximateBytes(3, "", std::nullopt), 0u);
  const auto added = TableOf(kCommonTree, 8, CommonKeyOf(3, "k"), 50);
  VersionEdit flush;
  flush.added.push_back({0, added->meta});
  EXPECT_TRUE(next->After(flush, {added}).value()->TreeWith(3)->is_common());
}

TEST_F(OwnTreesTest, DroppedKeyspacesLoseTheirTrees) {
  const auto base = ThreeTrees();
  VersionEdit edit;
  edit.dropped_keyspaces = {5};
  edit.removed = {{1, 4}};  // a compaction that the drop overtook
  const auto next = base->After(edit, {}).value();
  EXPECT_THAT(IdsOf(*next), ElementsAre(0, 7));
  EXPECT_EQ(next->TreeOf(7), base->TreeOf(7));
}

TEST_F(OwnTreesTest, CountsTheFiltersBesideATree) {
  const auto version = ThreeTrees();
  uint64_t all = 0;
  for (const auto& [id, tree] : version->trees()) {
    uint64_t of_tree = 0;
    for (int level = 0; level < kLevels; ++level) {
      for (const auto& table : tree->level(level))
        of_tree += table->table->filter_bytes() + table->table->index_bytes();
    }
    EXPECT_EQ(tree->filter_index_bytes(), of_tree);
    all += of_tree;
  }
  for (const auto& [id, tree] : version->trees())
    EXPECT_EQ(version->FilterIndexBytesBeside(id), all - tree->filter_index_bytes());
  EXPECT_EQ(version->FilterIndexBytesBeside(6), all) << "without a tree";
}

}  // namespace
}  // namespace lsm
