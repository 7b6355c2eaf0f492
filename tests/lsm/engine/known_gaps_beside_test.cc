// Known gaps beside writes: an iterator that jumps hides no put that returned before it was made.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr int kKeys = 200;
constexpr int kReaders = 3;
constexpr int kRounds = 1000;
// On a busy machine readers need more rounds, but not more than these.
constexpr int kRoundsMax = 100 * kRounds;

class KnownGapsBesideTest : public testing::Test {
 protected:
  void Open(uint64_t write_buffer_bytes) {
    Options options = world_.SmallOptions();
    options.environment.scheduler = nullptr;  // threads
    options.write_buffer_bytes = write_buffer_bytes;
    options.level0_stop_tables = 200;  // no delays
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options);
    ASSERT_OK(db);
    db_ = *std::move(db);
  }
  static std::string KeyOf(int number) { return Concat("k", 1000 + number); }

  // Puts one key and deletes it again, and so on, until readers have met keys and gaps.
  void WriteRounds() {
    for (int round = 1; round <= kRoundsMax; ++round) {
      WriteRound(round);
      if (HasFailure()) return;
      if (round % kRounds == 0 && checked_ > 0 && db_->GetStatistics().gap_jumps > 0) return;
    }
  }
  void WriteRound(int round) {
    const std::string key = KeyOf(round * 7919 % kKeys);
    ASSERT_OK(db_->Put(key, Concat(round, std::string(200, 'v'))));
    there_.store(round, std::memory_order_release);
    std::this_thread::yield();
    // Sequentially consistent, as the load of readers: a reader that still sees the old number
    // has seen the key before it is deleted.
    leaving_.store(round, std::memory_order_seq_cst);
    ASSERT_OK(db_->Delete(key));
  }

  void Read(int reader) {
    for (int i = reader; !done_.load(std::memory_order_acquire); ++i) {
      const int round = there_.load(std::memory_order_acquire);
      const std::unique_ptr<Iterator> iterator = db_->NewIterator();
      if (round == 0 || leaving_.load(std::memory_order_seq_cst) >= round) {
        // Walks over deleted keys, and records gaps.
        i % 2 == 0 ? iterator->SeekToFirst() : iterator->SeekToLast();
        ASSERT_OK(iterator->status());
        continue;
      }
      const std::string key = KeyOf(round * 7919 % kKeys);
      switch (i % 4) {
        case 0:
          iterator->SeekToFirst();
          break;
        case 1:
          iterator->SeekToLast();
          break;
        case 2:
          iterator->Seek(key);
          break;
        default:
          iterator->SeekForPrev(key);
      }
      ASSERT_TRUE(iterator->Valid()) << round << ", " << key << ", move " << i % 4;
      ASSERT_EQ(iterator->key(), key);
      checked_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  World world_;
  std::unique_ptr<DB> db_;
  std::atomic<int> there_{0}, leaving_{0}, checked_{0};
  std::atomic<bool> done_{false};
};

TEST_F(KnownGapsBesideTest, HideNoPut) {
  for (const uint64_t write_buffer_bytes : {uint64_t{64} << 10, uint64_t{1} << 20}) {
    Open(write_buffer_bytes);
    there_ = leaving_ = checked_ = 0;
    done_ = false;
    for (int i = 0; i < kKeys; ++i) ASSERT_OK(db_->Delete(KeyOf(i)));
    std::vector<std::thread> readers;
    for (int reader = 0; reader < kReaders; ++reader)
      readers.emplace_back([this, reader] { Read(reader); });
    WriteRounds();
    done_.store(true, std::memory_order_release);
    for (std::thread& reader : readers) reader.join();
    EXPECT_GT(checked_.load(), 0);
    EXPECT_GT(db_->GetStatistics().gap_jumps, 0u);
    db_ = nullptr;
    ASSERT_OK(DB::Destroy(kStorePath, {.environment = world_.SmallOptions().environment}));
  }
}

}  // namespace
}  // namespace lsm
