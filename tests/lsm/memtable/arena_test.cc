#include "lsm/memtable/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "tests/support/deterministic_environment.h"
#include "tests/support/memory_taken.h"
#include "tests/support/sanitized.h"

namespace lsm {
namespace {

struct Piece {
  char* bytes;
  size_t size;
  char filling;
};

void ExpectUntouched(std::vector<Piece> pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.bytes < b.bytes; });
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    ASSERT_EQ(reinterpret_cast<uintptr_t>(piece.bytes) % 8, 0u);
    if (i > 0) {
      ASSERT_LE(pieces[i - 1].bytes + pieces[i - 1].size, piece.bytes);
    }
    for (size_t at = 0; at < piece.size; ++at) ASSERT_EQ(piece.bytes[at], piece.filling) << at;
  }
}

// Allocates pieces of all sizes, with partly used reservations in between.
TEST(ArenaTest, PiecesDoNotOverlap) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    testing_support::SeededRandom random(seed);
    Arena arena;
    std::vector<Piece> pieces;
    for (int i = 0; i < 300; ++i) {
      const uint64_t roll = random.Next() % 100;
      if (roll < 20) arena.Reserve(8 * (1 + random.Next() % 2000));
      const size_t size = 1 + random.Next() % (roll < 85 ? 600 : roll < 97 ? 9000 : 200'000);
      Piece piece{arena.Allocate(size), size, static_cast<char>('a' + i % 26)};
      std::memset(piece.bytes, piece.filling, size);
      pieces.push_back(piece);
    }
    ExpectUntouched(std::move(pieces));
  }
}

// Blocks have grown since the reservation.
TEST(ArenaTest, LargePiecesGetTheirOwnBlock) {
  Arena arena;
  std::vector<Piece> pieces;
  const auto allocate = [&](size_t size) {
    Piece piece{arena.Allocate(size), size, static_cast<char>('a' + pieces.size() % 26)};
    std::memset(piece.bytes, piece.filling, size);
    pieces.push_back(piece);
  };
  allocate(4000);
  arena.Reserve(200);         // a block of 4 KiB, still unused
  allocate(size_t{1} << 20);  // a block of its own; from here on blocks are large
  allocate(6000);
  allocate(100);
  ExpectUntouched(std::move(pieces));
}

// Reservations cover the worst case, and mostly only a small part is used.
TEST(ArenaTest, CountsOnlyUsedMemory) {
  Arena arena;
  std::vector<Piece> pieces;
  arena.Reserve(size_t{64} << 20);
  EXPECT_EQ(arena.memory_bytes(), 0u);
  for (int i = 0; i < 2000; ++i) {
    Piece piece{arena.Allocate(1000), 1000, static_cast<char>('a' + i % 26)};
    std::memset(piece.bytes, piece.filling, piece.size);
    pieces.push_back(piece);
  }
  arena.GiveBackReserved();
  EXPECT_GE(arena.memory_bytes(), 2'000'000u);
  EXPECT_LE(arena.memory_bytes(), 3'500'000u);
  ExpectUntouched(std::move(pieces));
}

// Blocks that stay, like those of iterators, lie between the freed ones.  The heap alone would keep
// the pages of all.
TEST(ArenaTest, ReturnsPagesToTheSystem) {
  if (testing_support::kIsSanitized) return;  // a sanitizer's heap keeps freed memory
  std::vector<std::unique_ptr<char[]>> others;
  others.reserve(100'000);
  const size_t before = testing_support::ResidentBytes();
  std::vector<std::unique_ptr<Arena>> arenas;
  for (int i = 0; i < 64; ++i) {
    arenas.push_back(std::make_unique<Arena>());
    while (arenas.back()->memory_bytes() < size_t{1} << 20) {
      std::memset(arenas.back()->Allocate(1000), 'x', 1000);
      others.push_back(std::make_unique<char[]>(100));
    }
  }
  const size_t full = testing_support::ResidentBytes() - before;
  arenas.clear();
  const size_t left = testing_support::ResidentBytes() - before;
  EXPECT_LT(left, full / 3) << full << " bytes before";
}

}  // namespace
}  // namespace lsm
