// Pins the bytes of filters, which must never change, because stored filters have them.
#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/core/bits.h"
#include "bloom/filter.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "tests/bloom/kinds.h"

namespace {

using testing_support::BuildFilter;
using testing_support::ExpectGolden;

constexpr uint64_t kKeySeed = 0x0123456789abcdef;

std::string Format(const char* format, unsigned long long a, unsigned long long b = 0) {
  char text[100];
  std::snprintf(text, sizeof(text), format, a, b);
  return text;
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    text += i % 16 == 0 ? Format("%04llx ", i) : i % 8 == 0 ? " " : "";
    text += Format(" %02llx", static_cast<uint8_t>(bytes[i]));
    if (i % 16 == 15 || i + 1 == bytes.size()) text += "\n";
  }
  return text;
}

// One character per bit, the least significant bit of a byte first, 64 bits per row.
std::string Bits(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    text += (static_cast<uint8_t>(bytes[i / 8]) >> (i % 8)) & 1 ? '1' : '.';
    if (i % 64 == 63 || i + 1 == 8 * bytes.size()) text += "\n";
  }
  return text;
}

constexpr uint64_t kFilterSeed = 0xfedcba9876543210;

std::vector<bloom::Digest> GoldenDigests(int keys) {
  std::vector<bloom::Digest> digests;
  for (int i = 0; i < keys; ++i) {
    digests.push_back(bloom::DigestOf("key " + std::to_string(i), kKeySeed));
  }
  return digests;
}

std::string DrawBytes(std::string_view kind, int keys, double fpp, std::string_view bytes) {
  return std::string(kind) + " of " + std::to_string(keys) + " keys at " + std::to_string(fpp) +
         "\n\nheader\n" + Hex(bytes.substr(0, 64)) + "\nbits\n" + Bits(bytes.substr(64)) + "\n";
}

std::string Draw(std::string_view kind, int keys, double fpp) {
  const std::string bytes =
      BuildFilter(kind, {.target_fpp = fpp, .seed = kFilterSeed}, GoldenDigests(keys));
  return DrawBytes(kind, keys, fpp, bytes);
}

// With a fixed shape, which does not depend on the rules for sizes.
template <bloom::BitLayout K>
std::string DrawOfShape(const bloom::Shape& shape, int keys, double fpp) {
  auto filter = bloom::Filter<K>::MakeOfShape(shape, fpp, kFilterSeed).value();
  filter.AddDigests(GoldenDigests(keys));
  return DrawBytes(K::kName, keys, fpp, filter.Serialize());
}

// Without a policy, which would make a standard filter for so few keys.
template <bloom::SolvedKind K>
std::string DrawSolved(int keys, double fpp) {
  bloom::Shape shape = K::ShapeFor(static_cast<uint64_t>(keys), fpp).value();
  bloom::AlignedBytes payload = bloom::AlignedBytes::Zeros(K::PayloadBytes(shape));
  const std::vector<bloom::Digest> digests = GoldenDigests(keys);
  EXPECT_TRUE(K::Solve(payload.data(), shape, kFilterSeed, digests).ok());
  bloom::FilterHeader header = bloom::HeaderFor<K>(shape, kFilterSeed, fpp);
  header.key_count = digests.size();
  const std::string bytes = bloom::EncodeFilter(header, payload.span());
  const bloom::FilterReader reader = bloom::FilterReader::Open(bytes);
  for (const bloom::Digest digest : digests) EXPECT_TRUE(reader.MayContain(digest));
  return DrawBytes(K::kName, keys, fpp, bytes);
}

TEST(GoldenTest, DigestsAreFrozen) {
  std::string text =
      "x's in the key      DigestOf(key, 0)  DigestOf(key, 0123456789abcdef)  Remix of that, 42\n";
  // One length for each of the ways that XXH3 has, and the edges between them.
  for (const size_t size : {0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1024, 1025, 5000}) {
    const std::string key(size, 'x');
    const bloom::Digest seeded = bloom::DigestOf(key, kKeySeed);
    text += Format("%-18llu  %016llx", size, bloom::DigestOf(key, 0)) +
            Format("  %016llx                 %016llx\n", seeded, bloom::Remix(seeded, 42));
  }
  ExpectGolden("bloom/digest.golden", text);
}

// --- the drawings of a kind: two filters, unless an overload says otherwise ---

template <bloom::BitLayout K>
std::string Drawings(K) {
  return Draw(K::kName, 10, 0.01) + Draw(K::kName, 100, 0.01);
}
template <bloom::SolvedKind K>
std::string Drawings(K) {
  return DrawSolved<K>(10, 0.01) + DrawSolved<K>(100, 0.1);
}

std::string Drawings(bloom::Empty) { return Draw("standard", 0, 0.01); }

std::string Drawings(bloom::Standard) {
  return DrawOfShape<bloom::Standard>({512, 2}, 10, 0.01) +
         DrawOfShape<bloom::Standard>({960, 7}, 100, 0.01) +
         DrawOfShape<bloom::Standard>({512, 7}, 3, 1e-9);
}

std::string Drawings(bloom::Blocked) {
  return Draw("blocked", 10, 0.01) + Draw("blocked", 100, 0.01) + Draw("blocked", 3, 1e-9) +
         Draw("blocked", 2, 0.1);
}

std::string Drawings(bloom::Shifting) {
  return DrawOfShape<bloom::Shifting>({1024, 2}, 10, 0.01) +
         DrawOfShape<bloom::Shifting>({1429, 6}, 150, 0.01) +
         DrawOfShape<bloom::Shifting>({1024, 6}, 3, 1e-9);
}

// The last of each needs another attempt.
std::string Drawings(bloom::Fuse3) {
  return DrawSolved<bloom::Fuse3>(10, 0.01) + DrawSolved<bloom::Fuse3>(100, 0.1) +
         DrawSolved<bloom::Fuse3>(3, 1e-9) + DrawSolved<bloom::Fuse3>(4, 0.5);
}
std::string Drawings(bloom::Fuse4) {
  return DrawSolved<bloom::Fuse4>(10, 0.01) + DrawSolved<bloom::Fuse4>(100, 0.1) +
         DrawSolved<bloom::Fuse4>(3, 1e-9) + DrawSolved<bloom::Fuse4>(9, 0.01);
}

// ribbon_test.cc freezes shards, too.
std::string Drawings(bloom::Ribbon) { return ""; }

TEST(GoldenTest, FiltersOfAllKindsAreFrozen) {
  bloom::FileKinds::ForEach([]<class K>(K kind) {
    const std::string drawings = Drawings(kind);
    std::string file(K::kName);
    std::replace(file.begin(), file.end(), '-', '_');
    if (!drawings.empty()) ExpectGolden("bloom/" + file + ".golden", drawings);
  });
}

}  // namespace
