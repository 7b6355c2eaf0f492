// Every kind of damage to a small table.  Afterwards every answer is right, or an error that names
// the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/escape.h"
#include "lsm/table/table_check.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing_support::StatusIs;

// True for an error that damage may cause and that names the place.
bool IsNamed(const absl::Status& status) {
  const std::string message(status.message().data(), status.message().size());
  return (absl::IsDataLoss(status) || absl::IsInvalidArgument(status) ||
          absl::IsUnimplemented(status)) &&
         message.find(kTablePath) != std::string::npos;
}

struct Outcome {
  bool opened = false;
  size_t errors = 0;           // of lookups and walks
  size_t damaged_filters = 0;  // that lookups came to
  FilterPresence filter = FilterPresence::kAbsent;
};

class TableDamageTest : public ::testing::Test {
 protected:
  void Build(Compression compression, const char* filter, size_t partition_bytes = 0) {
    Dice dice(5);
    model_ = RandomModel(KeyShape::kDecimal, 60, 2, 30, &dice);
    for (int i = 0; i < 60; ++i) probes_.push_back(RandomProbe(KeyShape::kDecimal, model_, &dice));
    TableBuildOptions options;
    options.block_bytes = 512;
    options.block_restart_interval = 4;
    options.compression = compression;
    options.digest_seed = kTestSeed;
    options.file_id = 0x1234;
    options.filter_policy = bloom::PolicyFromName(filter).value();
    options.partition_bytes = partition_bytes;
    bytes_ = BuildTable(options, model_);
    const auto opened = OpenTableBytes(bytes_);
    ASSERT_OK(opened.status());
    footer_ = opened->table->footer();
    ASSERT_EQ(opened->table->is_partitioned(), partition_bytes > 0);
    ASSERT_GE(footer_.data_blocks, 3u);
  }

  // Reads these bytes in every way.  Every answer must be right, or an error that names the file.
  Outcome Examine(std::string bytes, const std::string& what, bool partitions_on_demand = false) {
    Outcome outcome;
    auto opened = OpenTableBytes(std::move(bytes), 1 << 20, partitions_on_demand);
    if (!opened.ok()) {
      EXPECT_TRUE(IsNamed(opened.status())) << what << ": " << opened.status();
      return outcome;
    }
    outcome.opened = true;
    const Table& table = *opened->table;
    outcome.filter = table.filter_presence();
    for (const auto& [key, value] : model_) Ask(table, UserKeyOf(key), what, &outcome);
    for (const std::string& probe : probes_) Ask(table, probe, what, &outcome);
    for (const size_t readahead_bytes : {0, 1000}) {
      auto iterator = table.NewIterator({.fill_cache = true, .readahead_bytes = readahead_bytes});
      auto at = model_.cbegin();
      iterator->SeekToFirst();
      for (; iterator->Valid(); iterator->Next(), ++at) {
        if (at == model_.cend() || iterator->key() != at->first ||
            iterator->value() != at->second) {
          ADD_FAILURE() << what << ": the scan yields " << Escape(iterator->key());
          return outcome;
        }
      }
      if (!iterator->status().ok()) {
        ++outcome.errors;
        EXPECT_TRUE(IsNamed(iterator->status())) << what << ": " << iterator->status();
      } else {
        EXPECT_EQ(at, model_.cend()) << what << ": the scan misses keys";
      }
    }
    return outcome;
  }

  void Ask(const Table& table, std::string_view user_key, const std::string& what,
           Outcome* outcome) {
    const LookupKey key(user_key, kSequenceMax, kTestSeed);
    {
      const EpochGuard guard;
      outcome->damaged_filters += table.AskFilter({key}).presence == FilterPresence::kDamaged;
    }
    const auto answer = AskTable(table, user_key, kSequenceMax);
    if (answer.ok()) {
      EXPECT_EQ(*answer, AskModel(model_, user_key, kSequenceMax))
          << what << ": " << Escape(user_key);
    } else {
      ++outcome->errors;
      EXPECT_TRUE(IsNamed(answer.status())) << what << ": " << answer.status();
    }
  }

  Model model_;
  std::vector<std::string> probes_;
  std::string bytes_;
  Footer footer_;
};

class TableFlipTest : public TableDamageTest,
                      public ::testing::WithParamInterface<std::tuple<Compression, const char*>> {};
INSTANTIATE_TEST_SUITE_P(All, TableFlipTest,
                         ::testing::Values(std::tuple(Compression::kNone, "standard"),
                                           std::tuple(Compression::kLz4, "blocked")));

TEST_P(TableFlipTest, FlippedBitsGiveNoWrongAnswer) {
  Build(std::get<0>(GetParam()), std::get<1>(GetParam()));
  const uint64_t filter_end =
      footer_.filter.offset + footer_.filter.stored_bytes + kBlockTrailerBytes;
  for (size_t bit = 0; bit < 8 * bytes_.size() && !HasFailure(); ++bit) {
    const uint64_t offset = bit / 8;
    std::string bytes = bytes_;
    bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << (bit % 8)));
    const Outcome outcome =
        Examine(bytes, "bit " + std::to_string(bit % 8) + " of byte " + std::to_string(offset));
    if (offset >= footer_.filter.offset && offset < filter_end) {
      // Lookups are slower but succeed, and the damage is reported.
      EXPECT_TRUE(outcome.opened) << offset;
      EXPECT_EQ(outcome.errors, 0u) << offset;
      EXPECT_EQ(outcome.filter, FilterPresence::kDamaged) << offset;
    } else if (offset >= kTableHeaderBytes && offset < footer_.filter.offset) {
      // One data block is lost, and nothing else.
      EXPECT_TRUE(outcome.opened) << offset;
      EXPECT_GT(outcome.errors, 0u) << offset;
      EXPECT_EQ(outcome.filter, FilterPresence::kUsable) << offset;
    } else {
      EXPECT_FALSE(outcome.opened) << offset;
    }
  }
}

TEST_F(TableDamageTest, FlippedBitsOfPartitionedTablesGiveNoWrongAnswer) {
  Build(Compression::kLz4, "blocked", /*partition_bytes=*/64);
  const uint64_t filter_end =
      footer_.filter.offset + footer_.filter.stored_bytes + kBlockTrailerBytes;
  ASSERT_EQ(filter_end, footer_.index_partitions);
  for (size_t bit = 0; bit < 8 * bytes_.size() && !HasFailure(); bit += testing_support::kStride) {
    const uint64_t offset = bit / 8;
    std::string bytes = bytes_;
    bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << (bit % 8)));
    const std::string what =
        "bit " + std::to_string(bit % 8) + " of byte " + std::to_string(offset);
    const bool is_filter = offset >= footer_.filter.offset && offset < filter_end;
    const bool is_index = offset >= filter_end && offset < footer_.index.offset;
    const bool is_data = offset >= kTableHeaderBytes && offset < footer_.filter.offset;
    // As a store opens it.
    const Outcome outcome = Examine(bytes, what, /*partitions_on_demand=*/true);
    EXPECT_EQ(outcome.opened, is_data || is_filter || is_index) << what;
    // A damaged index partition is an error for each read that needs it.
    EXPECT_EQ(outcome.errors > 0, is_data || is_index) << what;
    // A damaged filter partition is no error, but is reported.
    EXPECT_EQ(outcome.damaged_filters > 0, is_filter) << what;
    // As tools open it.
    const Outcome whole = Examine(bytes, what);
    EXPECT_EQ(whole.opened, is_data || is_filter) << what;
    EXPECT_EQ(whole.filter == FilterPresence::kDamaged, is_filter) << what;
  }
}

TEST_P(TableFlipTest, RefusesTruncatedTables) {
  Build(std::get<0>(GetParam()), std::get<1>(GetParam()));
  for (size_t size_bytes = 0; size_bytes < bytes_.size() && !HasFailure(); ++size_bytes) {
    const auto opened = OpenTableBytes(bytes_.substr(0, size_bytes));
    EXPECT_THAT(opened.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(kTablePath)))
        << size_bytes;
  }
}

TEST_P(TableFlipTest, DetectsBytesAfterTheEnd) {
  Build(std::get<0>(GetParam()), std::get<1>(GetParam()));
  for (const size_t more : {1, 8, 112, 4096}) {
    EXPECT_FALSE(OpenTableBytes(bytes_ + std::string(more, '\0')).ok()) << more;
    EXPECT_FALSE(OpenTableBytes(bytes_ + bytes_.substr(bytes_.size() - more % bytes_.size())).ok())
        << more;
  }
}

TEST_P(TableFlipTest, ZeroedRangesGiveNoWrongAnswer) {
  Build(std::get<0>(GetParam()), std::get<1>(GetParam()));
  for (size_t offset = 0; offset < bytes_.size() && !HasFailure(); offset += 37) {
    std::string bytes = bytes_;
    const size_t size_bytes = std::min<size_t>(256, bytes.size() - offset);
    if (bytes.substr(offset, size_bytes) == std::string(size_bytes, '\0')) continue;
    bytes.replace(offset, size_bytes, size_bytes, '\0');
    const Outcome outcome = Examine(bytes, "zeros from byte " + std::to_string(offset));
    EXPECT_TRUE(!outcome.opened || outcome.errors > 0 || outcome.filter == FilterPresence::kDamaged)
        << offset;
  }
}

TEST_F(TableDamageTest, DetectsSwappedBlocks) {
  // Equal entries make equal sizes.
  for (int i = 0; i < 64; ++i) {
    char key[16];
    std::snprintf(key, sizeof(key), "%04d", i);
    model_.emplace(InternalKey(key, 1), std::string(100, static_cast<char>('a' + i % 26)));
  }
  TableBuildOptions options;
  options.block_bytes = 512;
  options.compression = Compression::kNone;
  options.digest_seed = kTestSeed;
  bytes_ = BuildTable(options, model_);
  ASSERT_OK_AND_ASSIGN(const OpenedTable sound, OpenTableBytes(bytes_));
  const size_t blocks = sound.table->block_count();
  int swaps = 0;
  for (size_t i = 0; i < blocks; ++i) {
    for (size_t j = i + 1; j < blocks; ++j) {
      const BlockHandle a = sound.table->block_handle(i);
      const BlockHandle b = sound.table->block_handle(j);
      if (a.stored_bytes != b.stored_bytes) continue;
      const size_t size_bytes = a.stored_bytes + kBlockTrailerBytes;
      std::string bytes = bytes_;
      std::swap_ranges(bytes.begin() + static_cast<ptrdiff_t>(a.offset),
                       bytes.begin() + static_cast<ptrdiff_t>(a.offset + size_bytes),
                       bytes.begin() + static_cast<ptrdiff_t>(b.offset));
      EXPECT_GT(Examine(bytes, "blocks " + std::to_string(i) + " and " + std::to_string(j)).errors,
                0u);
      ++swaps;
    }
  }
  EXPECT_GT(swaps, 20);
}

TEST_F(TableDamageTest, DetectsBlocksOfOtherFiles) {
  Build(Compression::kNone, "blocked");
  Dice dice(5);
  Model other_model = RandomModel(KeyShape::kDecimal, 60, 2, 30, &dice);
  TableBuildOptions options;
  options.block_bytes = 512;
  options.block_restart_interval = 4;
  options.compression = Compression::kNone;
  options.digest_seed = kTestSeed;
  options.file_id = 0x1235;  // all else is the same
  options.filter_policy = bloom::PolicyFromName("blocked").value();
  const std::string other = BuildTable(options, other_model);
  ASSERT_EQ(other.size(), bytes_.size());
  const size_t begin = kTableHeaderBytes;
  std::string bytes = bytes_;
  bytes.replace(begin, footer_.filter.offset - begin, other, begin, footer_.filter.offset - begin);
  EXPECT_GT(Examine(bytes, "data blocks of another file").errors, 0u);
  // The filter of another file would deny existing keys.
  bytes = bytes_;
  const size_t filter_bytes = footer_.filter.stored_bytes + kBlockTrailerBytes;
  bytes.replace(footer_.filter.offset, filter_bytes, other, footer_.filter.offset, filter_bytes);
  EXPECT_EQ(Examine(bytes, "the filter of another file").filter, FilterPresence::kDamaged);
}

TEST_F(TableDamageTest, DetectsHeadersOfOtherFiles) {
  Build(Compression::kLz4, "blocked");
  std::string bytes = bytes_;
  bytes.replace(0, kTableHeaderBytes, EncodeTableHeader(0x1235));
  EXPECT_THAT(OpenTableBytes(bytes),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("different tables")));
}

// If the id is known, no answer depends on the header, and only a verification reads it.
TEST_F(TableDamageTest, DetectsDamagedHeadersWithoutAnId) {
  Build(Compression::kLz4, "blocked");
  TableContext context;
  context.digest_seed = kTestSeed;
  context.file_id = 0x1234;
  for (size_t bit = 0; bit < 8 * kTableHeaderBytes; ++bit) {
    std::string bytes = bytes_;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_THAT(OpenTableBytes(bytes), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 0")))
        << bit;
    ASSERT_OK_AND_ASSIGN(const auto table,
                         Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes)), context));
    Outcome outcome;
    for (const auto& [key, value] : model_) Ask(*table, UserKeyOf(key), "a header", &outcome);
    EXPECT_EQ(outcome.errors, 0u) << bit;
    EXPECT_THAT(table->CheckHeader(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("offset 0")))
        << bit;
    std::vector<absl::Status> problems;
    TableCheckCalls calls;
    calls.problem = [&](const absl::Status& problem) {
      problems.push_back(problem);
      return true;
    };
    EXPECT_EQ(CheckTable(*table, calls).entries, model_.size());
    EXPECT_THAT(problems, ElementsAre(table->CheckHeader())) << bit;
  }
  ASSERT_OK_AND_ASSIGN(const auto sound,
                       Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes_)), context));
  EXPECT_OK(sound->CheckHeader());
}

TEST_F(TableDamageTest, DetectsRenamedTables) {
  Build(Compression::kLz4, "blocked");
  TableContext context;
  context.file_id = 0x1235;
  const auto table = Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes_)), context);
  EXPECT_THAT(table.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("another table")));
  context.file_id = 0x1234;
  EXPECT_OK(Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes_)), context).status());
}

TEST_F(TableDamageTest, RefusesForeignFiles) {
  for (const size_t size_bytes : {200, 24, 136, 5000}) {
    EXPECT_THAT(OpenTableBytes(std::string(size_bytes, 'x')).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a table of Trellis")))
        << size_bytes;
  }
}

// Keys of the common tree begin with an id.
TEST_F(TableDamageTest, KeysOfTheCommonTreeHaveFourBytes) {
  for (const KeyspaceId keyspace : {kDefaultKeyspace, kCommonTree}) {
    for (const std::string_view key : {"abc", "abcd"}) {
      TableBuildOptions options;
      options.keyspace = keyspace;
      Model model;
      std::string internal_key;
      AppendInternalKey(&internal_key, key, 1, EntryKind::kPut);
      model[internal_key] = "value";
      ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(BuildTable(options, model)));
      std::vector<std::string> problems;
      TableCheckCalls calls;
      calls.problem = [&](const absl::Status& status) {
        problems.emplace_back(status.message());
        return true;
      };
      CheckTable(*opened.table, calls);
      const bool is_short = keyspace == kCommonTree && key.size() < 4;
      EXPECT_EQ(problems.size(), is_short ? 1u : 0u);
      if (is_short) {
        EXPECT_THAT(problems, ElementsAre(HasSubstr("\"abc\" is shorter than a keyspace's id")));
      }
    }
  }
}

TEST_F(TableDamageTest, FailedReadsAreErrors) {
  Build(Compression::kLz4, "blocked");
  ASSERT_OK_AND_ASSIGN(OpenedTable opened, OpenTableBytes(bytes_, /*cache_bytes=*/0));
  opened.file->fault = absl::UnavailableError("EIO");
  const std::string_view user_key = UserKeyOf(model_.begin()->first);
  EXPECT_THAT(AskTable(*opened.table, user_key, kSequenceMax),
              StatusIs(absl::StatusCode::kUnavailable, "EIO"));
  for (const size_t readahead_bytes : {0, 1000}) {
    auto iterator = opened.table->NewIterator({.readahead_bytes = readahead_bytes});
    iterator->SeekToFirst();
    EXPECT_FALSE(iterator->Valid());
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable, "EIO"));
    // The iterator recovers when the file does.
    opened.file->fault = absl::OkStatus();
    iterator->SeekToFirst();
    EXPECT_TRUE(iterator->Valid());
    opened.file->fault = absl::UnavailableError("EIO");
    while (iterator->Valid()) iterator->Next();
    EXPECT_THAT(iterator->status(), StatusIs(absl::StatusCode::kUnavailable, "EIO"));
  }
}

}  // namespace
}  // namespace lsm
