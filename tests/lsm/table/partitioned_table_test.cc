// Tables whose filters and indexes are in partitions: which partitions are read and when, the
// properties of these tables, and forged ones.  (table_test.cc checks their answers,
// table_damage_test.cc damages each of their bytes.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/block/block_iterator.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_check.h"
#include "tests/lsm/table/forgetful_policy.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing_support::StatusIs;

constexpr int kKeys = 4000;

TableBuildOptions PartitionedOptions() {
  TableBuildOptions options;
  options.block_bytes = 400;
  options.file_id = 0x77;
  options.digest_seed = kTestSeed;
  options.filter_policy = bloom::PolicyFromName("blocked").value();
  options.partition_bytes = 100;
  return options;
}

// Even numbers.
Model EvenModel() {
  Model model;
  for (int i = 0; i < kKeys; ++i)
    model.emplace(InternalKey(NumberKey(2 * i), 1), std::string(30, 'v'));
  return model;
}

std::vector<std::string> ProblemsOf(const std::string& bytes) {
  std::vector<std::string> problems;
  const auto opened = OpenTableBytes(bytes);
  if (!opened.ok()) return {std::string(MessageOf(opened.status()))};
  TableCheckCalls calls;
  calls.problem = [&](const absl::Status& status) {
    problems.emplace_back(MessageOf(status));
    return true;
  };
  CheckTable(*opened->table, calls);
  return problems;
}

class PartitionedTableTest : public ::testing::Test {
 protected:
  void Open(std::optional<size_t> cache_bytes) {
    bytes_ = BuildTable(PartitionedOptions(), EvenModel(), &summary_);
    ASSERT_OK_AND_ASSIGN(opened_,
                         OpenTableBytes(bytes_, cache_bytes, /*partitions_on_demand=*/true));
    ASSERT_GT(table().partitions().count(), 10u);
  }
  const Table& table() const { return *opened_.table; }

  // The bytes and reads of a lookup.
  struct Cost {
    uint64_t reads = 0, bytes = 0;
    LevelCounts counts;
    TableStep step;
    TableAnswer answer = TableAnswer::kAbsent;
    bool passed = false;
  };
  Cost Lookup(int number) {
    Cost cost;
    cost.reads = opened_.file->reads;
    cost.bytes = opened_.file->read_bytes;
    const LookupKey key(NumberKey(number), kSequenceMax, kTestSeed);
    const EpochGuard guard;
    const TableLookup lookup{.key = key, .counts = &cost.counts, .step = &cost.step};
    cost.passed = table().AskFilter(lookup).passed;
    if (cost.passed) {
      TableHit hit;
      const auto answer = table().Get(lookup, &hit);
      EXPECT_OK(answer);
      cost.answer = answer.value_or(TableAnswer::kAbsent);
    }
    cost.reads = opened_.file->reads - cost.reads;
    cost.bytes = opened_.file->read_bytes - cost.bytes;
    return cost;
  }

  std::string bytes_;
  TableSummary summary_;
  OpenedTable opened_;
};

TEST_F(PartitionedTableTest, OpeningLoadsNoPartition) {
  Open(1 << 20);
  EXPECT_EQ(table().filter_memory_bytes(), 0u);
  EXPECT_GT(table().filter_bytes(), 2000u);
  EXPECT_EQ(table().filter_bytes(), table().properties().filter_bytes);
  EXPECT_EQ(table().index_bytes(), table().properties().index_bytes);
  EXPECT_EQ(table().partitions().count(), table().properties().partitions);
  // Reads of the beginning, the end, and the part of the top-level index outside of both.
  EXPECT_LE(opened_.file->reads, 3u);
  EXPECT_LE(opened_.file->read_bytes,
            kTableHeaderBytes + Table::kEndBytes + table().footer().index.stored_bytes);
  EXPECT_EQ(opened_.cache->used_bytes(), 0u);
}

TEST_F(PartitionedTableTest, ReadsNeededPartitionsOnce) {
  Open(1 << 20);
  const Cost first = Lookup(1000);
  EXPECT_EQ(first.answer, TableAnswer::kFound);
  EXPECT_EQ(first.reads, 3u);  // filter, index, block
  ASSERT_EQ(first.step.partitions.size(), 2u);
  EXPECT_TRUE(first.step.partitions[0].is_filter);
  EXPECT_FALSE(first.step.partitions[1].is_filter);
  EXPECT_EQ(first.step.partitions[0].ordinal, first.step.partitions[1].ordinal);
  LevelCounts counts = first.counts;
  EXPECT_EQ(counts[LevelCounts::kPartitionsFromFile], 2u);
  EXPECT_EQ(counts[LevelCounts::kPartitionsFromCache], 0u);
  EXPECT_EQ(counts[LevelCounts::kPartitionBytesFromFile] + counts[LevelCounts::kBytesFromFile],
            first.bytes);
  const Cost again = Lookup(1000);
  EXPECT_EQ(again.answer, TableAnswer::kFound);
  EXPECT_EQ(again.reads, 0u);
  counts = again.counts;
  EXPECT_EQ(counts[LevelCounts::kPartitionsFromCache], 2u);
  EXPECT_TRUE(again.step.partitions[0].from_cache);
  // Absent keys of other partitions.  For most of them only the filter is read.
  int filters_only = 0;
  for (int i = 0; i < 50; ++i) filters_only += Lookup(2001 + 2 * i).reads <= 1;
  EXPECT_GT(filters_only, 45);
}

TEST_F(PartitionedTableTest, LookupsReadWithoutACache) {
  Open(std::nullopt);
  for (int i = 0; i < 3; ++i) {
    const Cost cost = Lookup(1000);
    EXPECT_EQ(cost.answer, TableAnswer::kFound);
    EXPECT_EQ(cost.reads, 3u);
  }
  // The same with a cache that is too small for them.
  Open(100);
  EXPECT_EQ(Lookup(1000).answer, TableAnswer::kFound);
  EXPECT_EQ(Lookup(1000).reads, 3u);
}

TEST_F(PartitionedTableTest, PartitionsAreChargedAndEvicted) {
  Open(12'000);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kKeys; ++i) {
      ASSERT_EQ(Lookup(2 * i).answer, TableAnswer::kFound);
      ASSERT_LE(opened_.cache->used_bytes(), 12'000u);
    }
  }
  EXPECT_GT(opened_.cache->used_bytes(), 6'000u);
  opened_.table.reset();
  EXPECT_EQ(opened_.cache->used_bytes(), 0u);
}

TEST_F(PartitionedTableTest, DamagedFilterPartitionsPassAndAreReadOnce) {
  Open(1 << 20);
  const PartitionEntry& entry = table().partitions().entry(3);
  opened_.file->bytes[entry.filter.offset + 10] ^= 1;
  const std::string key(table().partitions().fence(3));
  const LookupKey lookup(key + "0", kSequenceMax, kTestSeed);
  const LookupKey inside(table().partitions().fence(3), kSequenceMax, kTestSeed);
  const EpochGuard guard;
  const uint64_t reads = opened_.file->reads;
  for (int i = 0; i < 3; ++i) {
    const auto answer = table().AskFilter({inside});
    EXPECT_TRUE(answer.passed);
    EXPECT_EQ(answer.presence, FilterPresence::kDamaged);
  }
  EXPECT_EQ(opened_.file->reads, reads + 1);
  // The filter of the next partition is sound.
  EXPECT_EQ(table().AskFilter({lookup}).presence, FilterPresence::kUsable);
}

TEST_F(PartitionedTableTest, RetriesUnreadableFilterPartitions) {
  Open(1 << 20);
  opened_.file->fault = absl::UnavailableError("EIO");
  const LookupKey key(NumberKey(1000), kSequenceMax, kTestSeed);
  const EpochGuard guard;
  EXPECT_EQ(table().AskFilter({key}).presence, FilterPresence::kDamaged);
  EXPECT_TRUE(table().AskFilter({key}).passed);
  TableHit hit;
  EXPECT_THAT(table().Get({key}, &hit), StatusIs(absl::StatusCode::kUnavailable, "EIO"));
  opened_.file->fault = absl::OkStatus();
  EXPECT_EQ(table().AskFilter({key}).presence, FilterPresence::kUsable);
}

TEST_F(PartitionedTableTest, NamesDamagedIndexPartitionsByOffset) {
  Open(1 << 20);
  const PartitionEntry& entry = table().partitions().entry(3);
  opened_.file->bytes[entry.index.offset + 10] ^= 1;
  const LookupKey key(table().partitions().fence(3), kSequenceMax, kTestSeed);
  const EpochGuard guard;
  TableHit hit;
  EXPECT_THAT(table().Get({key}, &hit), StatusIs(absl::StatusCode::kDataLoss,
                                                 HasSubstr(std::string(kTablePath) + ": offset " +
                                                           std::to_string(entry.index.offset))));
  EXPECT_EQ(Lookup(0).answer, TableAnswer::kFound);
}

// --- the builder and the check ---

TEST(PartitionsTest, KeysAcrossPartitionsAreInBothFilters) {
  Model model = EvenModel();
  // Versions of one key that fill several partitions.
  for (Sequence sequence = 2; sequence < 900; ++sequence)
    model.emplace(InternalKey(NumberKey(500), sequence), std::string(40, 'v'));
  const std::string bytes = BuildTable(PartitionedOptions(), model);
  EXPECT_THAT(ProblemsOf(bytes), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  const Partitions& partitions = opened.table->partitions();
  const size_t first = partitions.LowerBound(NumberKey(500));
  size_t with_fence = 0;
  for (size_t i = 0; i < partitions.count(); ++i)
    with_fence += partitions.fence(i) == NumberKey(500);
  ASSERT_GT(with_fence, 2u);
  const bloom::Digest digest = bloom::DigestOf(NumberKey(500), kTestSeed);
  // In the partitions that end with the key, and in the one that only begins with it.
  for (size_t i = first; i <= first + with_fence; ++i)
    EXPECT_TRUE(opened.table->filter_partition(i).filter.MayContain(digest)) << i;
  EXPECT_EQ(opened.table->filter_partition(first + 1).filter.Describe().key_count, 1u);
}

TEST(PartitionsTest, PartitionsHaveTheRequestedSize) {
  for (const size_t partition_bytes : {100, 300}) {
    TableBuildOptions options = PartitionedOptions();
    options.partition_bytes = partition_bytes;
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened,
                         OpenTableBytes(BuildTable(options, EvenModel())));
    const Partitions& partitions = opened.table->partitions();
    for (size_t i = 0; i + 1 < partitions.count(); ++i) {
      const PartitionEntry& entry = partitions.entry(i);
      EXPECT_LT(entry.index.stored_bytes, partition_bytes + 60);
      EXPECT_LT(entry.filter.stored_bytes, kPartitionFilterFactor * partition_bytes * 3 / 2);
      EXPECT_TRUE(entry.index.stored_bytes >= partition_bytes ||
                  entry.filter.stored_bytes >= kPartitionFilterFactor * partition_bytes * 4 / 5);
    }
  }
}

TEST(PartitionsTest, ChecksEachFilterForItsKeys) {
  TableBuildOptions options = PartitionedOptions();
  EXPECT_THAT(ProblemsOf(BuildTable(options, EvenModel())), IsEmpty());
  options.filter_policy = std::make_shared<ForgetfulPolicy>();
  const std::vector<std::string> problems = ProblemsOf(BuildTable(options, EvenModel()));
  EXPECT_GT(problems.size(), kKeys / 20u);
  EXPECT_THAT(problems.front(), HasSubstr("the filter denies the key"));
  EXPECT_THAT(problems.back(), HasSubstr("the filter says that it holds"));
}

// --- forged ones ---

// The table with other entries in its top-level block, under checksums that are right.
std::string WithEntries(const std::string& bytes,
                        const std::function<void(std::vector<PartitionEntry>*)>& change,
                        uint64_t more_blocks = 0) {
  const OpenedTable opened = OpenTableBytes(bytes).value();
  const Partitions& partitions = opened.table->partitions();
  std::vector<PartitionEntry> entries;
  for (size_t i = 0; i < partitions.count(); ++i) entries.push_back(partitions.entry(i));
  change(&entries);
  BlockBuilder block(kIndexRestartInterval);
  for (size_t i = 0; i < entries.size(); ++i) {
    block.Add(i < partitions.count() ? partitions.fence(i) : "z", entries[i].Encode());
  }
  Footer footer = opened.table->footer();
  footer.data_blocks += more_blocks;
  std::string file = bytes.substr(0, footer.index.offset);
  const auto append = [&](std::string stored) {
    const BlockHandle handle{file.size(), stored.size()};
    stored.push_back('\0');
    AppendFixed64(&stored, Checksum(stored, footer.file_id, handle.offset));
    file += stored;
    return handle;
  };
  footer.index = append(std::string(block.Finish()));
  footer.properties = append(opened.table->properties().Encode());
  footer.file_bytes = file.size() + kFooterBytes;
  return file + footer.Encode();
}

TEST(PartitionsTest, ForgedTopLevelEntriesAreDamage) {
  const std::string bytes = BuildTable(PartitionedOptions(), EvenModel());
  EXPECT_THAT(ProblemsOf(WithEntries(bytes, [](auto*) {})), IsEmpty());
  using Entries = std::vector<PartitionEntry>;
  const std::function<void(Entries*)> changes[] = {
      [](Entries* e) { (*e)[0].data_offset += 1; },
      [](Entries* e) { (*e)[2].data_offset = (*e)[1].data_offset; },
      [](Entries* e) { e->back().data_offset = uint64_t{1} << 60; },
      [](Entries* e) { (*e)[2].data_blocks += 1; },
      [](Entries* e) { (*e)[2].data_blocks = 0; },
      [](Entries* e) { (*e)[2].data_blocks = ~uint64_t{0}; },
      [](Entries* e) { e->pop_back(); },
      [](Entries* e) { e->push_back(e->back()); },
      [](Entries* e) { (*e)[2].filter.offset += 1; },
      [](Entries* e) { (*e)[2].filter.stored_bytes += 1; },
      [](Entries* e) { (*e)[2].filter = {}; },
      [](Entries* e) { std::swap((*e)[2].filter, (*e)[3].filter); },
      [](Entries* e) { e->back().filter.stored_bytes -= 1; },
      [](Entries* e) { e->back().filter.stored_bytes = ~uint64_t{0} - 3; },
      [](Entries* e) { (*e)[2].index.offset -= 1; },
      [](Entries* e) { (*e)[2].index.stored_bytes += 1; },
      [](Entries* e) { e->back().index.stored_bytes = ~uint64_t{0} - 3; },
      [](Entries* e) { e->clear(); },
  };
  for (size_t i = 0; i < std::size(changes); ++i) {
    const auto opened = OpenTableBytes(WithEntries(bytes, changes[i]), 1 << 20, true);
    EXPECT_THAT(opened.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("top-level")))
        << i;
  }
}

TEST(PartitionsTest, ImpossibleBlockCountsTakeNoMemory) {
  const std::string bytes = BuildTable(PartitionedOptions(), EvenModel());
  constexpr uint64_t kMore = uint64_t{1} << 50;
  const std::string forged = WithEntries(
      bytes, [](std::vector<PartitionEntry>* e) { (*e)[2].data_blocks += kMore; }, kMore);
  EXPECT_THAT(OpenTableBytes(forged, 1 << 20, true).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("top-level")));
}

TEST(PartitionsTest, VerifiesIndexPartitionsAgainstTheirEntry) {
  const std::string bytes = BuildTable(PartitionedOptions(), EvenModel());
  using Entries = std::vector<PartitionEntry>;
  // Each handle is possible, but belongs to other blocks.
  const std::function<void(Entries*)> changes[] = {
      [](Entries* e) {
        (*e)[2].data_blocks += 1;
        (*e)[3].data_blocks -= 1;
      },
      [](Entries* e) { (*e)[3].data_offset += 1; },
  };
  for (const auto& change : changes) {
    const std::string forged = WithEntries(bytes, change);
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(forged, 1 << 20, true));
    auto iterator = opened.table->NewIterator({});
    iterator->SeekToFirst();
    while (iterator->Valid()) iterator->Next();
    EXPECT_THAT(iterator->status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("index partition 2")));
    EXPECT_THAT(OpenTableBytes(forged).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("index partition 2")));
  }
}

}  // namespace
}  // namespace lsm
