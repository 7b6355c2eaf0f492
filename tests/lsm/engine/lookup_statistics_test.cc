// The store's exact counts and explanations, in small cases made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "lsm/block/format.h"
#include "lsm/log/log_format.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LookupStatisticsTest : public StoreTest {
 protected:
  // Level 1: a-m.  Level 0: g-s, then c-d (newest).  Memtable: "memtable".
  void MakeTree() {
    options_.compression = Compression::kNone;
    // The FPP is so low that none of the absent keys below is a false positive.
    options_.target_fpp = 0.000001;
    Open();
    for (const char* key : {"a", "c", "m"}) Put(key, "level 1");
    CompactAll();
    for (const char* key : {"g", "s"}) Put(key, "older");
    Flush();
    Put("c", "newer");
    Delete("d");
    Flush();
    Put("memtable", "in it");
  }
  Statistics Now() { return db_->GetStatistics(); }
};

TEST_F(LookupStatisticsTest, MemtableLookupsReadNoTable) {
  MakeTree();
  EXPECT_EQ(Get("memtable"), "in it");
  Delete("gone");
  EXPECT_EQ(Get("gone"), "absent");
  const Statistics now = Now();
  EXPECT_EQ(now.lookups, 2u);
  EXPECT_EQ(now.lookups_found, 1u);
  EXPECT_EQ(now.memtable_hits, 2u);
  EXPECT_EQ(now.total.lookups, 0u);
  EXPECT_EQ(now.total.tables_considered, 0u);
}

TEST_F(LookupStatisticsTest, UsefulReadsEndTheLookup) {
  MakeTree();
  EXPECT_EQ(Get("c"), "newer");
  Statistics now = Now();
  EXPECT_EQ(now.lookups_found, 1u);
  EXPECT_EQ(now.levels[0].lookups, 1u);
  EXPECT_EQ(now.levels[0].tables_considered, 1u);
  EXPECT_EQ(now.levels[0].useful_reads, 1u);
  EXPECT_EQ(now.levels[0].blocks_from_file, 1u);
  EXPECT_GT(now.levels[0].bytes_from_file, 10u);
  EXPECT_EQ(now.levels[0].blocks_from_cache, 0u);
  EXPECT_EQ(now.levels[1].lookups, 0u);
  EXPECT_EQ(Get("c"), "newer");
  now = Now();
  EXPECT_EQ(now.levels[0].blocks_from_file, 1u);
  EXPECT_EQ(now.levels[0].blocks_from_cache, 1u);
  // A tombstone is an answer, too.
  EXPECT_EQ(Get("d"), "absent");
  now = Now();
  EXPECT_EQ(now.levels[0].useful_reads, 3u);
  EXPECT_EQ(now.lookups_found, 2u);
  EXPECT_EQ(now.total.lookups, 3u);
}

TEST_F(LookupStatisticsTest, FiltersAvoidReadsOnTheWayDown) {
  MakeTree();
  EXPECT_EQ(Get("m"), "level 1");
  const Statistics now = Now();
  EXPECT_EQ(now.levels[0].tables_considered, 1u);  // g-s
  EXPECT_EQ(now.levels[0].reads_avoided, 1u);
  EXPECT_EQ(now.levels[0].blocks_from_file, 0u);
  EXPECT_EQ(now.levels[1].lookups, 1u);
  EXPECT_EQ(now.levels[1].tables_considered, 1u);
  EXPECT_EQ(now.levels[1].useful_reads, 1u);
  EXPECT_EQ(now.total.wasted_reads, 0u);
  EXPECT_EQ(now.total.observed_fpp(), 0.0);
}

TEST_F(LookupStatisticsTest, CountsAbsentKeysInsideAndOutsideRanges) {
  MakeTree();
  EXPECT_EQ(Get("h"), "absent");   // within g-s and a-m
  EXPECT_EQ(Get("c5"), "absent");  // within c-d and a-m
  EXPECT_EQ(Get("z"), "absent");   // beyond all
  const Statistics now = Now();
  EXPECT_EQ(now.lookups, 3u);
  EXPECT_EQ(now.lookups_found, 0u);
  EXPECT_EQ(now.levels[0].lookups, 3u);
  EXPECT_EQ(now.levels[0].tables_considered, 2u);
  EXPECT_EQ(now.levels[0].reads_avoided, 2u);
  EXPECT_EQ(now.levels[1].lookups, 3u);
  EXPECT_EQ(now.levels[1].tables_considered, 2u);
  EXPECT_EQ(now.levels[1].reads_avoided, 2u);
  EXPECT_EQ(now.levels[2].lookups, 0u);
  EXPECT_EQ(now.total.tables_considered, 4u);
  EXPECT_EQ(now.total.blocks_from_file, 0u);
}

TEST_F(LookupStatisticsTest, ReadsEveryTableWithoutFilters) {
  options_.filter_kind = "none";
  MakeTree();
  EXPECT_EQ(Get("h"), "absent");
  EXPECT_EQ(Get("m"), "level 1");
  const Statistics now = Now();
  EXPECT_EQ(now.total.reads_avoided, 0u);
  EXPECT_EQ(now.levels[0].wasted_reads, 2u);
  EXPECT_EQ(now.levels[1].wasted_reads, 1u);
  EXPECT_EQ(now.levels[1].useful_reads, 1u);
  EXPECT_EQ(now.total.filters_absent, 4u);
  EXPECT_EQ(now.total.false_positives, 0u);
  EXPECT_EQ(now.total.target_fpp, 0.0);
  EXPECT_EQ(now.total.filter_bytes, 0u);
}

TEST_F(LookupStatisticsTest, ReadsFiltersOfSeveralKinds) {
  std::vector<std::string> kinds = {"none", "by-level"};
  bloom::KeyedKinds::ForEach([&]<class Kind>(Kind) { kinds.emplace_back(Kind::kName); });
  for (const std::string& kind : kinds) {
    options_.filter_kind = kind;
    Open();
    Put("a", kind);
    // Enough keys that every kind pays off.
    for (int i = 0; i < 1000; ++i) Put(Concat("k ", kind, i), kind);
    Put("z", kind);
    Flush();
  }
  for (const std::string& kind : kinds) {
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(Get(Concat("k ", kind, i)), kind);
  }
  EXPECT_EQ(Now().total.filters_damaged, 0u);
}

TEST_F(LookupStatisticsTest, FalsePositivesMatchThePrediction) {
  options_.target_fpp = 0.1;
  options_.write_buffer_bytes = 8 << 20;
  Open();
  for (int i = 0; i < 20000; ++i) Put(Concat("k", 100000 + 2 * i), "v");
  Flush();
  for (int i = 0; i < 19999; ++i) ASSERT_EQ(Get(Concat("k", 100001 + 2 * i)), "absent");
  const Statistics now = Now();
  EXPECT_EQ(now.total.reads_avoided + now.total.wasted_reads, 19999u);
  EXPECT_EQ(now.total.false_positives, now.total.wasted_reads);
  EXPECT_NEAR(now.total.observed_fpp(), now.total.predicted_fpp, 0.01);
  EXPECT_DOUBLE_EQ(now.total.target_fpp, 0.1);
  EXPECT_LE(now.total.predicted_fpp, 0.105);
}

TEST_F(LookupStatisticsTest, DamagedFiltersAreCountedAndPass) {
  MakeTree();
  CompactAll();  // one table
  db_ = nullptr;
  const std::string path = world_.FilesOf(FileKind::kTable)[0];
  std::string bytes = world_.files->FileBytes(path);
  ASSERT_OK_AND_ASSIGN(const Footer footer,
                       Footer::Decode(std::string_view(bytes).substr(bytes.size() - kFooterBytes),
                                      bytes.size(), path));
  bytes[footer.filter.offset + 5] ^= 1;
  world_.files->SetFileBytes(path, bytes);
  Open();
  EXPECT_EQ(Get("m"), "level 1");
  EXPECT_EQ(Get("h"), "absent");
  const Statistics now = Now();
  EXPECT_EQ(now.total.filters_damaged, 2u);
  EXPECT_EQ(now.total.useful_reads, 1u);
  EXPECT_EQ(now.total.wasted_reads, 1u);
  EXPECT_EQ(now.total.false_positives, 0u);  // no usable filter let it through
  ASSERT_OK_AND_ASSIGN(const Explanation explanation, db_->Explain("h"));
  ASSERT_EQ(explanation.tables.size(), 1u);
  EXPECT_EQ(explanation.tables[0].filter, FilterVerdict::kDamaged);
  EXPECT_EQ(explanation.tables[0].outcome, "absent");
  // A compaction repairs it.
  Delete("a");
  CompactAll();
  EXPECT_EQ(Get("h"), "absent");
  EXPECT_EQ(Now().total.filters_damaged, 3u);
}

TEST_F(LookupStatisticsTest, NewerVersionsAreNoFalsePositives) {
  options_.target_fpp = 0.000001;
  // Each block holds one version, so the newer versions are in a block before the one that the
  // lookup reaches.
  options_.block_bytes = 256;
  Open();
  Put("a", "1");
  Put("z", "1");
  Flush();
  const std::unique_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  Put("a", "1");
  std::vector<std::unique_ptr<const Snapshot>> snapshots;
  for (int i = 0; i < 3; ++i) {
    Put("m", std::string(300, 'v'));
    snapshots.push_back(db_->GetSnapshot());
  }
  Put("z", "1");
  Flush();
  EXPECT_EQ(Get("m", {.snapshot = snapshot.get()}), "absent");
  Statistics now = Now();
  EXPECT_EQ(now.total.wasted_reads, 1u);
  EXPECT_EQ(now.total.false_positives, 0u);
  EXPECT_EQ(now.total.observed_fpp(), 0.0);
  // In the older table the filter's "no" counts as usual.
  EXPECT_EQ(now.total.reads_avoided, 1u);
}

TEST_F(LookupStatisticsTest, FewLookupsDoubtTheFilters) {
  MakeTree();
  constexpr int kOneIn = 65'537;
  for (int i = 1; i < kOneIn; ++i) Get("h");
  EXPECT_EQ(Now().filter_denials_checked, 0u);
  EXPECT_EQ(Now().total.blocks_from_file, 0u);
  Get("h");
  Statistics now = Now();
  EXPECT_EQ(now.filter_denials_checked, 2u);
  EXPECT_EQ(now.filter_false_negatives, 0u);
  EXPECT_EQ(now.total.blocks_from_file, 2u);
  EXPECT_EQ(now.total.reads_avoided, 2u * kOneIn);
  EXPECT_EQ(now.total.wasted_reads, 0u);
  EXPECT_THAT(now.ToText(), HasSubstr("denials of filters that were checked"));
  const std::vector<std::string_view> keys(kOneIn, "h");
  for (const auto& answer : db_->MultiGet(keys)) ASSERT_OK(answer);
  EXPECT_EQ(Now().filter_denials_checked, 4u);
  // Each key gets its turn to be checked, even with other lookups in between.
  for (int i = 0; i < kOneIn; ++i) {
    Get("h");
    Get("memtable");
  }
  EXPECT_EQ(Now().filter_denials_checked, 6u);
}

TEST_F(LookupStatisticsTest, MultiGetCountsEachKey) {
  MakeTree();
  const std::vector<std::string_view> keys = {"c", "h", "memtable"};
  for (const auto& answer : db_->MultiGet(keys)) ASSERT_OK(answer);
  const Statistics now = Now();
  EXPECT_EQ(now.lookups, 3u);
  EXPECT_EQ(now.lookups_found, 2u);
  EXPECT_EQ(now.memtable_hits, 1u);
  EXPECT_EQ(now.total.lookups, 2u);
  EXPECT_EQ(now.total.tables_considered, 3u);
  EXPECT_EQ(now.total.useful_reads, 1u);
  EXPECT_EQ(now.total.reads_avoided, 2u);
}

TEST_F(LookupStatisticsTest, DescribesTheState) {
  MakeTree();
  const Statistics now = Now();
  EXPECT_EQ(now.levels[0].tables, 2u);
  EXPECT_EQ(now.levels[0].entries, 4u);
  EXPECT_EQ(now.levels[1].tables, 1u);
  EXPECT_EQ(now.levels[1].entries, 3u);
  EXPECT_EQ(now.levels[1].keys, 3u);
  EXPECT_EQ(now.total.keys, 7u);
  EXPECT_EQ(now.total.entries, 7u);
  EXPECT_GT(now.total.filter_bytes, 0u);
  EXPECT_GT(now.total.index_bytes, 0u);
  EXPECT_DOUBLE_EQ(now.total.target_fpp, 0.000001);
  uint64_t file_bytes = 0;
  for (const std::string& path : world_.FilesOf(FileKind::kTable))
    file_bytes += world_.files->FileBytes(path).size();
  EXPECT_EQ(now.total.table_bytes, file_bytes);
  EXPECT_GT(now.memtable_bytes, 0u);
  EXPECT_EQ(now.block_cache_capacity_bytes, options_.block_cache_bytes);
  EXPECT_EQ(now.block_cache_bytes, 0u);
  Get("c");
  EXPECT_GT(Now().block_cache_bytes, 0u);
}

TEST_F(LookupStatisticsTest, CountsWrites) {
  Open();
  Put("ab", "cde");  // 5 bytes
  WriteBatch batch;
  batch.Put("k", "v");
  batch.Delete("key");
  ASSERT_OK(db_->Write(batch, {.sync = true}));  // 5 bytes
  const Statistics now = Now();
  EXPECT_EQ(now.writes, 2u);
  EXPECT_EQ(now.write_entries, 3u);
  EXPECT_EQ(now.write_groups, 2u);
  EXPECT_EQ(now.user_bytes_written, 10u);
  const std::vector<std::string> logs = world_.FilesOf(FileKind::kLog);
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_EQ(now.log_bytes_written, world_.files->FileBytes(logs[0]).size() - kLogHeaderBytes);
  EXPECT_EQ(now.log_syncs, 1u);
  // Nothing but a sync.
  ASSERT_OK(db_->Write({}, {.sync = true}));
  EXPECT_EQ(Now().log_bytes_written, now.log_bytes_written);
  EXPECT_EQ(Now().write_groups, 2u);
  EXPECT_EQ(Now().log_syncs, 2u);
  Flush();
  EXPECT_EQ(Now().flushes, 1u);
  EXPECT_EQ(Now().flush_bytes_written, Now().total.table_bytes);
  Put("ab", "x");
  const uint64_t before = Now().total.table_bytes;
  CompactAll();
  EXPECT_EQ(Now().compactions, 1u);
  EXPECT_GT(Now().compaction_bytes_read, before);
  EXPECT_EQ(Now().compaction_bytes_written, Now().total.table_bytes);
  EXPECT_GT(Now().write_amplification(), 1.0);
}

TEST_F(LookupStatisticsTest, CountsIteratorsSeparately) {
  MakeTree();
  Put("c", "newest");
  CompactAll();
  const Statistics before = Now();
  EXPECT_EQ(before.scan_blocks_from_file, 0u);  // a compaction is no scan
  EXPECT_EQ(before.scan_bytes_from_file, 0u);
  Scan();
  const Statistics now = Now();
  EXPECT_EQ(now.iterators, 1u);
  EXPECT_EQ(now.lookups, 0u);
  EXPECT_EQ(now.scan_blocks_from_file - before.scan_blocks_from_file, 1u);
  EXPECT_EQ(now.total.blocks_from_file, 0u);
}

// --- Explain ---

TEST_F(LookupStatisticsTest, ExplainsFailedLookupsUpToTheFailure) {
  MakeTree();
  const std::string broken = world_.FilesOf(FileKind::kTable)[0];
  Fail(FileOperation::kReadAt, broken);
  ASSERT_OK_AND_ASSIGN(const Explanation explanation, db_->Explain("m"));
  world_.files->SetFault(nullptr);
  EXPECT_FALSE(explanation.found);
  EXPECT_THAT(explanation.error, HasSubstr(Concat(broken, ": broken")));
  ASSERT_EQ(explanation.tables.size(), 2u);
  EXPECT_EQ(explanation.tables[0].outcome, "skipped");
  EXPECT_EQ(explanation.tables[1].outcome, "failed");
  EXPECT_THAT(explanation.ToText(), HasSubstr(Concat("UNKNOWN: ", explanation.error)));
  EXPECT_THAT(explanation.ToJson(), HasSubstr("\"error\""));
}

TEST_F(LookupStatisticsTest, ExplainsEveryStep) {
  MakeTree();
  ASSERT_OK_AND_ASSIGN(Explanation explanation, db_->Explain("m"));
  EXPECT_EQ(explanation.key, "m");
  EXPECT_TRUE(explanation.found);
  EXPECT_EQ(explanation.value_bytes, 7u);
  EXPECT_EQ(explanation.sequence, 8u);
  ASSERT_EQ(explanation.memtables.size(), 1u);
  EXPECT_EQ(explanation.memtables[0].outcome, "absent");
  EXPECT_THAT(explanation.tables_by_level, ElementsAre(2, 1, 0, 0, 0, 0, 0));
  ASSERT_EQ(explanation.tables.size(), 2u);
  const TableStep& skipped = explanation.tables[0];
  EXPECT_EQ(skipped.level, 0);
  EXPECT_EQ(skipped.smallest_key, "g");
  EXPECT_EQ(skipped.largest_key, "s");
  EXPECT_EQ(skipped.filter, FilterVerdict::kNo);
  EXPECT_EQ(skipped.outcome, "skipped");
  EXPECT_THAT(skipped.blocks, IsEmpty());
  const TableStep& read = explanation.tables[1];
  EXPECT_EQ(read.level, 1);
  EXPECT_EQ(read.filter, FilterVerdict::kMaybe);
  EXPECT_EQ(read.outcome, "put");
  EXPECT_EQ(read.sequence, 3u);
  ASSERT_EQ(read.blocks.size(), 1u);
  EXPECT_FALSE(read.blocks[0].from_cache);
  EXPECT_EQ(explanation.answered_by, Concat("table ", read.table_number, " at level 1"));
  ASSERT_OK_AND_ASSIGN(explanation, db_->Explain("m"));
  EXPECT_TRUE(explanation.tables[1].blocks[0].from_cache);
  EXPECT_EQ(Now().lookups, 2u);  // it makes the lookup, and counts
}

TEST_F(LookupStatisticsTest, ExplainNamesMemtablesTombstonesAndMissingKeys) {
  MakeTree();
  ASSERT_OK_AND_ASSIGN(Explanation explanation, db_->Explain("memtable"));
  EXPECT_EQ(explanation.answered_by, "memtable");
  EXPECT_EQ(explanation.memtables[0].outcome, "put");
  EXPECT_THAT(explanation.tables, IsEmpty());
  ASSERT_OK_AND_ASSIGN(explanation, db_->Explain("d"));
  EXPECT_FALSE(explanation.found);
  EXPECT_EQ(explanation.tables.back().outcome, "delete");
  EXPECT_THAT(explanation.answered_by, HasSubstr("at level 0"));
  ASSERT_OK_AND_ASSIGN(explanation, db_->Explain("z"));
  EXPECT_FALSE(explanation.found);
  EXPECT_EQ(explanation.answered_by, "");
  const auto snapshot = db_->GetSnapshot();
  Delete("memtable");
  ASSERT_OK_AND_ASSIGN(explanation, db_->Explain("memtable", {.snapshot = snapshot.get()}));
  EXPECT_TRUE(explanation.found);
  EXPECT_EQ(explanation.sequence, snapshot->sequence());
  EXPECT_THAT(explanation.ToText(), AllOf(HasSubstr("memtable"), HasSubstr("put")));
}

TEST_F(LookupStatisticsTest, ExplainNamesSealedMemtables) {
  Open();
  Put("k", "v");
  Put("fill", std::string(64 << 10, 'x'));
  Put("next", "v");
  ASSERT_OK_AND_ASSIGN(const Explanation explanation, db_->Explain("k"));
  ASSERT_EQ(explanation.memtables.size(), 2u);
  EXPECT_EQ(explanation.memtables[0].name, "memtable");
  EXPECT_EQ(explanation.memtables[1].name, "sealed memtable 0");
  EXPECT_EQ(explanation.answered_by, "sealed memtable 0");
}

}  // namespace
}  // namespace lsm
