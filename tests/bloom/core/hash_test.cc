#include "bloom/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/cpu.h"
#include "bloom/core/probe.h"
#include "bloom/core/siphash.h"

namespace {

using bloom::DigestHash;
using bloom::DigestOf;
using bloom::DigestSeed;
using bloom::ReduceRange;
using bloom::Remix;

TEST(HashTest, DigestIsXxh3AsPublished) {
  // From xxHash's own test vectors and its command line (xxhsum -H3).
  EXPECT_EQ(DigestOf("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(DigestOf("a", 0), 0xe6c632b61e964e1fu);
  EXPECT_EQ(DigestOf("abc", 0), 0x78af5f94892f3950u);
}

// Hashes of the bytes 00, 01, ... under the key 00, 01, ... 0f, from OpenSSL's SIPHASH with 8
// bytes. For 15 bytes it is the example of the paper's appendix A.
TEST(HashTest, SipHashMatchesThePaper) {
  constexpr uint64_t kLow = 0x0706050403020100, kHigh = 0x0f0e0d0c0b0a0908;
  constexpr uint64_t kExpected[] = {
      0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
      0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
      0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
      0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
      0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
  };
  std::string bytes;
  for (const uint64_t expected : kExpected) {
    EXPECT_EQ(bloom::SipHash24(bytes, kLow, kHigh), expected) << bytes.size() << " bytes";
    bytes.push_back(static_cast<char>(bytes.size()));
  }
  for (size_t i = bytes.size(); i < 63; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(bloom::SipHash24(bytes, kLow, kHigh), 0x958a324ceb064572u);
  EXPECT_EQ(DigestOf(bytes, {DigestHash::kSipHash, kLow, kHigh}), 0x958a324ceb064572u);
  EXPECT_EQ(DigestOf(bytes, DigestSeed(kLow)), DigestOf(bytes, kLow));
}

TEST(HashTest, DigestDependsOnSeedAndOnEveryBitOfTheKey) {
  for (const DigestHash hash : {DigestHash::kXxh3, DigestHash::kSipHash}) {
    const DigestSeed seed(hash, 7, hash == DigestHash::kXxh3 ? 0 : 9);
    std::string key(300, 'k');
    const uint64_t digest = DigestOf(key, seed);
    EXPECT_NE(digest, DigestOf(key, DigestSeed(hash, 8, seed.high)));
    for (size_t bit = 0; bit < 8 * key.size(); ++bit) {
      key[bit / 8] = static_cast<char>(key[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_NE(digest, DigestOf(key, seed)) << "bit " << bit;
      key[bit / 8] = static_cast<char>(key[bit / 8] ^ (1 << (bit % 8)));
    }
    EXPECT_NE(DigestOf(std::string(1, '\0'), seed), DigestOf("", seed));
    EXPECT_NE(DigestOf("\xff", seed), DigestOf("\x7f", seed));
  }
  EXPECT_NE(DigestOf("k", DigestSeed(DigestHash::kSipHash, 7, 9)),
            DigestOf("k", DigestSeed(DigestHash::kSipHash, 7, 8)));
}

TEST(HashTest, RemixIsFrozen) {
  // murmur3's finalizer of 1, without and with a salt.
  EXPECT_EQ(Remix(1, 0), 0xb456bcfc34c2cb2cu);
  EXPECT_EQ(Remix(0, 1), Remix(1, 0));
  EXPECT_EQ(Remix(0, 0), 0u);
}

TEST(HashTest, RemixCarriesEveryBitIntoEveryOther) {
  // Flipping one input bit should flip 32 of 64 output bits, +- 4 standard errors of the mean.
  constexpr int kSamples = 1000;
  for (int bit = 0; bit < 64; ++bit) {
    int flips = 0;
    for (uint64_t i = 0; i < kSamples; ++i) {
      flips += std::popcount(Remix(i, 42) ^ Remix(i ^ (uint64_t{1} << bit), 42));
    }
    EXPECT_NEAR(flips / double{kSamples}, 32, 4 * 4 / 31.6) << "bit " << bit;
  }
}

TEST(HashTest, RemixAllMatchesRemix) {
  // Tries every length around the lanes of a vector.  Nothing is written after the last digest.
  constexpr uint64_t kUntouched = 0x7e57;
  for (const bloom::Simd simd : {bloom::Simd::kPortable, bloom::BestSimd()}) {
    for (size_t count = 0; count < 70; ++count) {
      std::vector<bloom::Digest> digests(count);
      for (size_t i = 0; i < count; ++i) digests[i] = DigestOf("key", 100 * count + i);
      if (count > 5) digests[count - 5] = 0, digests[count - 4] = ~uint64_t{0};
      const uint64_t salt = DigestOf("salt", count);
      std::vector<uint64_t> hashes(count + 4, kUntouched);
      bloom::RemixAll(digests, salt, hashes.data(), simd);
      for (size_t i = 0; i < hashes.size(); ++i)
        ASSERT_EQ(hashes[i], i < count ? Remix(digests[i], salt) : kUntouched)
            << i << " of " << count;
    }
  }
}

TEST(HashTest, ChecksumIsOfTheTwoPartsInARow) {
  EXPECT_EQ(bloom::ChecksumOf("a", "bc"), DigestOf("abc", 0));
  EXPECT_EQ(bloom::ChecksumOf("", ""), DigestOf("", 0));
  const std::string text(10'000, 'x');
  EXPECT_EQ(bloom::ChecksumOf(text.substr(0, 56), text.substr(56)), DigestOf(text, 0));
}

TEST(ReduceRangeTest, CoversTheRangeEvenlyAndStaysInIt) {
  EXPECT_EQ(ReduceRange(0, 10), 0u);
  EXPECT_EQ(ReduceRange(UINT64_MAX, 10), 9u);
  EXPECT_EQ(ReduceRange(UINT64_MAX, 1), 0u);
  EXPECT_EQ(ReduceRange(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(ReduceRange(uint64_t{1} << 63, 3ull << 40), 3ull << 39);
  std::vector<int> hits(10);
  for (uint64_t i = 0; i < 100'000; ++i) ++hits[ReduceRange(Remix(i, 0), 10)];
  for (const int count : hits) EXPECT_NEAR(count, 10'000, 400);
}

}  // namespace
