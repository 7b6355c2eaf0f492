// Tables compared with std::map: for all options and keys, lookups and iterators give the answers
// of the map.
#include "lsm/table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "lsm/bytes/escape.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::HasSubstr;
using ::testing_support::StatusIs;

struct Shape {
  KeyShape keys;
  size_t entries;
  size_t versions;
  size_t value_bytes_max;
};
constexpr Shape kShapes[] = {
    {KeyShape::kDecimal, 1500, 1, 100},   {KeyShape::kBinary, 1500, 2, 30},
    {KeyShape::kExtremes, 1500, 2, 8},    {KeyShape::kNested, 1500, 3, 8},
    {KeyShape::kNested, 1200, 200, 4},    {KeyShape::kDecimal, 900, 300, 60},
    {KeyShape::kLongPrefix, 500, 3, 50},  {KeyShape::kHuge, 25, 2, 100},
    {KeyShape::kDecimal, 12, 1, 1 << 20}, {KeyShape::kExtremes, 1, 1, 0},
};

struct Options {
  size_t block_bytes;
  int restart_interval;
  Compression compression;
  const char* filter;
  std::optional<size_t> cache_bytes;
  size_t readahead_bytes;
  size_t partition_bytes = 0;
  bool partitions_on_demand = false;
};
constexpr Options kOptions[] = {
    {4096, 16, Compression::kLz4, "blocked", size_t{1} << 20, 0},
    {256, 1, Compression::kNone, "standard", size_t{16} << 10, 100},
    {1000, 3, Compression::kLz4, "none", std::nullopt, 5000},
    {1 << 20, 1024, Compression::kNone, "blocked", size_t{1} << 24, 1 << 20},
    {700, 7, Compression::kNone, "none", 0, 0},
    {256, 4, Compression::kNone, "standard", size_t{16} << 10, 1000, 64, true},
    {300, 2, Compression::kLz4, "ribbon", std::nullopt, 700, 150, true},
    {200, 16, Compression::kLz4, "none", size_t{1} << 20, 5000, 1, true},
    {500, 8, Compression::kNone, "blocked", size_t{1} << 20, 0, 100, false},
};

// A table and its expected contents.
struct Subject {
  Shape shape;
  Options options;
  uint64_t seed = 0;
  Dice dice{0};
  Model model;
  TableSummary summary;
  OpenedTable opened;
};

// One test for each shape.  Each tries all options.
class TableModelTest : public ::testing::TestWithParam<size_t> {
 protected:
  // Calls `body` with each, until one fails.
  static void ForEachSubject(const std::function<void(Subject&)>& body) {
    for (size_t i = 0; i < std::size(kOptions) && !HasFatalFailure(); ++i) {
      // Under a sanitizer tries half of the pairs, which include each shape and each option.
      if (testing_support::kIsSanitized && (GetParam() + i) % 2 == 1) continue;
      Subject subject;
      subject.shape = kShapes[GetParam()];
      subject.options = kOptions[i];
      subject.seed = 1000 * GetParam() + i;
      SCOPED_TRACE("options " + std::to_string(i) + ", seed " + std::to_string(subject.seed));
      subject.dice = Dice(subject.seed);
      const Shape& shape = subject.shape;
      subject.model = RandomModel(shape.keys, shape.entries, shape.versions, shape.value_bytes_max,
                                  &subject.dice);
      TableBuildOptions build;
      build.block_bytes = subject.options.block_bytes;
      build.block_restart_interval = subject.options.restart_interval;
      build.compression = subject.options.compression;
      build.digest_seed = kTestSeed;
      build.file_id = subject.dice.Next();
      build.partition_bytes = subject.options.partition_bytes;
      if (std::string_view(subject.options.filter) != "none") {
        ASSERT_OK_AND_ASSIGN(build.filter_policy, bloom::PolicyFromName(subject.options.filter));
      }
      std::string bytes = BuildTable(build, subject.model, &subject.summary);
      ASSERT_OK_AND_ASSIGN(subject.opened,
                           OpenTableBytes(std::move(bytes), subject.options.cache_bytes,
                                          subject.options.partitions_on_demand));
      ASSERT_EQ(subject.opened.table->is_partitioned(), build.partition_bytes > 0);
      body(subject);
    }
  }

  // Both must be at the same entry, or both at none.
  static void ExpectSame(const Iterator& iterator, const Model& model, Model::const_iterator at) {
    const std::string place = at == model.end() ? "no entry" : "at " + Escape(at->first, 60);
    ASSERT_OK(iterator.status());
    ASSERT_EQ(iterator.Valid(), at != model.end()) << place;
    if (at == model.end()) return;
    ASSERT_EQ(iterator.key(), at->first) << place;
    ASSERT_EQ(iterator.value(), at->second) << place;
  }
};

INSTANTIATE_TEST_SUITE_P(Shapes, TableModelTest, ::testing::Range<size_t>(0, std::size(kShapes)));

TEST_P(TableModelTest, FindsEveryVersionAtEverySequence) {
  ForEachSubject([](Subject& subject) {
    for (const auto& [key, value] : subject.model) {
      const Sequence sequence = SequenceOf(SuffixOf(key));
      for (const Sequence as_of : {kSequenceMax, sequence, sequence + 1, sequence - 1}) {
        ASSERT_OK_AND_ASSIGN(const Answer answer,
                             AskTable(*subject.opened.table, UserKeyOf(key), as_of));
        ASSERT_EQ(answer, AskModel(subject.model, UserKeyOf(key), as_of))
            << "key " << Escape(key, 60) << " as of " << as_of;
      }
    }
  });
}

TEST_P(TableModelTest, LookupsMatchTheModel) {
  ForEachSubject([](Subject& subject) {
    for (size_t i = 0; i < 2000 / testing_support::kStride; ++i) {
      const std::string probe = RandomProbe(subject.shape.keys, subject.model, &subject.dice);
      const Sequence as_of =
          subject.dice.OneIn(4)
              ? kSequenceMax
              : subject.dice.Roll(subject.summary.properties.largest_sequence + 2);
      ASSERT_OK_AND_ASSIGN(const Answer answer, AskTable(*subject.opened.table, probe, as_of));
      ASSERT_EQ(answer, AskModel(subject.model, probe, as_of))
          << "key " << Escape(probe, 60) << " as of " << as_of;
    }
  });
}

TEST_P(TableModelTest, WalksVisitEveryEntry) {
  ForEachSubject([](Subject& subject) {
    for (const size_t readahead_bytes : {size_t{0}, subject.options.readahead_bytes}) {
      auto iterator = subject.opened.table->NewIterator(
          {.fill_cache = true, .readahead_bytes = readahead_bytes});
      EXPECT_FALSE(iterator->Valid());
      auto at = subject.model.cbegin();
      for (iterator->SeekToFirst(); at != subject.model.cend(); ++at, iterator->Next()) {
        ASSERT_NO_FATAL_FAILURE(ExpectSame(*iterator, subject.model, at));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSame(*iterator, subject.model, subject.model.cend()));
      iterator->SeekToLast();
      for (at = subject.model.cend(); at != subject.model.cbegin();) {
        ASSERT_NO_FATAL_FAILURE(ExpectSame(*iterator, subject.model, --at));
        iterator->Prev();
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSame(*iterator, subject.model, subject.model.cend()));
    }
  });
}

TEST_P(TableModelTest, RandomWalksMatchTheModel) {
  ForEachSubject([](Subject& subject) {
    auto iterator = subject.opened.table->NewIterator(
        {.fill_cache = false, .readahead_bytes = subject.options.readahead_bytes});
    auto at = subject.model.cend();
    for (size_t step = 0; step < 3000 / testing_support::kStride; ++step) {
      const uint64_t choice = subject.dice.Roll(16);
      if (choice < 5 && at != subject.model.cend()) {
        iterator->Next();
        ++at;
      } else if (choice < 10 && at != subject.model.cend()) {
        iterator->Prev();
        at = at == subject.model.cbegin() ? subject.model.cend() : std::prev(at);
      } else if (choice == 10) {
        iterator->SeekToFirst();
        at = subject.model.cbegin();
      } else if (choice == 11) {
        iterator->SeekToLast();
        at = std::prev(subject.model.cend());
      } else {
        const std::string target =
            InternalKey(RandomProbe(subject.shape.keys, subject.model, &subject.dice),
                        subject.dice.OneIn(2)
                            ? kSequenceMax
                            : subject.dice.Roll(subject.summary.properties.largest_sequence + 2));
        if (choice < 14) {
          iterator->Seek(target);
          at = subject.model.lower_bound(target);
        } else {
          iterator->SeekForPrev(target);
          at = subject.model.upper_bound(target);
          at = at == subject.model.cbegin() ? subject.model.cend() : std::prev(at);
        }
      }
      ASSERT_NO_FATAL_FAILURE(ExpectSame(*iterator, subject.model, at)) << "step " << step;
    }
  });
}

TEST_P(TableModelTest, SummaryAndPropertiesMatchTheEntries) {
  ForEachSubject([](Subject& subject) {
    const TableProperties& properties = subject.opened.table->properties();
    uint64_t deletions = 0;
    uint64_t distinct_keys = 0;
    uint64_t key_bytes = 0;
    uint64_t value_bytes = 0;
    Sequence smallest_sequence = kSequenceMax;
    Sequence largest_sequence = 0;
    std::optional<std::string> last;
    for (const auto& [key, value] : subject.model) {
      deletions += (SuffixOf(key) & 0xff) == 0;
      distinct_keys += last != UserKeyOf(key);
      last = UserKeyOf(key);
      key_bytes += UserKeyOf(key).size();
      value_bytes += value.size();
      smallest_sequence = std::min(smallest_sequence, SequenceOf(SuffixOf(key)));
      largest_sequence = std::max(largest_sequence, SequenceOf(SuffixOf(key)));
    }
    EXPECT_EQ(properties.entries, subject.model.size());
    EXPECT_EQ(properties.deletions, deletions);
    EXPECT_EQ(properties.distinct_keys, distinct_keys);
    EXPECT_EQ(properties.raw_key_bytes, key_bytes);
    EXPECT_EQ(properties.raw_value_bytes, value_bytes);
    EXPECT_EQ(properties.smallest_sequence, smallest_sequence);
    EXPECT_EQ(properties.largest_sequence, largest_sequence);
    EXPECT_EQ(properties.smallest_key, UserKeyOf(subject.model.begin()->first));
    EXPECT_EQ(properties.largest_key, UserKeyOf(subject.model.rbegin()->first));
    EXPECT_EQ(subject.summary.smallest, subject.model.begin()->first);
    EXPECT_EQ(subject.summary.largest, subject.model.rbegin()->first);
    EXPECT_EQ(subject.summary.file_bytes, subject.opened.file->bytes.size());
    EXPECT_EQ(properties.data_blocks, subject.opened.table->block_count());
    ASSERT_OK_AND_ASSIGN(const OpenedTable whole, OpenTableBytes(subject.opened.file->bytes));
    uint64_t data_bytes = 0;
    for (size_t i = 0; i < whole.table->block_count(); ++i)
      data_bytes += whole.table->block_handle(i).stored_bytes + kBlockTrailerBytes;
    EXPECT_EQ(properties.data_bytes, data_bytes);
    EXPECT_EQ(properties.ToMap(), subject.summary.properties.ToMap());
    // The digests of its filter are those of the distinct user keys.
    if (std::string_view(subject.options.filter) != "none") {
      EXPECT_EQ(subject.opened.table->filter_presence(), FilterPresence::kUsable);
      if (!whole.table->is_partitioned()) {
        EXPECT_EQ(whole.table->filter().Describe().key_count, distinct_keys);
      }
    } else {
      EXPECT_EQ(subject.opened.table->filter_presence(), FilterPresence::kAbsent);
    }
  });
}

TEST_P(TableModelTest, IndexKeysSeparateTheBlocks) {
  ForEachSubject([](Subject& subject) {
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(subject.opened.file->bytes));
    const Table& table = *opened.table;
    for (size_t i = 0; i < table.block_count(); ++i) {
      ASSERT_OK_AND_ASSIGN(const std::string bytes, table.ReadDataBlock(i));
      Block block;
      ASSERT_TRUE(block.Init(bytes));
      auto entries = block.NewIterator(true, "block");
      entries->SeekToFirst();
      ASSERT_TRUE(entries->Valid());
      if (i > 0) {
        // Strictly before the next block's first user key, unless they are the same.
        const std::string_view before = table.block_fence(i - 1);
        EXPECT_LE(before, UserKeyOf(entries->key()));
        if (before == UserKeyOf(entries->key())) {
          ASSERT_OK_AND_ASSIGN(const std::string previous_bytes, table.ReadDataBlock(i - 1));
          Block previous;
          ASSERT_TRUE(previous.Init(previous_bytes));
          auto last = previous.NewIterator(true, "block");
          last->SeekToLast();
          EXPECT_EQ(UserKeyOf(last->key()), before);
        }
      }
      entries->SeekToLast();
      EXPECT_GE(table.block_fence(i), UserKeyOf(entries->key()));
      EXPECT_LE(table.block_fence(i).size(), UserKeyOf(entries->key()).size());
    }
  });
}

TEST_P(TableModelTest, DoesNotRepeatTheCallersRead) {
  ForEachSubject([](Subject& subject) {
    const Table& whole = *subject.opened.table;
    const std::string bytes = subject.opened.file->bytes;
    TableContext context;
    context.digest_seed = kTestSeed;
    context.file_id = whole.footer().file_id;
    context.partitions_on_demand = true;
    const uint64_t least = std::min<uint64_t>(bytes.size(), Table::kEndBytes);
    const uint64_t needed = std::max(least, bytes.size() - whole.opening_offset());
    for (const uint64_t end_bytes :
         {least, (least + needed) / 2, needed, (needed + bytes.size()) / 2, bytes.size()}) {
      const std::shared_ptr<FileState> file = FileOf(bytes);
      // Opening must not read beyond the bytes that it needs.
      std::string end = bytes.substr(bytes.size() - end_bytes);
      ASSERT_OK_AND_ASSIGN(const auto table,
                           Table::Open(std::make_unique<CountingReadFile>(file), context, end));
      end.assign(end.size(), 'x');
      // Properties that begin before the caller's bytes, because keys are long, cost a read.
      const BlockHandle& properties = whole.footer().properties;
      const bool lacks_properties = bytes.size() - properties.offset > end_bytes;
      const uint64_t twice_bytes =
          lacks_properties ? properties.stored_bytes + kBlockTrailerBytes : 0;
      ASSERT_EQ(file->reads, (end_bytes < needed ? 1 : 0) + (lacks_properties ? 1 : 0))
          << end_bytes << " of " << needed;
      ASSERT_EQ(file->read_bytes, needed - std::min(needed, end_bytes) + twice_bytes);
      ASSERT_EQ(table->filter_presence(), whole.filter_presence());
      for (const auto& [key, value] : subject.model) {
        ASSERT_OK_AND_ASSIGN(const Answer answer, AskTable(*table, UserKeyOf(key), kSequenceMax));
        ASSERT_EQ(answer, AskModel(subject.model, UserKeyOf(key), kSequenceMax));
      }
    }
  });
}

TEST_P(TableModelTest, KeysBeyondTheLastCostNoRead) {
  ForEachSubject([](Subject& subject) {
    const uint64_t reads = subject.opened.file->reads;
    LevelCounts counts;
    const std::string beyond = std::string(UserKeyOf(subject.model.rbegin()->first)) + "x";
    const LookupKey key(beyond, kSequenceMax, kTestSeed);
    const EpochGuard guard;
    TableHit hit;
    ASSERT_OK_AND_ASSIGN(const TableAnswer answer,
                         subject.opened.table->Get({.key = key, .counts = &counts}, &hit));
    EXPECT_EQ(answer, TableAnswer::kAbsent);
    EXPECT_EQ(subject.opened.file->reads, reads);
    EXPECT_EQ(counts[LevelCounts::kBlocksFromFile] + counts[LevelCounts::kBlocksFromCache], 0u);
  });
}

TEST_P(TableModelTest, ApproximateOffsetsAscend) {
  ForEachSubject([](Subject& subject) {
    uint64_t last = 0;
    for (const auto& [key, value] : subject.model) {
      const uint64_t offset = subject.opened.table->ApproximateOffsetOf(UserKeyOf(key));
      EXPECT_GE(offset, last);
      last = offset;
    }
    EXPECT_EQ(subject.opened.table->ApproximateOffsetOf(
                  std::string(UserKeyOf(subject.model.rbegin()->first)) + "x"),
              kTableHeaderBytes + subject.opened.table->properties().data_bytes);
  });
}

}  // namespace
}  // namespace lsm
