// Threads that add and look up keys at the same time.  The bits equal those of a filter that one
// thread made.  If several threads add the same key at once, exactly one is told that it was new.
// Also for ThreadSanitizer.
#include "bloom/concurrent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bloom/core/bits.h"
#include "bloom/filter.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/standard.h"
#include "tests/bloom/kinds.h"
#include "tests/support/dice.h"
#include "tests/support/sanitized.h"
#include "tests/support/status_matchers.h"

namespace {

using bloom::ConcurrentFilter;
using bloom::Digest;
using testing::HasSubstr;
using testing_support::Dice;
using testing_support::DigestOfKey;
using testing_support::IsOk;
using testing_support::kIsSanitized;
using testing_support::StatusIs;
using Sequential = bloom::Filter<bloom::Blocked>;

constexpr int kThreads = 4;

// Spins for a while, to continue at the same moment as the thread that sets the number.  Then
// yields, in case that thread has no core.
void WaitFor(const std::atomic<int>& number, int at_least) {
  for (int spins = 0; number.load() < at_least; ++spins) {
    if (spins > 500) std::this_thread::yield();
  }
}

// Runs `body(thread)` in all threads, which begin together.
void RunTogether(int threads, const std::function<void(int)>& body) {
  std::atomic<int> ready{0};
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      ready.fetch_add(1);
      WaitFor(ready, threads);
      body(thread);
    });
  }
  for (std::thread& thread : running) thread.join();
}

ConcurrentFilter MakeShared(uint64_t keys, double fpp = 0.01, uint64_t seed = 3) {
  return ConcurrentFilter::Make(keys, fpp, seed).value();
}

// --- one thread ---

TEST(ConcurrentTest, HasTheBytesOfTheBlockedKindAndReadsThem) {
  for (const uint64_t keys : {0, 1, 500, 3000}) {
    for (const double fpp : {0.3, 0.01, 1e-5, 1e-9}) {
      ConcurrentFilter filter = MakeShared(1000, fpp);
      Sequential sequential = Sequential::Make(1000, fpp, 3).value();
      for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(DigestOfKey(i));
      for (uint64_t i = 0; i < keys; ++i) sequential.AddDigest(DigestOfKey(i));
      ASSERT_EQ(filter.Serialize(), sequential.Serialize()) << keys << " keys at " << fpp;
      EXPECT_THAT(Sequential::Load(filter.Serialize()), IsOk());
      EXPECT_EQ(ConcurrentFilter::Load(sequential.Serialize()).value().Serialize(),
                sequential.Serialize());
      EXPECT_NEAR(filter.CurrentFpp(), sequential.CurrentFpp(), 1e-9 * filter.CurrentFpp());
      for (uint64_t i = 0; i < 5000; ++i) {
        ASSERT_EQ(filter.MayContainDigest(DigestOfKey(i)),
                  sequential.MayContainDigest(DigestOfKey(i)));
      }
    }
  }
  EXPECT_THAT(
      ConcurrentFilter::Load(bloom::Filter<bloom::Standard>::Make(10, 0.1).value().Serialize()),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("kind 2, not 3")));
}

TEST(ConcurrentTest, AddIfAbsentAgreesWithMayContain) {
  ConcurrentFilter filter = MakeShared(1000, 0.1);
  Sequential sequential = Sequential::Make(1000, 0.1, 3).value();
  Dice dice(1);
  uint64_t added = 0;
  for (int step = 0; step < 20'000; ++step) {
    const Digest digest = DigestOfKey(dice.Roll(4000));
    const bool passes = sequential.MayContainDigest(digest);
    if (dice.OneIn(4)) {
      filter.AddDigest(digest);
      sequential.AddDigest(digest);
      ++added;
    } else {
      ASSERT_EQ(filter.AddDigestIfAbsent(digest), !passes) << step;
      if (!passes) sequential.AddDigest(digest), ++added;
    }
    ASSERT_TRUE(filter.MayContainDigest(digest));
  }
  EXPECT_EQ(filter.added_count(), added);
  EXPECT_EQ(filter.Serialize(), sequential.Serialize());
}

TEST(ConcurrentTest, ClearedKeysAreNewAgain) {
  ConcurrentFilter filter = MakeShared(100, 1e-6);
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(filter.AddIfAbsent("apple"));
    EXPECT_FALSE(filter.AddIfAbsent("apple"));
    EXPECT_TRUE(filter.AddIfAbsent("pear"));
    filter.Clear();
    EXPECT_FALSE(filter.MayContain("apple"));
  }
}

// --- many threads ---

TEST(ConcurrentTest, ThreadsSetTheSameBitsAsOne) {
  constexpr uint64_t kKeys = kIsSanitized ? 4000 : 100'000;
  // First few lines, so that threads collide in them, then more than the caches hold.
  for (const uint64_t planned : {uint64_t{50}, kKeys}) {
    ConcurrentFilter filter = MakeShared(planned);
    RunTogether(kThreads, [&](int thread) {
      // Neighbours share half of their keys.
      const uint64_t from = static_cast<uint64_t>(thread) * kKeys / 8;
      for (uint64_t i = from; i < from + kKeys / 4; ++i) filter.AddDigest(DigestOfKey(i));
    });
    Sequential sequential = Sequential::Make(planned, 0.01, 3).value();
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      const uint64_t from = thread * kKeys / 8;
      for (uint64_t i = from; i < from + kKeys / 4; ++i) sequential.AddDigest(DigestOfKey(i));
    }
    EXPECT_EQ(filter.added_count(), kKeys / 4 * kThreads);
    EXPECT_EQ(filter.Serialize(), sequential.Serialize()) << planned;
  }
}

// All threads add the same key, one key after the other.  This is the shortest race.
TEST(ConcurrentTest, OneThreadIsToldThatAKeyIsNew) {
  constexpr uint64_t kKeys = kIsSanitized ? 3000 : 60'000;
  ConcurrentFilter filter = MakeShared(kKeys, 1e-9);
  std::vector<std::atomic<int>> told_new(kKeys);
  std::vector<std::atomic<int>> arrived(kKeys);
  RunTogether(2, [&](int) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      arrived[i].fetch_add(1);
      WaitFor(arrived[i], 2);
      const bool is_new = filter.AddDigestIfAbsent(DigestOfKey(i));
      EXPECT_TRUE(filter.MayContainDigest(DigestOfKey(i)));
      if (is_new) told_new[i].fetch_add(1);
    }
  });
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(told_new[i], 1) << i;
  EXPECT_EQ(filter.added_count(), kKeys);
}

// Keys of one claim word, in a few lines.  Other keys set some of their bits at the same time.
std::vector<Digest> DigestsOfOneClaim(uint64_t count, uint64_t seed) {
  std::vector<Digest> digests;
  for (uint64_t i = 0; digests.size() < count; ++i) {
    if (bloom::Remix(DigestOfKey(i, 5), seed) % 1024 == 77) digests.push_back(DigestOfKey(i, 5));
  }
  return digests;
}

TEST(ConcurrentTest, OneThreadIsToldWhenKeysShareAClaim) {
  constexpr uint64_t kKeys = 60;
  const int rounds = kIsSanitized ? 60 : 500;
  const std::vector<Digest> keys = DigestsOfOneClaim(kKeys, 3);
  ConcurrentFilter filter = MakeShared(kKeys, 1e-9);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::atomic<int>> told_new(kKeys);
    RunTogether(kThreads, [&](int thread) {
      for (uint64_t i = 0; i < kKeys; ++i) {
        // Half of the threads from the front, half in another order.
        const uint64_t at = thread % 2 == 0 ? i : i * 7 % kKeys;
        if (filter.AddDigestIfAbsent(keys[at])) told_new[at].fetch_add(1);
      }
    });
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(told_new[i], 1) << i << ", round " << round;
    filter.Clear();
  }
}

// If other threads set bits at the same time, a key may pass that was never added.  At most one
// caller is told that a key is new.  If none is told, other keys have set all of the key's bits.
TEST(ConcurrentTest, AddIfAbsentMissesOnlyFalsePositives) {
  constexpr uint64_t kKeys = 120;
  const int rounds = kIsSanitized ? 60 : 500;
  const std::vector<Digest> keys = DigestsOfOneClaim(kKeys, 3);
  uint64_t untold = 0;
  for (int round = 0; round < rounds; ++round) {
    ConcurrentFilter filter = MakeShared(kKeys, 0.05);
    std::vector<std::atomic<int>> told_new(kKeys);
    const auto noise = [&](uint64_t i) {
      return DigestOfKey(static_cast<uint64_t>(round) * kKeys + i, 6);
    };
    RunTogether(kThreads, [&](int thread) {
      for (uint64_t i = 0; i < kKeys; ++i) {
        if (thread == 0) {
          filter.AddDigest(noise(i));
        } else {
          if (filter.AddDigestIfAbsent(keys[i])) told_new[i].fetch_add(1);
        }
      }
    });
    for (uint64_t i = 0; i < kKeys; ++i) {
      ASSERT_LE(told_new[i], 1) << i << ", round " << round;
      if (told_new[i] == 1) continue;
      ++untold;
      Sequential others = Sequential::Make(kKeys, 0.05, 3).value();
      for (uint64_t j = 0; j < kKeys; ++j) {
        others.AddDigest(noise(j));
        if (j != i) others.AddDigest(keys[j]);
      }
      ASSERT_TRUE(others.MayContainDigest(keys[i])) << i << ", round " << round;
    }
  }
  EXPECT_GT(untold, 0u);  // it does happen
}

TEST(ConcurrentTest, ReadersSeeEarlierAdditions) {
  constexpr uint64_t kKeys = kIsSanitized ? 4000 : 60'000;
  ConcurrentFilter filter = MakeShared(kKeys);
  std::atomic<uint64_t> added{0};
  RunTogether(3, [&](int thread) {
    if (thread == 0) {
      for (uint64_t i = 0; i < kKeys; ++i) {
        if (i % 2 == 0) {
          filter.AddDigest(DigestOfKey(i));
        } else {
          filter.AddDigestIfAbsent(DigestOfKey(i));
        }
        // Release: publishes the additions, which the relaxed bits of the filter do not.
        added.store(i + 1, std::memory_order_release);
        if (i % 1024 == 0) std::this_thread::yield();
      }
      return;
    }
    Dice dice(static_cast<uint64_t>(thread));
    for (uint64_t seen = 0; seen < kKeys;) {
      seen = added.load(std::memory_order_acquire);
      for (int i = 0; i < 20 && seen > 0; ++i) {
        ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(seen - 1)));
        ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(dice.Roll(seen))));
      }
    }
  });
}

TEST(ConcurrentTest, IsSavedAndMergedWhileOthersAdd) {
  constexpr uint64_t kKeys = kIsSanitized ? 1000 : 20'000;
  ConcurrentFilter filter = MakeShared(kKeys), sum = MakeShared(kKeys);
  std::atomic<uint64_t> added{0};
  RunTogether(3, [&](int thread) {
    if (thread == 0) {
      for (uint64_t i = 0; i < kKeys; ++i) {
        filter.AddDigest(DigestOfKey(i));
        added.store(i + 1, std::memory_order_release);
        if (i % 1024 == 0) std::this_thread::yield();
      }
      return;
    }
    for (uint64_t seen = 0; seen < kKeys;) {
      seen = added.load(std::memory_order_acquire);
      if (thread == 1) {
        const absl::StatusOr<Sequential> saved = Sequential::Load(filter.Serialize());
        ASSERT_THAT(saved, IsOk());
        for (uint64_t i = 0; i < seen; ++i) ASSERT_TRUE(saved->MayContainDigest(DigestOfKey(i)));
        EXPECT_GE(filter.EstimatedKeyCount(), 0.9 * static_cast<double>(seen));
        EXPECT_LE(filter.CurrentFpp(), 0.011);
      } else {
        ASSERT_THAT(sum.Merge(filter), IsOk());
        for (uint64_t i = 0; i < seen; ++i) ASSERT_TRUE(sum.MayContainDigest(DigestOfKey(i)));
      }
    }
  });
  EXPECT_EQ(filter.added_count(), kKeys);
  ConcurrentFilter whole = MakeShared(kKeys);
  ASSERT_THAT(whole.Merge(filter), IsOk());
  EXPECT_EQ(whole.Serialize(), filter.Serialize());
}

TEST(ConcurrentTest, TheCountSaturates) {
  ConcurrentFilter filter = MakeShared(100);
  filter.AddDigest(DigestOfKey(1));
  for (int i = 0; i < 64; ++i) ASSERT_THAT(filter.Merge(filter), IsOk());
  EXPECT_EQ(filter.added_count(), UINT64_MAX);
  filter.AddDigest(DigestOfKey(2));
  EXPECT_EQ(filter.added_count(), UINT64_MAX);
  ConcurrentFilter loaded = ConcurrentFilter::Load(filter.Serialize()).value();
  EXPECT_EQ(loaded.added_count(), UINT64_MAX);
  loaded.AddDigest(DigestOfKey(3));
  EXPECT_EQ(loaded.added_count(), UINT64_MAX);
  loaded.Clear();
  EXPECT_EQ(loaded.added_count(), 0u);
}

TEST(ConcurrentTest, MergeLosesNoConcurrentKey) {
  constexpr int kRounds = kIsSanitized ? 3 : 200;
  for (int round = 0; round < kRounds; ++round) {
    ConcurrentFilter filter = MakeShared(2000), other = MakeShared(2000);
    for (uint64_t i = 0; i < 1000; ++i) other.AddDigest(DigestOfKey(i, 8));
    std::atomic<int> added{0};
    RunTogether(2, [&](int thread) {
      if (thread == 0) {
        do {
          ASSERT_THAT(filter.Merge(other), IsOk());
        } while (added.load() < 1000);
        return;
      }
      for (uint64_t i = 0; i < 1000; ++i) {
        filter.AddDigest(DigestOfKey(i));
        added.fetch_add(1);
      }
    });
    for (uint64_t i = 0; i < 1000; ++i) {
      ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(i)));
      ASSERT_TRUE(filter.MayContainDigest(DigestOfKey(i, 8)));
    }
  }
}

// Threads take the counters in turn, so two threads with this many between them share one.
TEST(ConcurrentTest, CountsAllAdditions) {
  constexpr uint64_t kKeys = kIsSanitized ? 1000 : 300'000;
  for (const int between : {7, 15, 31}) {
    ConcurrentFilter filter = MakeShared(10);
    std::atomic<int> ready{0};
    const auto add = [&] {
      filter.AddDigest(1);
      ready.fetch_add(1);
      WaitFor(ready, between + 2);
      for (uint64_t i = 1; i < kKeys; ++i) filter.AddDigest(1);
    };
    std::thread first(add);
    WaitFor(ready, 1);
    for (int i = 0; i < between; ++i) {
      std::thread([&] { filter.AddDigest(1); }).join();
      ready.fetch_add(1);
    }
    std::thread last(add);
    first.join();
    last.join();
    EXPECT_EQ(filter.added_count(), static_cast<uint64_t>(between) + 2 * kKeys);
  }
}

// A claim from before Clear would equal one from after it.
TEST(ConcurrentTest, OneThreadIsToldAfterClear) {
  constexpr int kRounds = kIsSanitized ? 1000 : 40'000;
  ConcurrentFilter filter = MakeShared(10, 1e-9);
  std::atomic<int> begun{0}, ended{0}, told_new{0};
  RunTogether(2, [&](int thread) {
    for (int round = 1; round <= kRounds; ++round) {
      if (thread == 0) {
        EXPECT_EQ(told_new.exchange(0), round == 1 ? 0 : 1) << round;
        filter.Clear();
        begun.store(round);
        // The other thread begins a little later, so sometimes one is ahead and sometimes the
        // other.
        for (int i = 0; i < round % 128; ++i) WaitFor(begun, round);
      }
      WaitFor(begun, round);
      if (filter.AddIfAbsent("apple")) told_new.fetch_add(1);
      ended.fetch_add(1);
      if (thread == 0) WaitFor(ended, 2 * round);
    }
  });
}

}  // namespace
