// One writer that deletes ranges, and concurrent readers.  A read must give exactly what was added
// up to its number, whatever is added meanwhile.  ThreadSanitizer checks the rest.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/memtable/memtable.h"
#include "lsm/write_batch.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing_support::Dice;

constexpr size_t kGroups = 3000;
constexpr size_t kKeys = 200;
constexpr int kRangeReaders = 3;

std::string KeyOf(size_t key) { return Concat("key", 1000 + key); }

class RangeRace {
 public:
  RangeRace() {
    Dice dice(5);
    Sequence last = 0;
    for (size_t group = 0; group < kGroups; ++group) {
      WriteBatch batch;
      EncodedBatch::SetFirstSequence(&batch, last + 1);
      for (size_t i = 1 + dice.Roll(3); i > 0; --i) {
        ++last;
        const size_t from = dice.Roll(kKeys);
        // Narrow ranges leave gaps, which wide ones would fill soon.
        const bool is_open = dice.OneIn(500);
        const size_t to = is_open ? kKeys : std::min(kKeys, from + 1 + dice.Roll(4));
        batch.DeleteRange(KeyOf(from),
                          is_open ? std::nullopt : std::optional<std::string>(KeyOf(to)));
        for (size_t key = from; key < to; ++key) covering_[key].push_back(last);
      }
      groups_.push_back(std::move(batch));
      ends_.push_back(last);
    }
  }

  void Run() {
    std::vector<std::thread> readers;
    for (int i = 0; i < kRangeReaders; ++i) readers.emplace_back([this, i] { Read(i); });
    for (size_t group = 0; group < kGroups; ++group) {
      const absl::Status prepared = memtable_.PrepareBatch(EncodedBatch::Of(groups_[group]));
      EXPECT_OK(prepared);
      if (!prepared.ok()) break;  // a failure ends the readers, too
      memtable_.AddPrepared();
      // Release: pairs with the readers' acquire, as the store's own publication does.
      added_.store(group + 1, std::memory_order_release);
      if (group % 16 == 0) std::this_thread::yield();  // with few cores, lets all threads run
    }
    for (std::thread& reader : readers) reader.join();
  }

 private:
  Sequence NewestAt(size_t key, Sequence at) const {
    const std::vector<Sequence>& all = covering_[key];
    const auto after = std::upper_bound(all.begin(), all.end(), at);
    return after == all.begin() ? 0 : *std::prev(after);
  }

  void Read(int reader) {
    Dice dice(static_cast<uint64_t>(reader));
    for (bool is_done = false; !is_done && !testing::Test::HasFailure();) {
      const size_t added = added_.load(std::memory_order_acquire);
      is_done = added == kGroups;
      if (added == 0) continue;
      for (int i = 0; i < 10; ++i) {
        ExpectRight(dice.Roll(kKeys), ends_[added - 1]);
        ExpectRight(dice.Roll(kKeys), ends_[dice.Roll(added)]);
      }
      const RangeMap map = memtable_.ranges()->ToMap();
      const size_t key = dice.Roll(kKeys);
      ASSERT_EQ(map.NewestAt(KeyOf(key), ends_[added - 1]), NewestAt(key, ends_[added - 1]));
    }
  }

  void ExpectRight(size_t key, Sequence at) {
    const RangeList& ranges = *memtable_.ranges();
    const std::string name = KeyOf(key);
    const LookupKey lookup(name, at, 0);
    ASSERT_EQ(ranges.NewestAt(lookup.internal_key(), at), NewestAt(key, at)) << key;
    uint64_t walked = 0;
    size_t end = key;
    while (end < kKeys && NewestAt(end, at) > 0) ++end;
    const std::optional<std::string_view> found =
        ranges.EndsOfCover(lookup.internal_key(), at, 0, &walked).of_older;
    // An open range has no end, and all others end at the last key's successor.
    if (end < kKeys) {
      ASSERT_EQ(found, KeyOf(end)) << key;
    } else {
      ASSERT_TRUE(!found || *found == KeyOf(kKeys)) << key;
    }
    size_t begin = key;
    while (begin > 0 && NewestAt(begin - 1, at) > 0) --begin;
    ASSERT_EQ(ranges.BeginsOfCover(lookup.internal_key(), at, 0, &walked).of_older, KeyOf(begin))
        << key;
  }

  std::vector<WriteBatch> groups_;
  std::vector<Sequence> ends_;  // the last number of each group
  std::array<std::vector<Sequence>, kKeys> covering_;
  Memtable memtable_;
  std::atomic<size_t> added_{0};
};

TEST(RangeListConcurrentTest, ReadersSeeEachGroupAsAWhole) { RangeRace().Run(); }

}  // namespace
}  // namespace lsm
