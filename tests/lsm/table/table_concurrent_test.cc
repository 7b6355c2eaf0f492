// Readers without locks, while the cache evicts their blocks and tables come and go.
// ThreadSanitizer and AddressSanitizer detect the errors.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/lsm/table/table_model.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

constexpr int kKeys = 400;

std::string ValueOf(int number) { return std::to_string(number) + std::string(100, 'v'); }

std::string TableBytes(uint64_t file_id, size_t partition_bytes = 0) {
  Model model;
  for (int i = 0; i < kKeys; ++i) model.emplace(InternalKey(NumberKey(i), 1), ValueOf(i));
  TableBuildOptions options;
  options.block_bytes = 1500;
  options.file_id = file_id;
  options.digest_seed = kTestSeed;
  options.filter_policy = bloom::PolicyFromName("blocked").value();
  options.partition_bytes = partition_bytes;
  return BuildTable(options, model);
}

// A small version of a store's view: one table, which is replaced.
class OneTableView {
 public:
  OneTableView(std::string bytes, BlockCache* cache)
      : bytes_(std::move(bytes)), cache_(cache), table_(Open()) {}
  ~OneTableView() { delete table_.load(); }

  const Table* current() const { return table_.load(std::memory_order_seq_cst); }
  void Replace() {
    retired_.Retire(table_.exchange(Open(), std::memory_order_seq_cst),
                    [](void* table) { delete static_cast<Table*>(table); });
    retired_.Drain();
  }

 private:
  Table* Open() {
    TableContext context;
    context.block_cache = cache_;
    context.digest_seed = kTestSeed;
    context.partitions_on_demand = true;
    return Table::Open(std::make_unique<CountingReadFile>(FileOf(bytes_)), context)
        .value()
        .release();
  }

  const std::string bytes_;
  BlockCache* const cache_;
  std::atomic<Table*> table_;
  RetireList retired_;
};

// Caches, evicts and erases data blocks only, or partitions of filter and index too.
class TableConcurrentTest : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(PartitionBytes, TableConcurrentTest, ::testing::Values(0, 100));

TEST_P(TableConcurrentTest, LookupsAreRightDuringEviction) {
  for (const size_t cache_bytes : {size_t{4000}, size_t{20'000}, size_t{1} << 20}) {
    BlockCache cache(cache_bytes);
    OneTableView view(TableBytes(1, GetParam()), &cache);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> lookups{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
      readers.emplace_back([&, t] {
        Dice dice(static_cast<uint64_t>(t));
        BlockRef kept;
        std::string_view kept_value;
        std::string kept_expected;
        while (!stop.load(std::memory_order_relaxed)) {
          const int number = static_cast<int>(dice.Roll(2 * kKeys));
          const LookupKey key(NumberKey(number), kSequenceMax, kTestSeed);
          const EpochGuard guard;
          const Table* const table = view.current();
          TableHit hit;
          const bool keep = dice.OneIn(8);
          const auto filter = table->AskFilter({key, !dice.OneIn(8)});
          ASSERT_EQ(filter.presence, FilterPresence::kUsable);
          ASSERT_TRUE(filter.passed || number >= kKeys);
          const auto answer = table->Get({key, !dice.OneIn(8), keep}, &hit);
          ASSERT_OK(answer.status());
          ASSERT_EQ(*answer, number < kKeys ? TableAnswer::kFound : TableAnswer::kAbsent);
          if (number < kKeys) {
            ASSERT_EQ(hit.value, ValueOf(number));
          }
          // A pinned value stays valid, even if its table is destroyed.
          if (keep && number < kKeys) {
            if (kept) {
              ASSERT_EQ(kept_value, kept_expected);
            }
            kept = std::move(hit.pin);
            kept_value = hit.value;
            kept_expected = ValueOf(number);
          }
          lookups.fetch_add(1, std::memory_order_relaxed);
        }
      });
    }
    for (int i = 0; i < 30 || lookups.load(std::memory_order_relaxed) < 5000; ++i) {
      view.Replace();
      ASSERT_LE(cache.used_bytes(), cache_bytes);
      std::this_thread::yield();
    }
    stop.store(true);
    for (std::thread& reader : readers) reader.join();
  }
}

TEST_P(TableConcurrentTest, ScansAreRightWhileTheCacheEvicts) {
  BlockCache cache(6000);
  const OneTableView view(TableBytes(2, GetParam()), &cache);
  const Table& table = *view.current();
  std::vector<std::thread> scanners;
  for (int t = 0; t < 4; ++t) {
    scanners.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        auto iterator =
            table.NewIterator({.fill_cache = true, .readahead_bytes = t == 3 ? size_t{8000} : 0});
        int number = 0;
        for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++number) {
          ASSERT_EQ(UserKeyOf(iterator->key()), NumberKey(number));
          ASSERT_EQ(iterator->value(), ValueOf(number));
        }
        ASSERT_OK(iterator->status());
        ASSERT_EQ(number, kKeys);
        for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) --number;
        ASSERT_EQ(number, 0);
      }
    });
  }
  for (std::thread& scanner : scanners) scanner.join();
}

}  // namespace
}  // namespace lsm
