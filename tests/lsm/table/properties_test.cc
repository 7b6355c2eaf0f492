#include "lsm/table/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lsm/block/format.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "tests/support/document_table.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing_support::StatusIs;

// Names every member, so that a new one does not compile before it has a value here.  Those that a
// file may lack have their default; FormatPageHasThemAll states these too.
TableProperties Full() {
  using std::string_literals::operator""s;
  TableProperties properties;
  auto& [entries, deletions, dead_bytes, covered_bytes, oldest_tombstone, range_deletes,
         range_bytes, distinct_keys, smallest_key, largest_key, smallest_sequence, largest_sequence,
         raw_key_bytes, raw_value_bytes, data_bytes, uncompressed_data_bytes, data_blocks,
         index_bytes, filter_bytes, partitions, filter_kind, target_fpp, expected_fpp,
         filter_reason, digest_seed, digest_hash, digest_seed_high, compression, block_bytes,
         restart_interval, timed_entries, oldest_write_seconds, newest_write_seconds,
         fifth_write_seconds, keyspace, level, created_micros, created_by, others, missing] =
      properties;
  entries = 1;
  deletions = 2;
  dead_bytes = 13;
  covered_bytes = 14;
  oldest_tombstone = 15;
  range_deletes = 16;
  range_bytes = 17;
  distinct_keys = 3;
  smallest_key = "\x00\xff"s;
  largest_key = std::string(1000, 'z');
  smallest_sequence = 4;
  largest_sequence = std::numeric_limits<uint64_t>::max();
  raw_key_bytes = 5;
  raw_value_bytes = 6;
  data_bytes = 7;
  uncompressed_data_bytes = 8;
  data_blocks = 9;
  index_bytes = 10;
  filter_bytes = 11;
  filter_kind = "blocked";
  target_fpp = 0.01;
  expected_fpp = 1e-300;
  digest_seed = 0x8000000000000001;
  compression = "lz4";
  block_bytes = 4096;
  restart_interval = 16;
  level = 6;
  created_micros = 12;
  created_by = "trellis 0.1.0";
  return properties;
}

TEST(TablePropertiesTest, DecodesItsEncoding) {
  for (const TableProperties& properties : {TableProperties(), Full()}) {
    ASSERT_OK_AND_ASSIGN(const TableProperties decoded,
                         TableProperties::Decode(properties.Encode(), "f", 0));
    EXPECT_EQ(decoded.ToMap(), properties.ToMap());
    EXPECT_EQ(decoded.Encode(), properties.Encode());
    EXPECT_TRUE(decoded.others.empty());
  }
}

TEST(TablePropertiesTest, FieldsHaveNames) {
  const auto map = Full().ToMap();
  EXPECT_EQ(map.size(), 29u);
  EXPECT_THAT(map, Contains(Pair("target_fpp", "0.01")));
  EXPECT_THAT(map, Contains(Pair("digest_seed", "9223372036854775809")));
  EXPECT_THAT(map, Contains(Pair("smallest_key", "\\x00\\xff")));
  EXPECT_THAT(map, Contains(Pair("level", "6")));
}

TEST(TablePropertiesTest, FormatPageHasThemAll) {
  TableProperties properties = Full();
  properties.partitions = 1;
  properties.filter_reason = "share";
  properties.keyspace = 2;
  properties.timed_entries = 1;
  properties.oldest_write_seconds = properties.newest_write_seconds = 7;
  properties.fifth_write_seconds = 8;
  properties.set_digest_seed(bloom::DigestSeed(bloom::DigestHash::kSipHash, 5, 6));
  std::vector<std::string> stated, documented;
  const std::string bytes = properties.Encode();
  for (std::string_view rest = bytes; !rest.empty();) {
    std::string_view name, text;
    ASSERT_TRUE(TakeLengthPrefixed(&rest, &name));
    ASSERT_FALSE(rest.empty());
    const int type = rest.front();
    rest.remove_prefix(1);
    uint64_t number = 0;
    ASSERT_TRUE(type == 1   ? TakeVarint64(&rest, &number)
                : type == 2 ? TakeFixed64(&rest, &number)
                            : TakeLengthPrefixed(&rest, &text));
    stated.push_back(Concat("`", name, "` ", type));
  }
  for (const auto& row : testing_support::TableBelow("lsm/FORMAT.md", "### Properties block"))
    documented.push_back(Concat(row.at(0), " ", row.at(1)));
  EXPECT_EQ(documented, stated);
}

TEST(TablePropertiesTest, StatesOnlyAnUncommonHash) {
  constexpr bloom::DigestSeed kSeed(bloom::DigestHash::kSipHash, 5, UINT64_MAX);
  TableProperties properties = Full();
  EXPECT_EQ(properties.digest_seed_and_hash(), bloom::DigestSeed(0x8000000000000001));
  EXPECT_THAT(properties.Encode(), Not(HasSubstr("digest_hash")));
  properties.set_digest_seed(kSeed);
  const std::string bytes = properties.Encode();
  ASSERT_OK_AND_ASSIGN(TableProperties decoded, TableProperties::Decode(bytes, "f", 0));
  EXPECT_EQ(decoded.digest_seed_and_hash(), kSeed);
  EXPECT_EQ(decoded.Encode(), bytes);
  EXPECT_THAT(decoded.ToMap(), Contains(Pair("digest_hash", "siphash-2-4")));
  decoded.digest_hash = "md5";
  ASSERT_OK_AND_ASSIGN(decoded, TableProperties::Decode(decoded.Encode(), "f", 0));
  EXPECT_EQ(decoded.digest_seed_and_hash(), std::nullopt);

  // With half of the hash key, lookups would ask the filter with wrong digests.
  std::string half = bytes;
  half.erase(bytes.find("digest_seed_high") - 1, 1 + 16 + 1 + 10);
  EXPECT_THAT(TableProperties::Decode(half, "f", 0),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("digest_seed_high")));
}

// Files of stores without a filter goal did not change when goals were introduced.
TEST(TablePropertiesTest, StatesExistingReasons) {
  TableProperties properties = Full();
  EXPECT_THAT(properties.Encode(), Not(HasSubstr("filter_reason")));
  ASSERT_OK_AND_ASSIGN(TableProperties decoded,
                       TableProperties::Decode(properties.Encode(), "f", 0));
  EXPECT_EQ(decoded.filter_reason, "");
  EXPECT_TRUE(decoded.missing.empty());
  properties.filter_reason = "share: its share of 10 bits a key";
  ASSERT_OK_AND_ASSIGN(decoded, TableProperties::Decode(properties.Encode(), "f", 0));
  EXPECT_EQ(decoded.filter_reason, properties.filter_reason);
  EXPECT_THAT(decoded.ToMap(), Contains(Pair("filter_reason", properties.filter_reason)));
}

// Files of tables without dead entries did not change when these properties were introduced.
TEST(TablePropertiesTest, StatesExistingDeadEntries) {
  TableProperties properties = Full();
  properties.entries = properties.distinct_keys = 3;
  properties.deletions = properties.dead_bytes = properties.covered_bytes = 0;
  properties.oldest_tombstone = properties.range_deletes = 0;
  ASSERT_OK_AND_ASSIGN(TableProperties decoded,
                       TableProperties::Decode(properties.Encode(), "f", 0));
  EXPECT_THAT(decoded.ToMap(), Not(Contains(Key("dead_bytes"))));
  EXPECT_TRUE(decoded.missing.empty());
  EXPECT_TRUE(decoded.states_dead_entries());
  EXPECT_EQ(decoded.dead_entries(), DeadEntries());
  // Old versions, but no tombstone.
  properties.entries = 4;
  properties.dead_bytes = 5;
  ASSERT_OK_AND_ASSIGN(decoded, TableProperties::Decode(properties.Encode(), "f", 0));
  EXPECT_THAT(decoded.ToMap(), Not(Contains(Key("covered_bytes"))));
  EXPECT_EQ(decoded.dead_entries(), (DeadEntries{0, 5, 0, 0}));
  ASSERT_OK_AND_ASSIGN(decoded, TableProperties::Decode(Full().Encode(), "f", 0));
  EXPECT_EQ(decoded.dead_entries(), (DeadEntries{2, 13, 14, 15}));
}

// Files of tables without ranges did not change when these properties were introduced.
TEST(TablePropertiesTest, StatesExistingRanges) {
  TableProperties properties = Full();
  properties.deletions = 0;
  ASSERT_OK_AND_ASSIGN(TableProperties decoded,
                       TableProperties::Decode(properties.Encode(), "f", 0));
  EXPECT_THAT(decoded.ToMap(), Contains(Pair("range_deletes", "16")));
  // They have an age, as tombstones.
  EXPECT_THAT(decoded.ToMap(), Contains(Pair("oldest_tombstone", "15")));
  properties.range_deletes = 0;
  ASSERT_OK_AND_ASSIGN(decoded, TableProperties::Decode(properties.Encode(), "f", 0));
  EXPECT_TRUE(decoded.missing.empty());
  for (const char* const name : {"range_bytes", "range_deletes", "oldest_tombstone"})
    EXPECT_THAT(decoded.ToMap(), Not(Contains(Key(name))));
}

// Such as one of an older release.
TEST(TablePropertiesTest, DeletionsAloneStateNoDeadEntries) {
  std::string bytes = Full().Encode();
  for (const std::string_view name : {"dead_bytes", "covered_bytes", "oldest_tombstone"})
    bytes.erase(bytes.find(name) - 1, 1 + name.size() + 2);
  ASSERT_OK_AND_ASSIGN(const TableProperties decoded, TableProperties::Decode(bytes, "f", 0));
  EXPECT_EQ(decoded.deletions, 2u);
  EXPECT_FALSE(decoded.states_dead_entries());
  EXPECT_EQ(decoded.dead_entries(), DeadEntries());
  EXPECT_THAT(decoded.missing, ElementsAre("covered_bytes", "dead_bytes", "oldest_tombstone"));
}

TEST(TablePropertiesTest, TruncationsAreDamageOrLackLastFields) {
  TableProperties properties = Full();
  properties.range_deletes = 0;  // otherwise the end may be missing unnoticed
  const std::string bytes = properties.Encode();
  size_t sound = 0;
  for (size_t size_bytes = 0; size_bytes < bytes.size(); ++size_bytes) {
    const auto decoded = TableProperties::Decode(bytes.substr(0, size_bytes), "f", 77);
    if (decoded.ok()) {
      ++sound;
      EXPECT_EQ(decoded->missing.size() + decoded->ToMap().size(), properties.ToMap().size());
      EXPECT_EQ(decoded->missing.back(), "uncompressed_data_bytes");
      continue;
    }
    EXPECT_THAT(decoded.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f: offset 77")));
  }
  EXPECT_EQ(sound, 17u);  // at the end of each that follows digest_seed, but the last
}

TEST(TableFormatTest, DecodesFooterAndHeader) {
  Footer footer;
  footer.filter = {100, 50};
  footer.index = {159, 30};
  footer.properties = {198, 60};
  footer.file_id = 0xfedcba9876543210;
  footer.file_bytes = 267 + kFooterBytes;
  footer.data_blocks = 3;
  footer.entries = 1000;
  const std::string bytes = footer.Encode();
  ASSERT_EQ(bytes.size(), kFooterBytes);
  ASSERT_OK_AND_ASSIGN(const Footer decoded, Footer::Decode(bytes, footer.file_bytes, "f"));
  EXPECT_EQ(decoded.filter, footer.filter);
  EXPECT_EQ(decoded.index, footer.index);
  EXPECT_EQ(decoded.properties, footer.properties);
  EXPECT_EQ(decoded.file_id, footer.file_id);
  EXPECT_EQ(decoded.data_blocks, 3u);
  EXPECT_EQ(decoded.entries, 1000u);
  // At another offset the checksum is wrong.
  EXPECT_THAT(Footer::Decode(bytes, footer.file_bytes + 1, "f"),
              StatusIs(absl::StatusCode::kDataLoss));

  const std::string header = EncodeTableHeader(footer.file_id);
  ASSERT_EQ(header.size(), kTableHeaderBytes);
  ASSERT_OK_AND_ASSIGN(const uint64_t file_id, DecodeTableHeader(header, "f"));
  EXPECT_EQ(file_id, footer.file_id);
}

}  // namespace
}  // namespace lsm
