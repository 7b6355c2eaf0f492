// Threads that read, write, replace and remove tables in a cache that is too small for them.
// Mainly for ThreadSanitizer.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/lsm/pieces/cache_fixture.h"
#include "tests/support/dice.h"

namespace lsm {
namespace {

class CacheConcurrentTest : public CacheFixture {
 protected:
  // A read of one table, and one of both.
  void ReadSome(const ReadFile& file, const std::string& bytes, const ReadFile& other,
                const std::string& other_bytes, testing_support::Dice* dice) {
    const uint64_t offset = dice->Roll(bytes.size());
    const uint64_t length = dice->Roll(dice->OneIn(3) ? 2 * kPiece : 6000);
    EXPECT_EQ(ReadFrom(file, offset, length), bytes.substr(offset, length));
    std::string first(100, '?'), second(100, '?');
    std::vector<ReadRequest> requests = {{&file, 5, first, {}, 0}, {&other, 70'000, second, {}, 0}};
    cached_->ReadMany(requests);
    EXPECT_EQ(first, bytes.substr(5, 100));
    EXPECT_EQ(second, other_bytes.substr(70'000, 100));
  }
};

TEST_F(CacheConcurrentTest, ThreadsShareASmallCache) {
  cache_bytes_ = 1 << 20;
  Start();
  const std::string shared_bytes = TableBytes(1, 6 * kPiece);
  Write(kTable, shared_bytes);
  const std::unique_ptr<ReadFile> shared = Open(kTable);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      testing_support::Dice dice(thread);
      for (uint64_t i = 0; i < 12; ++i) {
        const std::string name = "0001" + std::to_string(10 + thread) + ".table";
        const std::string bytes = TableBytes(100 * thread + i + 2, 3 * kPiece + 100);
        Write(name, bytes);
        const std::unique_ptr<ReadFile> own = Open(name);
        for (int read = 0; read < 6; ++read) {
          ReadSome(*shared, shared_bytes, *own, bytes, &dice);
          ReadSome(*own, bytes, *shared, shared_bytes, &dice);
        }
        EXPECT_OK(directory_->Remove(name));
        EXPECT_LE(statistics().bytes, cache_bytes_);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(BytesOnDisk(), cache_bytes_);
  EXPECT_EQ(statistics().errors, 0u);
  EXPECT_EQ(statistics().bad_pieces, 0u);
}

}  // namespace
}  // namespace lsm
