#include "lsm/threads/epoch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "lsm/threads/thread_index.h"

namespace lsm {
namespace {

constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

// Counts its destruction.
struct Object {
  explicit Object(std::atomic<int>* freed_count) : freed(freed_count) {}
  ~Object() { freed->fetch_add(1); }
  std::atomic<int>* const freed;
};
void Free(void* object) { delete static_cast<Object*>(object); }

TEST(EpochTest, FreesAtOnceWithoutGuards) {
  std::atomic<int> freed{0};
  RetireList list;
  for (int i = 0; i < 3; ++i) list.Retire(new Object(&freed), &Free);
  EXPECT_EQ(freed, 0);
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list.Drain(), 0u);
  EXPECT_EQ(freed, 3);
}

TEST(EpochTest, TakesFreeableObjectsInOrder) {
  std::atomic<int> freed{0};
  RetireList list;
  list.Reserve(3);
  std::vector<Object*> objects;
  for (int i = 0; i < 3; ++i) {
    objects.push_back(new Object(&freed));
    list.Retire(objects.back(), &Free);
  }
  for (Object* const object : objects) {
    const std::optional<RetireList::Entry> entry = list.TakeExpired();
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->object, object);
    entry->free(entry->object);
  }
  EXPECT_FALSE(list.TakeExpired().has_value());
  EXPECT_EQ(freed, 3);
}

TEST(EpochTest, GuardsKeepLaterRetiredObjects) {
  std::atomic<int> freed{0};
  RetireList list;
  auto guard = std::make_unique<EpochGuard>();
  list.Retire(new Object(&freed), &Free);
  EXPECT_EQ(list.Drain(), 1u);
  EXPECT_EQ(list.Drain(), 1u);
  EXPECT_EQ(freed, 0);
  guard.reset();
  EXPECT_EQ(list.Drain(), 0u);
  EXPECT_EQ(freed, 1);
}

TEST(EpochTest, LaterGuardsKeepNothing) {
  std::atomic<int> freed{0};
  RetireList list;
  auto early = std::make_unique<EpochGuard>();
  list.Retire(new Object(&freed), &Free);
  list.Drain();  // ends the epoch
  early.reset();
  const EpochGuard late;
  EXPECT_EQ(list.Drain(), 0u);
  EXPECT_EQ(freed, 1);
}

TEST(EpochTest, OverlappingReadersDoNotBlockFreeing) {
  std::atomic<int> freed{0};
  RetireList list;
  std::atomic<bool> stop{false};
  std::atomic<int> turns{0};
  // Two threads, at least one of which is always inside.
  std::vector<std::thread> readers;
  std::atomic<int> inside{0};
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        const EpochGuard guard;
        inside.fetch_add(1);
        const int begin = turns.fetch_add(1);
        // Waits until the other thread has entered after this one.
        while (turns.load() == begin + 1 && !stop.load()) std::this_thread::yield();
        inside.fetch_sub(1);
      }
    });
  }
  while (turns.load() < 10) std::this_thread::yield();
  list.Retire(new Object(&freed), &Free);
  while (list.Drain() != 0) std::this_thread::yield();
  EXPECT_EQ(freed, 1);
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
}

TEST(EpochTest, GuardsNest) {
  std::atomic<int> freed{0};
  RetireList list;
  auto outer = std::make_unique<EpochGuard>();
  {
    const EpochGuard inner;
    list.Retire(new Object(&freed), &Free);
  }
  EXPECT_EQ(list.Drain(), 1u) << "the outer guard still stands";
  outer.reset();
  EXPECT_EQ(list.Drain(), 0u);
}

TEST(EpochTest, KnowsTheOldestGuard) {
  EXPECT_EQ(EpochDomain::OldestEntered(), kNone);
  const uint64_t now = EpochDomain::current();
  const EpochGuard guard;
  EXPECT_EQ(EpochDomain::OldestEntered(), now);
  EXPECT_EQ(EpochDomain::Advance(), now);
  EXPECT_EQ(EpochDomain::current(), now + 1);
  EXPECT_EQ(EpochDomain::OldestEntered(), now);
}

TEST(EpochTest, GuardsOfOtherThreadsCount) {
  std::atomic<int> freed{0};
  RetireList list;
  std::atomic<bool> entered{false};
  std::atomic<bool> leave{false};
  std::thread reader([&] {
    const EpochGuard guard;
    entered.store(true);
    while (!leave.load()) std::this_thread::yield();
  });
  while (!entered.load()) std::this_thread::yield();
  list.Retire(new Object(&freed), &Free);
  EXPECT_EQ(list.Drain(), 1u);
  leave.store(true);
  reader.join();
  EXPECT_EQ(list.Drain(), 0u);
}

TEST(EpochTest, DestructionWaitsForGuards) {
  std::atomic<int> freed{0};
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  auto list = std::make_unique<RetireList>();
  std::thread reader([&] {
    const EpochGuard guard;
    entered.store(true);
    // Long enough for the list to be at its end, and so to wait for this guard.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    left.store(true);
    EXPECT_EQ(freed.load(), 0);
  });
  while (!entered.load()) std::this_thread::yield();
  list->Retire(new Object(&freed), &Free);
  list.reset();
  EXPECT_TRUE(left.load());
  EXPECT_EQ(freed, 1);
  reader.join();
}

TEST(EpochTest, EndedThreadsFreeTheirSlots) {
  std::set<EpochDomain::Slot*> slots;
  for (int i = 0; i < 20; ++i) {
    EpochDomain::Slot* slot = nullptr;
    std::thread([&] {
      const EpochGuard guard;
      slot = &EpochDomain::SlotOfThisThread();
    }).join();
    slots.insert(slot);
  }
  EXPECT_LE(slots.size(), 2u);
}

// Readers follow a pointer that a writer keeps replacing.  If an object is freed too early, a
// reader sees the poison in it.  Sanitizers detect it, too.
TEST(EpochTest, ReadersNeverSeeFreedObjects) {
  struct Node {
    std::atomic<uint64_t> alive{1};
    ~Node() { alive.store(0, std::memory_order_relaxed); }
  };
  std::atomic<Node*> current{new Node};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> reads{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const EpochGuard guard;
        const Node* const node = current.load(std::memory_order_seq_cst);
        for (int i = 0; i < 10; ++i) ASSERT_EQ(node->alive.load(std::memory_order_relaxed), 1u);
        reads.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  // Two writers, each with its own list.
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      RetireList list;
      for (int i = 0; i < 2000 || reads.load(std::memory_order_relaxed) < 1000; ++i) {
        Node* const old = current.exchange(new Node, std::memory_order_seq_cst);
        list.Retire(old, [](void* node) { delete static_cast<Node*>(node); });
        if (i % 7 == 0) list.Drain();
      }
    });
  }
  threads[3].join();
  threads[4].join();
  stop.store(true);
  for (int t = 0; t < 3; ++t) threads[static_cast<size_t>(t)].join();
  delete current.load();
}

// A reader could follow a pointer before the store of its guard is visible to the writer.  This
// window is a few nanoseconds wide, so the test makes many attempts.  Its nodes are never freed,
// only marked.  With a release store in EpochGuard instead of a sequentially consistent one the
// test fails in some runs, if both threads have a core of their own.
TEST(EpochTest, GuardsAreVisibleBeforeLoads) {
  constexpr int kTries = 300'000;
  struct Node {
    std::atomic<bool> freed{false};
  };
  std::vector<Node> nodes(64);
  std::atomic<Node*> current{&nodes[0]};
  std::atomic<bool> stop{false};
  uint64_t freed_too_early = 0;
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      const EpochGuard guard;
      const Node* const node = current.load(std::memory_order_seq_cst);
      for (int i = 0; i < 300; ++i) freed_too_early += node->freed.load(std::memory_order_relaxed);
    }
  });
  RetireList list;
  for (size_t i = 1; i <= kTries; ++i) {
    Node& next = nodes[i % nodes.size()];
    next.freed.store(false, std::memory_order_relaxed);
    list.Retire(current.exchange(&next, std::memory_order_seq_cst), [](void* node) {
      static_cast<Node*>(node)->freed.store(true, std::memory_order_relaxed);
    });
    while (list.Drain() != 0) {
    }
  }
  stop.store(true);
  reader.join();
  EXPECT_EQ(freed_too_early, 0u);
}

TEST(ThreadIndexTest, IsConstantAndDistinct) {
  constexpr int kThreads = 8;
  const size_t own = ThreadIndex();
  std::vector<size_t> indexes(kThreads);
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      indexes[static_cast<size_t>(t)] = ThreadIndex();
      arrived.fetch_add(1);
      while (arrived.load() < kThreads) std::this_thread::yield();
      EXPECT_EQ(ThreadIndex(), indexes[static_cast<size_t>(t)]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<size_t>(indexes.begin(), indexes.end()).size(), static_cast<size_t>(kThreads));
  EXPECT_EQ(std::count(indexes.begin(), indexes.end(), own), 0);
  EXPECT_EQ(ThreadIndex(), own);
}

TEST(ThreadIndexTest, ReusesNumbersOfEndedThreads) {
  size_t highest = 0;
  for (int i = 0; i < 50; ++i) {
    std::thread([&] { highest = std::max(highest, ThreadIndex()); }).join();
  }
  EXPECT_LT(highest, 20u);
}

// An object that counts, or reads, when its thread ends.
struct AtThreadEnd {
  size_t* index;
  ~AtThreadEnd() {
    *index = ThreadIndex();
    const EpochGuard guard;
  }
};

TEST(ThreadIndexTest, WorksInDestructorsOfThreads) {
  size_t at_end = 0;
  size_t other = 0;
  std::thread([&] {
    // Made first, so destroyed last: after the thread's number and slot were given back.
    thread_local const AtThreadEnd at_thread_end{&at_end};
    static_cast<void>(at_thread_end.index);
    static_cast<void>(ThreadIndex());
    const EpochGuard guard;
  }).join();
  std::thread([&] { other = ThreadIndex(); }).join();
  EXPECT_LT(at_end, 100u);
  const EpochGuard guard;
}

}  // namespace
}  // namespace lsm
