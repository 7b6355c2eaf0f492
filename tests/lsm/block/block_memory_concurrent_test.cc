// Threads allocate pieces, hand them to other threads, and these free them.  Also for
// ThreadSanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "lsm/block/block_memory.h"
#include "lsm/fs/huge_pages.h"
#include "tests/support/dice.h"

namespace lsm {
namespace {

using testing_support::Dice;

// The label in the first bytes of each piece.
struct Label {
  BlockMemory::Piece piece;
  size_t size_bytes;
  uint8_t fill;
};

TEST(BlockMemoryConcurrentTest, PiecesNeverOverlapAcrossThreads) {
  BlockMemory memory;
  std::array<std::atomic<Label*>, 500> shared{};
  const auto free = [&memory](Label* label) {
    if (label == nullptr) return;
    const Label held = *label;
    const char* const begin = held.piece.data;
    EXPECT_TRUE(std::all_of(begin + sizeof(Label), begin + held.size_bytes,
                            [&](char byte) { return static_cast<uint8_t>(byte) == held.fill; }));
    memory.Free(held.piece);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Dice dice(static_cast<uint64_t>(t));
      for (int i = 0; i < 20'000; ++i) {
        const bool is_long = dice.OneIn(100);
        const size_t size_bytes = sizeof(Label) + (is_long         ? dice.Roll(400'000)
                                                   : dice.OneIn(2) ? 4200
                                                                   : dice.Roll(9000));
        const BlockMemory::Piece piece = memory.Allocate(size_bytes);
        const auto fill = static_cast<uint8_t>(dice.Next());
        std::memset(piece.data, fill, size_bytes);
        auto* const label = new (piece.data) Label{piece, size_bytes, fill};
        // Acquire and release: the contents of a piece are published with its pointer.
        free(shared[dice.Roll(shared.size())].exchange(label, std::memory_order_acq_rel));
        if (dice.OneIn(3))
          free(shared[dice.Roll(shared.size())].exchange(nullptr, std::memory_order_acq_rel));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<Label*>& label : shared) free(label.load());
  EXPECT_EQ(memory.run_bytes(), 0u);
  EXPECT_LE(memory.region_count(), 1u);
  EXPECT_LE(memory.resident_bytes(), 2 * kHugePageBytes);
}

}  // namespace
}  // namespace lsm
