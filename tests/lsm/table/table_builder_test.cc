#include "lsm/table/table_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "lsm/limits.h"
#include "lsm/release.h"
#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing_support::StatusIs;

class TableBuilderTest : public ::testing::Test {
 protected:
  std::unique_ptr<TableBuilder> NewBuilder(TableBuildOptions options = {}) {
    written_ = std::make_shared<WrittenState>();
    return std::make_unique<TableBuilder>(std::move(options),
                                          std::make_unique<StringAppendFile>(written_));
  }

  std::shared_ptr<WrittenState> written_;
};

TEST_F(TableBuilderTest, RefusesKeysOutOfOrder) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {InternalKey("b", 5), InternalKey("a", 5)},
      {InternalKey("a", 5), InternalKey("a", 5)},
      {InternalKey("a", 5), InternalKey("a", 6)},
      {InternalKey("a", 5, EntryKind::kDelete), InternalKey("a", 5, EntryKind::kPut)},
      {InternalKey("ab", 5), InternalKey("a", 5)}};
  for (const auto& [first, second] : pairs) {
    auto builder = NewBuilder();
    builder->Add(first, "");
    EXPECT_OK(builder->status());
    builder->Add(second, "");
    EXPECT_THAT(builder->status(),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("out of order")));
    builder->Add(InternalKey("z", 1), "");
    EXPECT_THAT(builder->Finish(), StatusIs(absl::StatusCode::kInternal, HasSubstr(kTablePath)));
    EXPECT_EQ(builder->entry_count(), 1u);
  }
}

TEST_F(TableBuilderTest, RefusesMalformedKeys) {
  for (const std::string& key :
       {std::string(), std::string("1234567"), std::string("a") + std::string(8, '\x02')}) {
    auto builder = NewBuilder();
    builder->Add(key, "");
    EXPECT_THAT(builder->Finish(), StatusIs(absl::StatusCode::kInternal, HasSubstr("malformed")));
  }
}

TEST_F(TableBuilderTest, RefusesEmptyTables) {
  EXPECT_THAT(NewBuilder()->Finish(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("without entries")));
}

TEST_F(TableBuilderTest, RefusesEntriesLargerThanABlock) {
  auto builder = NewBuilder();
  builder->Add(InternalKey("a", 1), std::string(kBlockBytesMax, 'v'));
  EXPECT_THAT(builder->Finish(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("at most")));
}

TEST_F(TableBuilderTest, AcceptsTheLargestEntry) {
  const std::string user_key(kKeyBytesMax, 'k');
  Model model;
  model.emplace(InternalKey("a", 1), std::string(1000, 'v'));
  // As compressible as possible, so that the table also reaches the limit of a block's expanded
  // size.
  model.emplace(InternalKey(user_key, 1), std::string(kValueBytesMax, 'v'));
  TableBuildOptions options;
  options.block_bytes = size_t{1} << 20;
  ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(BuildTable(options, model)));
  ASSERT_OK_AND_ASSIGN(const Answer answer, AskTable(*opened.table, user_key, kSequenceMax));
  EXPECT_EQ(answer.value.size(), kValueBytesMax);
}

TEST_F(TableBuilderTest, KeepsTheFirstError) {
  Dice dice(1);
  const Model model = RandomModel(KeyShape::kDecimal, 100, 1, 100, &dice);
  TableBuildOptions options;
  options.block_bytes = 1000;
  options.filter_policy = bloom::PolicyFromName("blocked").value();
  auto builder = NewBuilder(options);
  for (const auto& [key, value] : model) builder->Add(key, value);
  ASSERT_OK(builder->Finish());
  const int calls = written_->calls;
  EXPECT_TRUE(written_->closed);
  EXPECT_EQ(written_->durable_bytes, written_->bytes.size());
  for (int at = 0; at < calls; ++at) {
    builder = NewBuilder(options);
    // The header is written before this can be set.
    if (at == 0) {
      written_ = std::make_shared<WrittenState>();
      written_->fault_at = 0;
      written_->fault = absl::ResourceExhaustedError("ENOSPC");
      builder =
          std::make_unique<TableBuilder>(options, std::make_unique<StringAppendFile>(written_));
    }
    written_->fault_at = at;
    written_->fault = absl::ResourceExhaustedError("ENOSPC");
    for (const auto& [key, value] : model) builder->Add(key, value);
    EXPECT_THAT(builder->Finish(), StatusIs(absl::StatusCode::kResourceExhausted, "ENOSPC")) << at;
    EXPECT_THAT(builder->status(), StatusIs(absl::StatusCode::kResourceExhausted, "ENOSPC")) << at;
    // No call followed.
    EXPECT_EQ(written_->calls, at + 1);
  }
}

// A policy whose builder finds that its filter denies a key, and returns that error.
class BrokenPolicy : public bloom::FilterPolicy {
 public:
  std::string_view name() const override { return "broken"; }
  std::unique_ptr<bloom::FilterBuilder> NewBuilder(const bloom::FilterContext&) const override {
    class Builder : public bloom::FilterBuilder {
      void Add(bloom::Digest) override {}
      uint64_t key_count() const override { return 0; }
      absl::StatusOr<std::string> Finish() override {
        return absl::InternalError("a key is denied");
      }
    };
    return std::make_unique<Builder>();
  }
};

TEST_F(TableBuilderTest, FailedFiltersFailTheTable) {
  TableBuildOptions options;
  options.filter_policy = std::make_shared<BrokenPolicy>();
  auto builder = NewBuilder(options);
  builder->Add(InternalKey("a", 1), "");
  EXPECT_THAT(builder->Finish(), StatusIs(absl::StatusCode::kInternal, "a key is denied"));
  EXPECT_EQ(written_->durable_bytes, 0u);
}

// Records the context that a policy gets.
class RecordingPolicy : public bloom::FilterPolicy {
 public:
  std::string_view name() const override { return "recording"; }
  std::unique_ptr<bloom::FilterBuilder> NewBuilder(
      const bloom::FilterContext& context) const override {
    seen = context;
    class Builder : public bloom::FilterBuilder {
     public:
      explicit Builder(std::vector<bloom::Digest>* digests) : digests_(digests) {}
      void Add(bloom::Digest digest) override { digests_->push_back(digest); }
      uint64_t key_count() const override { return digests_->size(); }
      absl::StatusOr<std::string> Finish() override { return std::string("filter"); }

     private:
      std::vector<bloom::Digest>* const digests_;
    };
    return std::make_unique<Builder>(&digests);
  }
  mutable bloom::FilterContext seen;
  mutable std::vector<bloom::Digest> digests;
};

TEST_F(TableBuilderTest, AddsOneDigestPerUserKey) {
  const auto policy = std::make_shared<RecordingPolicy>();
  TableBuildOptions options;
  options.filter_policy = policy;
  options.target_fpp = 0.03;
  options.level = 3;
  options.file_id = 77;
  options.digest_seed = 5;
  auto builder = NewBuilder(options);
  for (const char* key : {"", "a", "b"}) {
    for (Sequence sequence = 9; sequence > 5; --sequence) {
      builder->Add(
          InternalKey(key, sequence, sequence % 2 == 0 ? EntryKind::kPut : EntryKind::kDelete),
          "v");
    }
  }
  ASSERT_OK_AND_ASSIGN(const TableSummary summary, builder->Finish());
  EXPECT_EQ(policy->digests,
            (std::vector<bloom::Digest>{bloom::DigestOf("", 5), bloom::DigestOf("a", 5),
                                        bloom::DigestOf("b", 5)}));
  EXPECT_EQ(policy->seen.target_fpp, 0.03);
  EXPECT_EQ(policy->seen.seed, 77u);
  EXPECT_EQ(summary.properties.filter_kind, "recording");
  EXPECT_EQ(summary.properties.target_fpp, 0.03);
  EXPECT_EQ(summary.properties.filter_bytes, 6u);
  EXPECT_EQ(summary.properties.level, 3);
}

TEST_F(TableBuilderTest, RecordsTheRelease) {
  auto builder = NewBuilder();
  builder->Add(InternalKey("a", 1), "v");
  ASSERT_OK_AND_ASSIGN(const TableSummary summary, builder->Finish());
  EXPECT_EQ(summary.properties.created_by, "trellis " TRELLIS_VERSION_STRING);
}

TEST_F(TableBuilderTest, BytesAreReproducible) {
  Dice dice(2);
  const Model model = RandomModel(KeyShape::kBinary, 300, 2, 100, &dice);
  TableBuildOptions options;
  options.filter_policy = bloom::PolicyFromName("standard").value();
  EXPECT_EQ(BuildTable(options, model), BuildTable(options, model));
}

TEST_F(TableBuilderTest, IndexKeysAreShortest) {
  using std::string_literals::operator""s;
  struct Case {
    std::string last, next, separator;
  };
  const std::vector<Case> cases = {
      {"apple", "banana", "b"},
      {"apple", "apricot", "apr"},
      {"a", "b", "a"},
      {"abc", "abcd", "abc"},
      {"", "a", ""},
      {"abc1", "abc2", "abc1"},
      {"abc1xyz", "abc3", "abc2"},
      {"abc1xyz", "abc2", "abc1y"},
      {"abc1\xff\xffz", "abc2", "abc1\xff\xffz"},
      {"abc1\xff\xffzz", "abc2", "abc1\xff\xff{"},
      {"a\xff", "b", "a\xff"},
      {"a\xff\xff", "b", "a\xff\xff"},
      {"\xff\xff", "\xff\xff\x00"s, "\xff\xff"},
      {"same", "same", "same"},
      {"ab", "ab\x00"s, "ab"},
      {"long key of the first block", "long key of the second block", "long key of the s"}};
  for (const Case& c : cases) {
    TableBuildOptions options;
    options.block_bytes = 1;  // a block for each entry
    Model model;
    model.emplace(InternalKey(c.last, 9), "");
    model.emplace(InternalKey(c.next, 8), "");
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(BuildTable(options, model)));
    ASSERT_EQ(opened.table->block_count(), 2u);
    EXPECT_EQ(opened.table->block_fence(0), c.separator) << c.last << " and " << c.next;
    EXPECT_EQ(opened.table->block_fence(1), c.next);
  }
}

TEST_F(TableBuilderTest, EstimateIsNearTheSize) {
  Dice dice(4);
  const Model model = RandomModel(KeyShape::kDecimal, 5000, 1, 100, &dice);
  TableBuildOptions options;
  options.filter_policy = bloom::PolicyFromName("blocked").value();
  auto builder = NewBuilder(options);
  uint64_t last = 0;
  for (const auto& [key, value] : model) {
    builder->Add(key, value);
    EXPECT_GE(builder->size_bytes_estimate() + 4096, last);
    last = builder->size_bytes_estimate();
  }
  ASSERT_OK_AND_ASSIGN(const TableSummary summary, builder->Finish());
  EXPECT_NEAR(static_cast<double>(last), static_cast<double>(summary.file_bytes),
              0.05 * static_cast<double>(summary.file_bytes));
}

TEST_F(TableBuilderTest, BlocksEndAtTheRequestedSize) {
  Dice dice(4);
  const Model model = RandomModel(KeyShape::kDecimal, 3000, 1, 50, &dice);
  for (const size_t block_bytes : {256, 1000, 4096}) {
    TableBuildOptions options;
    options.block_bytes = block_bytes;
    ASSERT_OK_AND_ASSIGN(const OpenedTable opened, OpenTableBytes(BuildTable(options, model)));
    for (size_t i = 0; i + 1 < opened.table->block_count(); ++i) {
      ASSERT_OK_AND_ASSIGN(const std::string block, opened.table->ReadDataBlock(i));
      EXPECT_GE(block.size(), block_bytes);
      EXPECT_LT(block.size(), block_bytes + 100);
    }
  }
}

}  // namespace
}  // namespace lsm
