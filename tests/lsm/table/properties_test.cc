#include "lsm/table/properties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>

#include "lsm/block/format.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing_support::StatusIs;

TableProperties Full() {
  using std::string_literals::operator""s;
  TableProperties properties;
  properties.entries = 1;
  properties.deletions = 2;
  properties.distinct_keys = 3;
  properties.smallest_key = "\x00\xff"s;
  properties.largest_key = std::string(1000, 'z');
  properties.smallest_sequence = 4;
  properties.largest_sequence = std::numeric_limits<uint64_t>::max();
  properties.raw_key_bytes = 5;
  properties.raw_value_bytes = 6;
  properties.data_bytes = 7;
  properties.uncompressed_data_bytes = 8;
  properties.data_blocks = 9;
  properties.index_bytes = 10;
  properties.filter_bytes = 11;
  properties.filter_kind = "blocked";
  properties.target_fpp = 0.01;
  properties.expected_fpp = 1e-300;
  properties.digest_seed = 0x8000000000000001;
  properties.compression = "lz4";
  properties.block_bytes = 4096;
  properties.restart_interval = 16;
  properties.level = 6;
  properties.created_micros = 12;
  properties.created_by = "trellis 0.1.0";
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
  EXPECT_EQ(map.size(), 24u);
  EXPECT_THAT(map, Contains(Pair("target_fpp", "0.01")));
  EXPECT_THAT(map, Contains(Pair("digest_seed", "9223372036854775809")));
  EXPECT_THAT(map, Contains(Pair("smallest_key", "\\x00\\xff")));
  EXPECT_THAT(map, Contains(Pair("level", "6")));
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

TEST(TablePropertiesTest, TruncationsAreDamageOrLackLastFields) {
  const std::string bytes = Full().Encode();
  size_t sound = 0;
  for (size_t size_bytes = 0; size_bytes < bytes.size(); ++size_bytes) {
    const auto decoded = TableProperties::Decode(bytes.substr(0, size_bytes), "f", 77);
    if (decoded.ok()) {
      ++sound;
      EXPECT_EQ(decoded->missing.size() + decoded->ToMap().size(), Full().ToMap().size());
      EXPECT_EQ(decoded->missing.back(), "uncompressed_data_bytes");
      continue;
    }
    EXPECT_THAT(decoded.status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("f: offset 77")));
  }
  EXPECT_EQ(sound, 16u);  // at the end of each that follows digest_seed, but the last
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
