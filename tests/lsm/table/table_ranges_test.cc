// Tables with range deletes: what they hold, and what a reader refuses.
#include "tests/lsm/table/table_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/block/ranges_part.h"
#include "lsm/bytes/status.h"
#include "lsm/table/table_check.h"
#include "lsm/table/table_claims.h"
#include "tests/lsm/table/table_forgery.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/range_maps.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing_support::StatusIs;

TableBuildOptions BuildOptions(size_t partition_bytes = 0) {
  TableBuildOptions options;
  options.block_bytes = 200;
  options.filter_policy = bloom::PolicyFromName("blocked").value();
  options.digest_seed = kTestSeed;
  options.file_id = 77;
  options.partition_bytes = partition_bytes;
  options.oldest_tombstone = 1'600'000'000;
  return options;
}

Model ThousandKeys() {
  Model model;
  for (int i = 0; i < 1000; ++i)
    model.emplace(InternalKey(NumberKey(i), static_cast<Sequence>(1000 + i)), "value");
  return model;
}

// Before, between and after the keys.
RangeMap SomeRanges() {
  const std::string from = NumberKey(10), to = NumberKey(20), last = NumberKey(999);
  const std::string after = last + "x";
  const std::vector<RangeDelete> ranges = {
      {"", "0", 7}, {from, to, 1015}, {from, last, 5000}, {after, std::nullopt, 900}};
  return testing_support::RangesOf(ranges, std::vector<Sequence>{1015});
}

std::vector<std::string> ProblemsOf(const Table& table) {
  std::vector<std::string> problems;
  TableCheckCalls calls;
  calls.problem = [&](const absl::Status& status) {
    problems.emplace_back(status.message());
    return true;
  };
  CheckTable(table, calls);
  return problems;
}

TEST(TableRangesTest, AreReadBackBesideEntries) {
  const Model model = ThousandKeys();
  for (const size_t partition_bytes : {0, 100}) {
    TableSummary summary;
    const std::string bytes =
        BuildTable(BuildOptions(partition_bytes), model, &summary, SomeRanges());
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
    const Table& table = *opened.table;
    EXPECT_EQ(table.ranges(), SomeRanges());
    EXPECT_EQ(table.footer().version(), kTableVersionWithRanges);
    EXPECT_EQ(table.is_partitioned(), partition_bytes != 0);
    EXPECT_EQ(table.filter_presence(), FilterPresence::kUsable);
    EXPECT_TRUE(table.has_entries());
    EXPECT_THAT(ProblemsOf(table), IsEmpty());

    // Sequences of ranges are not those of entries, against which blocks are checked.
    EXPECT_EQ(table.sequences(), std::pair(Sequence{7}, Sequence{5000}));
    EXPECT_EQ(table.properties().smallest_sequence, 1000u);
    EXPECT_EQ(table.properties().largest_sequence, 1999u);
    EXPECT_EQ(table.properties().range_deletes, 4u);
    EXPECT_EQ(table.properties().range_bytes, EncodeRanges(SomeRanges()).size());
    EXPECT_EQ(table.properties().oldest_tombstone, 1'600'000'000u);
    EXPECT_EQ(summary.ranges, (RangeRecord{4, "", std::nullopt}));
    EXPECT_EQ(UserKeyOf(summary.largest), NumberKey(999));

    auto iterator = table.NewIterator({});
    auto at = model.begin();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++at)
      ASSERT_EQ(iterator->key(), at->first);
    EXPECT_EQ(at, model.end());
    // The table itself applies no range.
    EXPECT_EQ(AskTable(table, NumberKey(15), kSequenceMax).value().kind, TableAnswer::kFound);
  }
}

TEST(TableRangesTest, MayBeAllOfATable) {
  const RangeMap ranges = RangesOf({{"b", "d", 5}, {"c", "h", 9}});
  for (const size_t partition_bytes : {0, 100}) {
    TableSummary summary;
    const std::string bytes = BuildTable(BuildOptions(partition_bytes), {}, &summary, ranges);
    for (const bool on_demand : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes, 1 << 20, on_demand));
      const Table& table = *opened.table;
      EXPECT_EQ(table.ranges(), ranges);
      EXPECT_FALSE(table.has_entries());
      EXPECT_FALSE(table.is_partitioned());
      EXPECT_EQ(table.filter_presence(), FilterPresence::kAbsent);
      EXPECT_EQ(table.properties().filter_kind, "none");
      EXPECT_EQ(table.sequences(), std::pair(Sequence{5}, Sequence{9}));
      EXPECT_EQ(table.block_count(), 0u);
      EXPECT_EQ(opened.file->reads, 1u);

      EXPECT_EQ(AskTable(table, "c", kSequenceMax).value(), Answer());
      EXPECT_EQ(table.ApproximateOffsetOf("c"), kTableHeaderBytes);
      for (const size_t readahead_bytes : {0, 1000}) {
        auto iterator = table.NewIterator({.readahead_bytes = readahead_bytes});
        const std::string target = InternalKey("c", 5);
        for (int step = 0; step < 4; ++step) iterator->PrefetchSeek(target, step);
        for (const std::function<void()>& seek :
             {std::function([&] { iterator->SeekToFirst(); }),
              std::function([&] { iterator->SeekToLast(); }),
              std::function([&] { iterator->Seek(target); }),
              std::function([&] { iterator->SeekForPrev(target); })}) {
          seek();
          EXPECT_FALSE(iterator->Valid());
          EXPECT_OK(iterator->status());
        }
      }
      EXPECT_THAT(ProblemsOf(table), IsEmpty());
    }
    EXPECT_EQ(summary.smallest, "");
    EXPECT_EQ(summary.largest, "");
    const RangeRecord record{2, "b", "h"};
    EXPECT_EQ(summary.ranges, record);
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
    EXPECT_OK(CheckClaims(*opened.table, {0, "", "", summary.properties.dead_entries(), record}));
  }
}

TEST(TableRangesTest, OneReadHasIndexAndRanges) {
  Model model;
  for (int i = 0; i < 20000; ++i) model.emplace(InternalKey(NumberKey(i), 9), "value");
  std::vector<RangeDelete> ranges;
  std::vector<std::string> keys;
  for (int i = 0; i < 4000; ++i) keys.push_back(NumberKey(10 * i));
  for (size_t i = 0; i + 1 < keys.size(); i += 2) ranges.push_back({keys[i], keys[i + 1], i + 1});
  const std::string bytes = BuildTable(BuildOptions(), model, nullptr, RangeMap::Of(ranges));
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  EXPECT_GT(opened.table->footer().ranges.stored_bytes, Table::kEndBytes);
  // The end of the file; the rest; the header.
  EXPECT_EQ(opened.file->reads, 3u);
}

TEST(TableRangesTest, FillATable) {
  auto written = std::make_shared<WrittenState>();
  TableBuilder builder(BuildOptions(), std::make_unique<StringAppendFile>(written));
  const std::string key(1000, 'k');
  uint64_t count = 0;
  for (; !builder.is_full(); ++count) {
    const Sequence sequences[] = {count + 1};
    std::string boundary = key;
    for (int shift = 24; shift >= 0; shift -= 8) boundary += static_cast<char>(count >> shift);
    builder.AddRange(boundary, sequences);
  }
  EXPECT_EQ(count, (kRangesBytesMax / 4 + 1047) / 1048);
  EXPECT_GT(builder.size_bytes_estimate(), kRangesBytesMax / 16);
  ASSERT_OK(builder.Finish());
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(written->bytes));
  EXPECT_EQ(opened.table->ranges().size(), count);
}

TEST(TableRangesTest, DamageIsDataLoss) {
  for (const Model& model : {Model(), ThousandKeys()}) {
    const std::string bytes = BuildTable(BuildOptions(), model, nullptr, SomeRanges());
    ASSERT_OK_AND_ASSIGN(const OpenedTable sound, OpenTableBytes(bytes));
    const BlockHandle at = sound.table->footer().ranges;
    for (uint64_t i = 0; i < at.stored_bytes + kBlockTrailerBytes; ++i) {
      std::string damaged = bytes;
      damaged[at.offset + i] ^= 4;
      EXPECT_THAT(
          OpenTableBytes(damaged).status(),
          StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset " + std::to_string(at.offset))));
    }
  }
}

// Tools and repairs read the rest of such a table.
TEST(TableRangesTest, DamagedOnesMayBeLeftOut) {
  for (const Model& model : {Model(), ThousandKeys()}) {
    std::string bytes = BuildTable(BuildOptions(), model, nullptr, SomeRanges());
    ASSERT_OK_AND_ASSIGN(const OpenedTable sound, OpenTableBytes(bytes));
    EXPECT_OK(sound.table->ranges_status());
    const BlockHandle at = sound.table->footer().ranges;
    bytes[at.offset + 3] ^= 4;
    TableContext context;
    context.opens_without_ranges = true;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Table> table,
                         Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes)), context));
    EXPECT_TRUE(table->ranges().empty());
    const std::string problem = Concat("offset ", at.offset);
    EXPECT_THAT(table->ranges_status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(problem)));
    // The properties state ranges, which distracts from the damage.
    EXPECT_THAT(ProblemsOf(*table), ElementsAre(HasSubstr(problem)));
    auto iterator = table->NewIterator({});
    size_t entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++entries;
    EXPECT_EQ(entries, model.size());
  }
}

// The parts of a table with one range, joined by hand.
Forgery WithRanges() {
  Forgery forgery;
  forgery.data_blocks = {{SoundBlock("a")}};
  forgery.ranges_bytes = EncodeRanges(RangesOf({{"a", "b", 9}}));
  return forgery;
}

TEST(TableRangesTest, ImpossiblePlacesAreDamage) {
  ASSERT_OK(OpenTableBytes(WithRanges().Make()));
  struct Case {
    const char* what;
    std::function<void(Forgery*)> change;
    const char* problem;
  };
  const Case cases[] = {
      {"an older version",
       [](Forgery* f) {
         f->change_footer_bytes = [](std::string* end) { StoreFixed32(end->data() + 80, 1); };
       },
       "block handles are impossible"},
      {"partitions of an older version",
       [](Forgery* f) {
         f->change_footer = [](Footer* footer) { footer->index_partitions = 24; };
         f->change_footer_bytes = [](std::string* end) { StoreFixed32(end->data() + 80, 2); };
       },
       "block handles are impossible"},
      {"no room for ranges",
       [](Forgery* f) {
         f->ranges_bytes.clear();
         f->change_footer_bytes = [](std::string* end) { StoreFixed32(end->data() + 80, 3); };
       },
       "the properties say keyspace 0, the footer says version 3"},
      {"an index after the ranges",
       [](Forgery* f) {
         f->change_footer = [](Footer* footer) { std::swap(footer->index, footer->ranges); };
       },
       "the properties say keyspace 0, the footer says version 3"},
      {"an index without end",
       [](Forgery* f) {
         f->change_footer = [](Footer* footer) { footer->index.stored_bytes = ~uint64_t{0}; };
       },
       "block handles are impossible"},
      {"a shorter index",
       [](Forgery* f) {
         f->change_footer = [](Footer* footer) { footer->index.stored_bytes -= 1; };
       },
       ""},
      {"no data blocks, but an entry",
       [](Forgery* f) { f->change_footer = [](Footer* footer) { footer->data_blocks = 0; }; },
       "block handles are impossible"},
      {"no data blocks, but an index",
       [](Forgery* f) {
         f->change_footer = [](Footer* footer) { footer->data_blocks = footer->entries = 0; };
       },
       "block handles are impossible"},
      {"compressed", [](Forgery* f) { f->ranges_compression = 1; }, ""},
      {"a gap", [](Forgery* f) { f->ranges_bytes = BlockOf(Entry(0, "a", "\x01\x00"), {0}); }, ""},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    Forgery forgery = WithRanges();
    each.change(&forgery);
    EXPECT_THAT(OpenTableBytes(forgery.Make()).status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(kTablePath), HasSubstr(each.problem))));
  }
}

// Otherwise an older release would take it for a table of the default keyspace.
TEST(TableRangesTest, ATableOfAKeyspaceHasVersion3) {
  for (const KeyspaceId keyspace : {kDefaultKeyspace, KeyspaceId{2}}) {
    for (const uint32_t version : {1, 2, 3}) {
      SCOPED_TRACE(Concat("keyspace ", keyspace, ", version ", version));
      Forgery forgery;
      forgery.data_blocks = {{SoundBlock("a")}};
      TableProperties properties;
      properties.digest_seed = kTestSeed;
      properties.keyspace = keyspace;
      forgery.properties_bytes = properties.Encode();
      if (version == 2) {  // which is of tables with partitions
        forgery.change_footer = [](Footer* footer) {
          footer->index_partitions = footer->index.offset;
        };
      }
      forgery.change_footer_bytes = [&](std::string* end) {
        StoreFixed32(end->data() + 80, version);
      };
      const absl::Status status = OpenTableBytes(forgery.Make()).status();
      if ((version == 3) == (keyspace != kDefaultKeyspace)) {
        EXPECT_TRUE(status.ok() || version == 2) << status;  // the partition is damaged
        EXPECT_THAT(std::string(status.message()), Not(HasSubstr("keyspace")));
      } else {
        EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                     HasSubstr(Concat("the properties say keyspace ", keyspace,
                                                      ", the footer says version ", version))));
      }
    }
  }
}

TEST(TableRangesTest, LaterVersionsAreRefusedByName) {
  Forgery forgery = WithRanges();
  forgery.change_footer_bytes = [](std::string* end) { StoreFixed32(end->data() + 80, 4); };
  EXPECT_THAT(OpenTableBytes(forgery.Make()).status(),
              StatusIs(absl::StatusCode::kUnimplemented, HasSubstr("reads versions 1 to 3")));
}

TEST(TableRangesTest, RecordsAndPropertiesMustAgree) {
  TableSummary summary;
  const std::string bytes = BuildTable(BuildOptions(), ThousandKeys(), &summary, SomeRanges());
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  const Table& table = *opened.table;
  const auto check = [&](const RangeRecord& ranges) {
    return CheckClaims(table, {1000, UserKeyOf(summary.smallest), UserKeyOf(summary.largest),
                               summary.properties.dead_entries(), ranges});
  };
  EXPECT_OK(check(summary.ranges));
  const auto says = [](std::string_view what) {
    return StatusIs(absl::StatusCode::kDataLoss,
                    AllOf(HasSubstr("the manifest says"), HasSubstr(std::string(what))));
  };
  EXPECT_THAT(check({}), says("no range deletes"));
  EXPECT_THAT(check({6, "", std::nullopt}), says("6 range deletes"));
  EXPECT_THAT(check({4, "0", std::nullopt}), says("from \"0\""));
  EXPECT_THAT(check({4, "", "9"}), says("to \"9\""));
  EXPECT_THAT(CheckPlace(table, {0, 4999}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a range delete has sequence 5000")));
  EXPECT_OK(CheckPlace(table, {0, 5000}));
  EXPECT_THAT(
      CheckClaims(table, {1000, UserKeyOf(summary.smallest), UserKeyOf(summary.largest),
                          summary.properties.dead_entries(), summary.ranges, /*keyspace=*/2}),
      says("keyspace 0, the manifest says 2"));

  for (const auto change : {+[](TableProperties* p) { ++p->range_deletes; },
                            +[](TableProperties* p) { ++p->range_bytes; },
                            +[](TableProperties* p) { p->range_deletes = 0; }}) {
    Forgery forgery = WithRanges();
    TableProperties properties;
    properties.digest_seed = kTestSeed;
    properties.range_deletes = 1;
    properties.range_bytes = forgery.ranges_bytes.size();
    change(&properties);
    forgery.properties_bytes = properties.Encode();
    ASSERT_OK_AND_ASSIGN(const OpenedTable forged, OpenTableBytes(forgery.Make()));
    EXPECT_THAT(ProblemsOf(*forged.table), Contains(HasSubstr("the properties say range_")));
  }
}

}  // namespace
}  // namespace lsm
