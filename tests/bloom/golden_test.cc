// The bytes of filters, for ever: a filter on a disk somewhere has them.
#include "tests/support/golden.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/hash.h"
#include "bloom/filter_policy.h"
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

// One character a bit, the least significant bit of a byte first, 64 bits a row.
std::string Bits(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    text += (static_cast<uint8_t>(bytes[i / 8]) >> (i % 8)) & 1 ? '1' : '.';
    if (i % 64 == 63 || i + 1 == 8 * bytes.size()) text += "\n";
  }
  return text;
}

std::string Draw(std::string_view kind, int keys, double fpp) {
  std::vector<bloom::Digest> digests;
  for (int i = 0; i < keys; ++i) {
    digests.push_back(bloom::DigestOf("key " + std::to_string(i), kKeySeed));
  }
  const std::string bytes =
      BuildFilter(kind, {.target_fpp = fpp, .seed = 0xfedcba9876543210}, digests);
  const std::string_view view(bytes);
  return std::string(kind) + " of " + std::to_string(keys) + " keys at " + std::to_string(fpp) +
         "\n\nheader\n" + Hex(view.substr(0, 64)) + "\nbits\n" + Bits(view.substr(64)) + "\n";
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

TEST(GoldenTest, StandardFiltersAreFrozen) {
  ExpectGolden("bloom/standard.golden", Draw("standard", 10, 0.01) + Draw("standard", 100, 0.01) +
                                            Draw("standard", 3, 1e-9));
}

TEST(GoldenTest, BlockedFiltersAreFrozen) {
  ExpectGolden("bloom/blocked.golden", Draw("blocked", 10, 0.01) + Draw("blocked", 100, 0.01) +
                                           Draw("blocked", 3, 1e-9) + Draw("blocked", 2, 0.1));
}

TEST(GoldenTest, SplitBlockFiltersAreFrozen) {
  ExpectGolden("bloom/split_block.golden",
               Draw("split-block", 10, 0.01) + Draw("split-block", 100, 0.01));
}

TEST(GoldenTest, TheEmptyFilterIsFrozen) {
  ExpectGolden("bloom/empty.golden", Draw("standard", 0, 0.01));
}

}  // namespace
