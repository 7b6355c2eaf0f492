#include "lsm/bytes/checksum.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace lsm {
namespace {

std::string Pattern(size_t length) {
  std::string bytes(length, '\0');
  for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>(i * 131 + (i >> 8));
  return bytes;
}

// These values are on disks.  Changing them makes every store unreadable.
TEST(ChecksumTest, KeepsItsGoldenValues) {
  EXPECT_EQ(Checksum("", 0, 0), 0x9137e0f752810731u);
  EXPECT_EQ(Checksum("a", 0, 0), 0x90484206e977e26du);
  EXPECT_EQ(Checksum("Trellis", 1, 0), 0xe24972dd7b501631u);
  EXPECT_EQ(Checksum("Trellis", 0, 1), 0xe3a0a145ff17336au);
  EXPECT_EQ(Checksum(Pattern(100), 0x0123456789abcdef, 4096), 0xa0d21c799a34127au);
  EXPECT_EQ(Checksum(Pattern(200), 0x0123456789abcdef, 4096), 0x9e079e1c8e111c5eu);
  EXPECT_EQ(Checksum(Pattern(5000), 0x0123456789abcdef, uint64_t{1} << 40), 0x3236a54485825f81u);
}

TEST(ChecksumTest, DependsOnTheFile) {
  const std::string block = Pattern(4096);
  std::set<uint64_t> seen;
  for (uint64_t file_id = 0; file_id < 1000; ++file_id) seen.insert(Checksum(block, file_id, 0));
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(ChecksumTest, DependsOnTheOffset) {
  // Also for empty and short blocks, for which a hash has special cases.
  for (const size_t length : {0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 4096}) {
    const std::string block = Pattern(length);
    std::set<uint64_t> seen;
    for (uint64_t offset = 0; offset < 500; ++offset) seen.insert(Checksum(block, 7, offset));
    EXPECT_EQ(seen.size(), 500u) << "blocks of " << length << " bytes";
  }
}

TEST(ChecksumTest, TellsOffsetsOfFilesApart) {
  // Neighbouring ids and offsets must not cancel out.
  std::set<uint64_t> seen;
  for (uint64_t file_id = 0; file_id < 64; ++file_id) {
    for (uint64_t offset = 0; offset < 64; ++offset) seen.insert(Checksum("x", file_id, offset));
  }
  EXPECT_EQ(seen.size(), 64u * 64u);
}

TEST(ChecksumTest, DetectsFlippedBitsAndTruncations) {
  for (const size_t length : {1, 5, 13, 33, 150, 300, 1100}) {
    std::string block = Pattern(length);
    const uint64_t whole = Checksum(block, 3, 5);
    for (size_t bit = 0; bit < length * 8; ++bit) {
      block[bit / 8] = static_cast<char>(block[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_NE(Checksum(block, 3, 5), whole) << "bit " << bit << " of " << length << " bytes";
      block[bit / 8] = static_cast<char>(block[bit / 8] ^ (1 << (bit % 8)));
    }
    for (size_t cut = 0; cut < length; ++cut) {
      EXPECT_NE(Checksum(block.substr(0, cut), 3, 5), whole) << "cut at " << cut;
    }
  }
}

}  // namespace
}  // namespace lsm
