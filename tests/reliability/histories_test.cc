// The checker of concurrent histories rejects impossible histories and accepts possible ones.  It
// also accepts the histories of a sound store.
#include "tests/reliability/jobs/histories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/lsm/engine/world.h"
#include "tests/reliability/workload/linearizability.h"
#include "tests/support/sanitized.h"

namespace reliability {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using Entries = std::vector<KeyValue>;
using Calls = std::vector<TimedCall>;

// Keys are 0 and 1, absent at first.
const std::vector<uint64_t> kNothing = {kAbsent, kAbsent};

TimedCall Write(int thread, uint64_t begun, uint64_t returned, Entries entries) {
  return {TimedCall::kWrite, "write", thread, begun, returned, std::move(entries)};
}
TimedCall Read(int thread, uint64_t begun, uint64_t returned, Entries entries) {
  return {TimedCall::kRead, "read", thread, begun, returned, std::move(entries)};
}

bool IsLinearizable(const Calls& calls, const std::vector<uint64_t>& initial = kNothing) {
  const Judgement judgement = Judge(calls, initial);
  EXPECT_NE(judgement.verdict, Verdict::kUndecided);
  return judgement.verdict == Verdict::kLinearizable;
}

TEST(LinearizabilityTest, AcceptsSequentialCalls) {
  EXPECT_TRUE(IsLinearizable({}));
  EXPECT_TRUE(IsLinearizable({Read(0, 1, 2, {{0, kAbsent}, {1, kAbsent}})}));
  EXPECT_TRUE(IsLinearizable({Read(0, 1, 2, {{0, 7}})}, {7, kAbsent}));
  EXPECT_FALSE(IsLinearizable({Read(0, 1, 2, {{0, kAbsent}})}, {7, kAbsent}));
  EXPECT_TRUE(IsLinearizable({Write(0, 1, 2, {{0, 5}}), Read(1, 3, 4, {{0, 5}}),
                              Write(0, 5, 6, {{0, kAbsent}}), Read(1, 7, 8, {{0, kAbsent}})}));
}

TEST(LinearizabilityTest, RejectsStaleReads) {
  EXPECT_FALSE(IsLinearizable({Write(0, 1, 2, {{0, 5}}), Read(1, 3, 4, {{0, kAbsent}})}));
  EXPECT_FALSE(IsLinearizable(
      {Write(0, 1, 2, {{0, 5}}), Write(0, 3, 4, {{0, 6}}), Read(1, 5, 6, {{0, 5}})}));
  EXPECT_FALSE(IsLinearizable(
      {Write(0, 1, 2, {{0, 5}}), Write(0, 3, 4, {{0, kAbsent}}), Read(1, 5, 6, {{0, 5}})}));
  // During the write a read may return the old or the new value, but not the old one after the new.
  EXPECT_TRUE(IsLinearizable({Write(0, 1, 4, {{0, 5}}), Read(1, 2, 3, {{0, kAbsent}})}));
  EXPECT_TRUE(IsLinearizable({Write(0, 1, 4, {{0, 5}}), Read(1, 2, 3, {{0, 5}})}));
  EXPECT_FALSE(IsLinearizable(
      {Write(0, 1, 6, {{0, 5}}), Read(1, 2, 3, {{0, 5}}), Read(2, 4, 5, {{0, kAbsent}})}));
}

TEST(LinearizabilityTest, RejectsLostUpdates) {
  // Both writes were acknowledged before the reads.  The reads see only the first write, or first
  // one write and then the other.
  const Calls writes = {Write(0, 1, 4, {{0, 5}}), Write(1, 2, 3, {{0, 6}, {1, 7}})};
  Calls calls = writes;
  calls.push_back(Read(2, 5, 6, {{0, 5}}));
  EXPECT_TRUE(IsLinearizable(calls));
  calls.push_back(Read(2, 7, 8, {{1, kAbsent}}));
  EXPECT_FALSE(IsLinearizable(calls));
  calls = writes;
  calls.push_back(Read(2, 5, 6, {{0, 5}}));
  calls.push_back(Read(2, 7, 8, {{0, 6}}));
  EXPECT_FALSE(IsLinearizable(calls));
}

TEST(LinearizabilityTest, RejectsTornBatches) {
  const TimedCall batch = Write(0, 1, 6, {{0, 5}, {1, 6}});
  EXPECT_TRUE(IsLinearizable({batch, Read(1, 2, 3, {{0, 5}, {1, 6}})}));
  EXPECT_FALSE(IsLinearizable({batch, Read(1, 2, 3, {{0, 5}, {1, kAbsent}})}));
  EXPECT_FALSE(IsLinearizable({batch, Read(1, 2, 3, {{0, kAbsent}, {1, 6}})}));
  // Also with two reads of one key each, where the first returns before the second begins.
  EXPECT_TRUE(IsLinearizable({batch, Read(1, 2, 3, {{0, kAbsent}}), Read(1, 4, 5, {{1, 6}})}));
  EXPECT_FALSE(IsLinearizable({batch, Read(1, 2, 3, {{0, 5}}), Read(1, 4, 5, {{1, kAbsent}})}));
}

TEST(LinearizabilityTest, RejectsTornSnapshots) {
  // The first write returned before the second one began.
  const Calls writes = {Write(0, 1, 2, {{0, 5}}), Write(0, 4, 5, {{1, 6}})};
  const auto with = [&](Entries found) {
    Calls calls = writes;
    calls.push_back(Read(1, 3, 6, std::move(found)));
    return calls;
  };
  EXPECT_TRUE(IsLinearizable(with({{0, 5}, {1, kAbsent}})));
  EXPECT_TRUE(IsLinearizable(with({{0, 5}, {1, 6}})));
  EXPECT_FALSE(IsLinearizable(with({{0, kAbsent}, {1, 6}})));
  // A read shows a write that came after its snapshot was taken.
  EXPECT_FALSE(IsLinearizable({Read(0, 1, 2, {{0, 5}}), Write(0, 3, 4, {{0, 5}})}));
}

TEST(LinearizabilityTest, RejectsUnwrittenValues) {
  EXPECT_FALSE(IsLinearizable({Write(0, 1, 4, {{0, 5}}), Read(1, 2, 3, {{0, 6}})}));
  EXPECT_FALSE(IsLinearizable({Write(0, 1, 4, {{0, 5}}), Read(1, 2, 3, {{1, 5}})}));
}

TEST(LinearizabilityTest, RejectsReadersThatDisagreeOnTheOrder) {
  const Calls writes = {Write(0, 1, 20, {{0, 5}}), Write(1, 2, 21, {{1, 6}})};
  const auto with = [&](std::pair<uint64_t, uint64_t> first, std::pair<uint64_t, uint64_t> second) {
    Calls calls = writes;
    calls.push_back(Read(2, 3, 10, {{0, first.first}, {1, first.second}}));
    calls.push_back(Read(3, 4, 11, {{0, second.first}, {1, second.second}}));
    return calls;
  };
  EXPECT_TRUE(IsLinearizable(with({5, kAbsent}, {5, 6})));
  EXPECT_TRUE(IsLinearizable(with({5, 6}, {kAbsent, 6})));
  EXPECT_FALSE(IsLinearizable(with({5, kAbsent}, {kAbsent, 6})));
  // The same with reads of one key each.
  const Calls single = {Write(0, 1, 20, {{0, 5}}), Write(1, 2, 21, {{1, 6}}),
                        Read(2, 3, 4, {{0, 5}}),   Read(2, 5, 6, {{1, kAbsent}}),
                        Read(3, 7, 8, {{1, 6}}),   Read(3, 9, 10, {{0, kAbsent}})};
  EXPECT_FALSE(IsLinearizable(single));
}

TEST(LinearizabilityTest, WritesOfOneThreadKeepTheirOrder) {
  const Calls calls = {Write(0, 1, 2, {{0, 5}}), Write(0, 3, 4, {{0, 6}}),
                       Write(1, 5, 12, {{0, 7}}), Read(2, 6, 7, {{0, 6}}), Read(2, 8, 9, {{0, 7}})};
  EXPECT_TRUE(IsLinearizable(calls));
  Calls backward = calls;
  backward.push_back(Read(2, 10, 11, {{0, 6}}));
  EXPECT_FALSE(IsLinearizable(backward));
}

TEST(LinearizabilityTest, GivesUpOnTooManyOrders) {
  Calls calls;
  const uint64_t count = 16;
  for (uint64_t i = 0; i < count; ++i)
    calls.push_back(Write(static_cast<int>(i), 1 + i, 100 + i, {{i % 2, 1 + i}}));
  calls.push_back(Read(99, 200, 201, {{0, 99}}));
  EXPECT_EQ(Judge(calls, kNothing, 1000).verdict, Verdict::kUndecided);
  EXPECT_EQ(Judge(calls, kNothing, 1000).positions, 1000u);
}

// --- compared with another checker, which tries all orders and has no memory of positions ---

bool HasAnOrder(const Calls& calls, std::vector<bool>* done, const std::vector<uint64_t>& values) {
  bool any_left = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    if ((*done)[i]) continue;
    any_left = true;
    bool may_be_next = true;
    for (size_t j = 0; j < calls.size(); ++j)
      may_be_next = may_be_next && ((*done)[j] || calls[j].returned >= calls[i].begun);
    std::vector<uint64_t> after = values;
    for (const KeyValue& entry : calls[i].entries) {
      if (calls[i].kind == TimedCall::kWrite) {
        after[entry.key] = entry.value;
      } else {
        may_be_next = may_be_next && values[entry.key] == entry.value;
      }
    }
    if (!may_be_next) continue;
    (*done)[i] = true;
    if (HasAnOrder(calls, done, after)) return true;
    (*done)[i] = false;
  }
  return !any_left;
}

// Reads return any value that is ever written.
Calls AnyCalls(lsm::Dice* dice) {
  Calls calls(3 + dice->Roll(5));
  std::vector<size_t> moments(2 * calls.size());
  for (size_t i = 0; i < moments.size(); ++i) moments[i] = i + 1;
  for (size_t i = 0; i + 1 < moments.size(); ++i)  // not far from where it was
    std::swap(moments[i], moments[std::min(i + dice->Roll(5), moments.size() - 1)]);
  uint64_t written = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    TimedCall& call = calls[i];
    call.kind = dice->OneIn(2) ? TimedCall::kWrite : TimedCall::kRead;
    call.begun = std::min(moments[2 * i], moments[2 * i + 1]);
    call.returned = std::max(moments[2 * i], moments[2 * i + 1]);
    for (size_t key = 0; key < 2; ++key) {
      if (dice->OneIn(3) && !(key == 1 && call.entries.empty())) continue;
      const bool writes = call.kind == TimedCall::kWrite && !dice->OneIn(5);
      call.entries.push_back({key, writes ? ++written : kAbsent});
    }
  }
  for (TimedCall& call : calls) {
    if (call.kind == TimedCall::kWrite) continue;
    for (KeyValue& entry : call.entries) entry.value = dice->Roll(written + 1);
  }
  return calls;
}

TEST(LinearizabilityTest, AgreesWithAnExhaustiveSearch) {
  lsm::Dice dice(1);
  const size_t rounds = testing_support::kIsSanitized ? 4000 : 40'000;
  size_t linearizable = 0;
  for (size_t round = 0; round < rounds; ++round) {
    const Calls calls = AnyCalls(&dice);
    std::vector<bool> done(calls.size());
    const bool expected = HasAnOrder(calls, &done, kNothing);
    linearizable += expected;
    std::string text;
    for (const TimedCall& call : calls) text += TextOf(call) + "\n";
    ASSERT_EQ(IsLinearizable(calls), expected) << text;
    if (expected) continue;
    const Calls essence = Essence(calls, kNothing);
    std::vector<bool> none(essence.size());
    ASSERT_FALSE(HasAnOrder(essence, &none, kNothing)) << text;
  }
  EXPECT_GT(linearizable, rounds / 20);
  EXPECT_GT(rounds - linearizable, rounds / 20);
}

TEST(LinearizabilityTest, ReducesToTheEssence) {
  Calls calls;
  for (uint64_t i = 0; i < 50; ++i) {
    calls.push_back(Write(0, 10 * i + 1, 10 * i + 3, {{i % 2, i + 1}}));
    calls.push_back(Read(1, 10 * i + 4, 10 * i + 5, {{i % 2, i + 1}}));
  }
  ASSERT_TRUE(IsLinearizable(calls));
  calls.push_back(Read(2, 506, 507, {{0, 47}}));  // 49 is there
  ASSERT_FALSE(IsLinearizable(calls));
  const Calls essence = Essence(calls, kNothing);
  EXPECT_FALSE(IsLinearizable(essence));
  EXPECT_THAT(essence, SizeIs(3));  // either value's write, and this read
}

TEST(LinearizabilityTest, NamesCalls) {
  EXPECT_EQ(TextOf(Write(2, 17, 20, {{0, 5}, {1, kAbsent}})),
            "thread 2, 17 to 20: write k0 = 5, k1 = -");
  EXPECT_EQ(TextOf(Read(0, 1, 2, {{1, 6}})), "thread 0, 1 to 2: read k1 is 6");
}

TEST(HistoriesTest, SoundStoresAreLinearizable) {
  const HistoryReport report = CheckHistories(/*seed=*/7, /*histories=*/40);
  EXPECT_THAT(report.finding, IsEmpty());
  EXPECT_EQ(report.histories, 40u);
  EXPECT_EQ(report.undecided, 0u);
  EXPECT_GE(report.operations, 40u * 200);
  EXPECT_GT(report.overlapping, report.operations / 10);
  EXPECT_GT(report.flushes, 40u);
  EXPECT_GT(report.compactions, 10u);
}

}  // namespace
}  // namespace reliability
