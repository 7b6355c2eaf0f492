// The checker of concurrent histories rejects impossible histories and accepts possible ones.  It
// also accepts the histories of a sound store.
#include "tests/reliability/histories/histories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/lsm/engine/world.h"
#include "tests/reliability/histories/history_caller.h"
#include "tests/reliability/histories/linearizability.h"
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
TimedCall Given(TimedCall call, std::vector<Condition> given) {
  call.given = std::move(given);
  return call;
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

// Key 1 is the life of a keyspace, 7, until a drop.  Key 0 is in the keyspace.
TEST(LinearizabilityTest, CallsAreGivenTheLifeOfAKeyspace) {
  const auto alive = [](TimedCall call) { return Given(std::move(call), {{1, 7}}); };
  const auto refused = [](TimedCall call) { return Given(std::move(call), {{1, 7, true}}); };
  const TimedCall drop =
      Given(Write(0, 10, 20, {{1, kAbsent}, {0, kAbsent}}), {{1, kAbsent, /*differs=*/true}});
  const auto explains = [&](TimedCall call) {
    return IsLinearizable({drop, std::move(call)}, {5, 7});
  };
  // Beside the drop a call may do either.
  EXPECT_TRUE(explains(alive(Read(1, 11, 19, {{0, 5}}))));
  EXPECT_TRUE(explains(refused(Read(1, 11, 19, {}))));
  EXPECT_TRUE(explains(alive(Write(1, 11, 19, {{0, 6}}))));
  EXPECT_FALSE(explains(alive(Read(1, 11, 19, {{0, kAbsent}}))));
  // Before it, and after it.
  EXPECT_FALSE(explains(refused(Read(1, 1, 9, {}))));
  EXPECT_FALSE(explains(alive(Read(1, 21, 22, {{0, 5}}))));
  EXPECT_FALSE(explains(alive(Read(1, 21, 22, {{0, kAbsent}}))));
  EXPECT_FALSE(explains(alive(Write(1, 21, 22, {{0, 6}}))));
  EXPECT_TRUE(explains(refused(Read(1, 21, 22, {}))));
  // One life is dropped once.
  EXPECT_FALSE(explains(Given(Write(1, 11, 19, {{1, kAbsent}}), {{1, kAbsent, true}})));
}

TimedCall Opening(uint64_t begun, uint64_t returned, uint64_t life) {
  TimedCall call = Given(Read(0, begun, returned, {}), {{1, life}});
  call.name = "OpenKeyspace";
  return call;
}
bool ExplainsOpenings(Calls calls, uint64_t life_at_first) {
  const std::vector<uint64_t> initial = {kAbsent, life_at_first};
  AddCreations(initial, &calls);
  return IsLinearizable(calls, initial);
}

TEST(LinearizabilityTest, OneOfTheOpeningsCreatesAKeyspace) {
  EXPECT_TRUE(ExplainsOpenings({Opening(1, 2, 7)}, 7));
  EXPECT_TRUE(ExplainsOpenings({Opening(1, 2, 7), Opening(3, 4, 7)}, kAbsent));
  EXPECT_TRUE(ExplainsOpenings({Opening(1, 9, 7), Opening(3, 4, 7)}, kAbsent));
  // There is another one, or two at once.
  EXPECT_FALSE(ExplainsOpenings({Opening(1, 2, 8)}, 7));
  EXPECT_FALSE(ExplainsOpenings({Opening(1, 3, 7), Opening(2, 4, 8)}, kAbsent));
  const TimedCall drop = Given(Write(0, 10, 20, {{1, kAbsent}}), {{1, kAbsent, /*differs=*/true}});
  EXPECT_TRUE(ExplainsOpenings({drop, Opening(11, 12, 8)}, 7));
  EXPECT_TRUE(ExplainsOpenings({drop, Opening(11, 12, 7)}, 7));
  EXPECT_FALSE(ExplainsOpenings({drop, Opening(21, 22, 7)}, 7));  // which is over
  EXPECT_FALSE(ExplainsOpenings({drop, Opening(1, 2, 7), Opening(21, 22, 7)}, kAbsent));
  // It was created before the first opening returned.
  const TimedCall before = Given(Read(1, 5, 6, {}), {{1, kAbsent}});
  EXPECT_TRUE(ExplainsOpenings({before, Opening(1, 9, 7), Opening(7, 8, 7)}, kAbsent));
  EXPECT_FALSE(ExplainsOpenings({before, Opening(1, 9, 7), Opening(3, 4, 7)}, kAbsent));
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
    for (const Condition& given : calls[i].given)
      may_be_next = may_be_next && (values[given.key] == given.value) != given.differs;
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

// Reads return any value that is ever written.  Some calls are given one.
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
    if (dice->OneIn(4))
      call.given.push_back({dice->Roll(2), dice->Roll(written + 1), dice->OneIn(2)});
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

TEST(LinearizabilityTest, TheEssenceHasOnlyConditionsThatMatter) {
  const TimedCall creation = Given(Write(0, 3, 4, {{1, 7}}), {{1, kAbsent}});
  const Calls stale = Essence({Given(Write(0, 1, 2, {{0, 5}}), {{1, kAbsent}}), creation,
                               Given(Read(1, 5, 6, {{0, kAbsent}}), {{1, 7}})},
                              kNothing);
  ASSERT_THAT(stale, SizeIs(2));  // the write and the read
  EXPECT_THAT(stale[0].given, IsEmpty());
  EXPECT_THAT(stale[1].given, IsEmpty());
  const Calls refused = Essence(
      {creation, Given(Read(1, 5, 6, {{0, kAbsent}}), {{1, 7, /*differs=*/true}})}, kNothing);
  ASSERT_THAT(refused, SizeIs(2));
  EXPECT_THAT(refused[1].entries, IsEmpty());
  EXPECT_THAT(refused[1].given, SizeIs(1));
}

TEST(LinearizabilityTest, NamesCalls) {
  EXPECT_EQ(TextOf(Write(2, 17, 20, {{0, 5}, {1, kAbsent}})),
            "thread 2, 17 to 20: write k0 = 5, k1 = -");
  EXPECT_EQ(TextOf(Read(0, 1, 2, {{1, 6}})), "thread 0, 1 to 2: read k1 is 6");
  EXPECT_EQ(TextOf(Given(Write(0, 1, 2, {{1, 6}}), {{0, kAbsent, true}, {2, 7}})),
            "thread 0, 1 to 2: write k1 = 6, if k0 is not - and k2 is 7");
}

TEST(HistoriesTest, SoundStoresAreLinearizable) {
  const HistoryReport report = CheckHistories(/*seed=*/7, /*histories=*/40);
  EXPECT_THAT(report.finding, IsEmpty());
  EXPECT_EQ(report.histories, 40u);
  EXPECT_EQ(report.undecided, 0u);
  EXPECT_GE(report.operations, 40u * 200);
  EXPECT_GT(report.overlapping, report.operations / 10);
  EXPECT_GT(report.drops, 40u);
  EXPECT_GT(report.refusals, 40u);
  EXPECT_GT(report.own_trees, 10u);
  EXPECT_GT(report.flushes, 40u);
  EXPECT_GT(report.compactions, 10u);
}

}  // namespace
}  // namespace reliability
