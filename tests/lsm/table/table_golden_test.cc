// Pins the bytes on disk: small tables, and a table of the first version, which must stay readable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "tests/lsm/table/table_model.h"
#include "tests/support/golden.h"
#include "tests/support/range_maps.h"
#include "tests/support/read_file.h"
#include "tests/support/source_directory.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// All options that are otherwise random or read from the environment are fixed.
TableBuildOptions GoldenOptions(Compression compression, const char* filter) {
  TableBuildOptions options;
  options.block_bytes = 64;
  options.block_restart_interval = 2;
  options.compression = compression;
  options.filter_policy = bloom::PolicyFromName(filter).value();
  options.target_fpp = 0.01;
  options.digest_seed = kTestSeed;
  options.file_id = 0x0123456789abcdef;
  options.level = 2;
  options.created_micros = 1'700'000'000'000'000;
  options.oldest_tombstone = options.created_micros / 1'000'000;
  return options;
}

Model GoldenModel() {
  using std::string_literals::operator""s;
  Model model;
  model.emplace(InternalKey("", 1), "the empty key");
  model.emplace(InternalKey("\x00\xff"s, 2), "any bytes");
  model.emplace(InternalKey("apple", 9), "newest");
  model.emplace(InternalKey("apple", 8, EntryKind::kDelete), "");
  model.emplace(InternalKey("apple", 3), "oldest");
  model.emplace(InternalKey("apricot", 4), std::string(40, 'a'));
  model.emplace(InternalKey("banana", 5, EntryKind::kDelete), "");
  model.emplace(InternalKey("cherry", 0x123456789abcde), "");
  return model;
}

// Lines with an offset, 16 bytes, and their letters; a heading for each part.
class HexDump {
 public:
  explicit HexDump(std::string_view bytes) : bytes_(bytes) {}

  void Add(const std::string& name, uint64_t begin, uint64_t end) {
    text_ += "# " + name + "\n";
    for (uint64_t at = begin; at < end; at += 16) {
      const std::string_view line = bytes_.substr(at, std::min<uint64_t>(16, end - at));
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "%05x ", static_cast<unsigned>(at));
      text_ += buffer;
      for (size_t i = 0; i < 16; ++i) {
        std::snprintf(buffer, sizeof(buffer), i < line.size() ? " %02x" : "   ",
                      i < line.size() ? static_cast<uint8_t>(line[i]) : 0);
        text_ += buffer;
      }
      text_ += "  ";
      for (const char c : line) text_ += c >= 0x20 && c < 0x7f ? c : '.';
      text_ += "\n";
    }
  }
  void AddBlock(const std::string& name, BlockHandle handle) {
    const uint64_t end = handle.offset + handle.stored_bytes;
    Add(name, handle.offset, end);
    Add("trailer", end, end + kBlockTrailerBytes);
  }
  const std::string& text() const { return text_; }

 private:
  const std::string_view bytes_;
  std::string text_;
};

std::string Dump(const std::string& bytes) {
  const OpenedTable opened = OpenTableBytes(bytes).value();
  const Table& table = *opened.table;
  HexDump dump(bytes);
  dump.Add("header", 0, kTableHeaderBytes);
  for (size_t i = 0; i < table.block_count(); ++i) {
    dump.AddBlock("data block " + std::to_string(i), table.block_handle(i));
  }
  if (table.is_partitioned()) {
    const Partitions& partitions = table.partitions();
    for (const PartitionKind kind : {PartitionKind::kFilter, PartitionKind::kIndex}) {
      for (size_t i = 0; i < partitions.count(); ++i)
        dump.AddBlock((kind == PartitionKind::kFilter ? "filter partition " : "index partition ") +
                          std::to_string(i),
                      partitions.handle(kind, i));
    }
    dump.AddBlock("top-level block", table.footer().index);
  } else {
    if (!table.footer().filter.is_null()) dump.AddBlock("filter block", table.footer().filter);
    dump.AddBlock("index block", table.footer().index);
  }
  if (!table.footer().ranges.is_null()) dump.AddBlock("ranges block", table.footer().ranges);
  dump.AddBlock("properties block", table.footer().properties);
  dump.Add("footer", bytes.size() - kFooterBytes, bytes.size());
  return dump.text();
}

void ExpectHoldsTheModel(const Table& table, const Model& model = GoldenModel()) {
  auto at = model.begin();
  auto iterator = table.NewIterator({});
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++at) {
    ASSERT_NE(at, model.end());
    EXPECT_EQ(iterator->key(), at->first);
    EXPECT_EQ(iterator->value(), at->second);
    ASSERT_OK_AND_ASSIGN(const Answer answer, AskTable(table, UserKeyOf(at->first), kSequenceMax));
    EXPECT_EQ(answer, AskModel(model, UserKeyOf(at->first), kSequenceMax));
  }
  EXPECT_OK(iterator->status());
  EXPECT_EQ(at, model.end());
  EXPECT_EQ(table.filter_presence(), FilterPresence::kUsable);
  EXPECT_EQ(table.properties().created_by, "trellis 0.1.0");
  EXPECT_EQ(table.properties().level, 2);
}

TEST(TableGoldenTest, BytesMatchVersion1) {
  // Without compression, because LZ4's output may change.
  for (const char* filter : {"standard", "blocked"}) {
    const std::string bytes = BuildTable(GoldenOptions(Compression::kNone, filter), GoldenModel());
    testing_support::ExpectGolden(std::string("table/tiny_") + filter + ".golden", Dump(bytes));
  }
}

TEST(TableGoldenTest, PartitionedBytesMatchVersion2) {
  TableBuildOptions options = GoldenOptions(Compression::kNone, "blocked");
  options.partition_bytes = 40;
  const std::string bytes = BuildTable(options, GoldenModel());
  testing_support::ExpectGolden("table/tiny_partitioned.golden", Dump(bytes));
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes, 1 << 20, true));
  ExpectHoldsTheModel(*opened.table);
}

RangeMap GoldenRanges() {
  const RangeDelete ranges[] = {{"apple", "banana", 6}, {"apricot", "b", 9}, {"date", {}, 300}};
  return testing_support::RangesOf(ranges, std::vector<Sequence>{6});
}

TEST(TableGoldenTest, BytesWithRangesMatchVersion3) {
  TableBuildOptions options = GoldenOptions(Compression::kNone, "blocked");
  for (const auto& [name, partition_bytes] :
       {std::pair("ranges", size_t{0}), std::pair("ranges_partitioned", size_t{40})}) {
    options.partition_bytes = partition_bytes;
    const std::string bytes = BuildTable(options, GoldenModel(), nullptr, GoldenRanges());
    testing_support::ExpectGolden(std::string("table/tiny_") + name + ".golden", Dump(bytes));
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes, 1 << 20, true));
    ExpectHoldsTheModel(*opened.table);
    EXPECT_EQ(opened.table->ranges(), GoldenRanges());
  }
  const std::string bytes = BuildTable(options, {}, nullptr, GoldenRanges());
  testing_support::ExpectGolden("table/tiny_only_ranges.golden", Dump(bytes));
}

TEST(TableGoldenTest, BytesOfAKeyspaceMatchVersion3) {
  TableBuildOptions options = GoldenOptions(Compression::kNone, "blocked");
  options.keyspace = 300;
  const std::string bytes = BuildTable(options, GoldenModel());
  testing_support::ExpectGolden("table/tiny_keyspace.golden", Dump(bytes));
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  ExpectHoldsTheModel(*opened.table);
  EXPECT_EQ(opened.table->footer().version(), 3u);
  EXPECT_TRUE(opened.table->ranges().empty());
  EXPECT_EQ(opened.table->properties().keyspace, 300u);
}

TEST(TableGoldenTest, BytesWithTimesMatchVersion3) {
  const TableBuildOptions options = GoldenOptions(Compression::kNone, "blocked");
  Model model = GoldenModel();
  Sequence sequence = 20;
  for (const auto& [key, seconds] : std::map<std::string, uint32_t>{
           {"apple", 1'600'000'300}, {"blueberry", 1'600'000'000}, {"date", kSecondsMax}}) {
    std::string value;
    AppendTimed(&value, seconds, "timed " + key);
    model.emplace(InternalKey(key, ++sequence, EntryKind::kTimedPut), value);
  }
  const std::string bytes = BuildTable(options, model);
  testing_support::ExpectGolden("table/tiny_timed.golden", Dump(bytes));
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  ExpectHoldsTheModel(*opened.table, model);
  EXPECT_EQ(opened.table->footer().version(), 3u);
  const TableProperties& properties = opened.table->properties();
  EXPECT_EQ(properties.timed_entries, 3u);
  EXPECT_EQ(properties.oldest_write_seconds, 1'600'000'000u);
  EXPECT_EQ(properties.newest_write_seconds, kSecondsMax);
  EXPECT_EQ(properties.fifth_write_seconds, 1'600'000'301u);
}

TEST(TableGoldenTest, ReadsTablesOfVersion1) {
  const std::filesystem::path path =
      testing_support::SourceDirectory() / "tests/testdata/table/version1_lz4.table";
  if (std::getenv("TRELLIS_REWRITE") != nullptr && !std::filesystem::exists(path)) {
    // The file was made once.  Later releases need not write the same bytes.
    TableBuildOptions options = GoldenOptions(Compression::kLz4, "blocked");
    options.block_bytes = 200;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << BuildTable(options, GoldenModel());
  }
  const std::string bytes = testing_support::ReadFile(path);
  ASSERT_FALSE(bytes.empty()) << path;
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(bytes));
  ExpectHoldsTheModel(*opened.table);
  // It was written before tables stated these, and has deletions.
  EXPECT_FALSE(opened.table->properties().states_dead_entries());
  // The table contains a compressed block.
  EXPECT_LT(opened.table->properties().data_bytes,
            opened.table->properties().uncompressed_data_bytes);
}

TEST(TableGoldenTest, GoldenTablesHoldTheirEntries) {
  ASSERT_OK_AND_ASSIGN(
      const OpenedTable opened,
      OpenTableBytes(BuildTable(GoldenOptions(Compression::kNone, "standard"), GoldenModel())));
  ExpectHoldsTheModel(*opened.table);
}

}  // namespace
}  // namespace lsm
