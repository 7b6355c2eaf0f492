// Every loop makes the operations that it should, and detects every kind of wrong answer.
#include "bench/peers/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "bench/peers/measure.h"
#include "bench/peers/nothing_peer.h"
#include "bench/peers/paced_writer.h"
#include "tests/bench/peers/fake_peer.h"
#include "tests/support/status_matchers.h"

namespace bench::peers {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::StatusIs;

constexpr uint64_t kKeys = 500;

const TaskInfo& TaskOf(std::string_view name) {
  for (const TaskInfo& task : kTasks) {
    if (task.name == name) return task;
  }
  ADD_FAILURE() << name;
  return kTasks[0];
}

class LoopsTest : public testing::Test {
 protected:
  LoopsTest() {
    orders_.random = InRandomOrder(kKeys, 1);
    orders_.zipfian = Zipfian(kKeys, 1000, kTheta, 1);
    const auto fill = NewPutLoop({&peer_, nullptr, &contents_}, orders_.random);
    EXPECT_OK(RunToItsEnd(fill.get()));
    contents_.FillUpTo(kKeys);
    reader_ = peer_.NewReader();
  }

  Subject subject() { return {&peer_, reader_.get(), &contents_}; }

  static absl::Status RunToItsEnd(Loop* loop) {
    for (int step = 0; step < 1000; ++step) {
      const absl::StatusOr<uint64_t> done = loop->Step();
      if (!done.ok()) return done.status();
      if (*done == 0) return absl::OkStatus();
    }
    return absl::OkStatus();  // a loop that continues
  }
  absl::Status Read(std::string_view task) {
    return RunToItsEnd(NewReadLoop(TaskOf(task), subject(), orders_, {1, 0}).get());
  }
  // All reading loops, for tasks with present keys.
  void ExpectAllSee(const char* what, const std::vector<const char*>& tasks) {
    for (const char* const task : tasks) {
      EXPECT_THAT(Read(task), StatusIs(absl::StatusCode::kInternal,
                                       AllOf(HasSubstr("WRONG ANSWER of A"), HasSubstr(what))))
          << task;
    }
  }
  void ExpectContents() {
    uint64_t count = 0;
    for (uint64_t number = 0; number < contents_.size(); ++number) {
      const auto at = peer_.entries.find(std::string_view(DigitKey::Present(number)));
      ASSERT_EQ(at != peer_.entries.end(), contents_.VersionOf(number) > 0) << number;
      if (at == peer_.entries.end()) continue;
      ++count;
      EXPECT_TRUE(contents_.Matches(number, at->second)) << number;
    }
    EXPECT_EQ(peer_.entries.size(), count);
  }

  Log log_;
  FakePeer peer_{"A", &log_};
  Contents contents_{20};
  Orders orders_;
  std::unique_ptr<Reader> reader_;
};

TEST_F(LoopsTest, AcceptsRightAnswers) {
  for (const TaskInfo& task : kTasks) {
    if (!task.reads()) continue;
    EXPECT_OK(Read(task.name)) << task.name;
  }
  ExpectContents();
}

const std::vector<const char*> kPresent = {"get present", "get mixed", "get present, zipfian",
                                           "multiget present", "seek + 10 next"};

TEST_F(LoopsTest, DetectsWrongValues) {
  for (auto& [key, value] : peer_.entries) value.back() ^= 1;
  ExpectAllSee("wrong value", kPresent);
  ExpectAllSee("wrong value", {"scan forward", "scan backward"});
}

TEST_F(LoopsTest, DetectsMissingKeys) {
  for (uint64_t number = 0; number < kKeys; number += 3)
    peer_.entries.erase(std::string(std::string_view(DigitKey::Present(number))));
  ExpectAllSee("did not find", {"get present", "get mixed", "multiget present"});
  ExpectAllSee("wrong key", {"seek + 10 next", "scan forward"});
}

TEST_F(LoopsTest, DetectsMissingKeysInScans) {
  peer_.entries.erase(std::string(std::string_view(DigitKey::Present(kKeys / 2 + 1))));
  EXPECT_FALSE(Read("scan forward").ok());
  EXPECT_FALSE(Read("scan backward").ok());
}

TEST_F(LoopsTest, DetectsUnexpectedKeys) {
  for (uint64_t number = 0; number + 1 < kKeys; number += 2) {
    std::string value;
    contents_.Make(number, &value);
    peer_.entries[std::string(std::string_view(DigitKey::Absent(number)))] = value;
  }
  ExpectAllSee("found an absent key",
               {"get absent", "get mixed", "get absent, zipfian", "multiget absent"});
  EXPECT_FALSE(Read("scan forward").ok());
}

TEST_F(LoopsTest, AbsentKeysLieWithinTheRange) {
  const std::string last = peer_.entries.rbegin()->first;
  EXPECT_OK(Read("get absent"));
  // No lookup asks for the key after the last one.
  peer_.entries[std::string(std::string_view(DigitKey::Absent(kKeys - 1)))] = "out of range";
  EXPECT_OK(Read("get absent"));
  EXPECT_LT(last, std::string_view(DigitKey::Absent(kKeys - 1)));
}

TEST_F(LoopsTest, NotesWrites) {
  contents_.Diversify(2 * kKeys);
  Histogram nanos;
  EXPECT_OK(RunToItsEnd(NewTimedPutLoop(subject(), orders_.random, 3, &nanos).get()));
  EXPECT_EQ(nanos.count(), 3 * kKeys);
  ExpectContents();
  for (uint64_t part = 0; part < 3; ++part) {
    EXPECT_OK(RunToItsEnd(NewDeleteLoop(subject(), orders_.random, 3, part).get()));
    ExpectContents();
    EXPECT_EQ(peer_.entries.count(std::string(std::string_view(DigitKey::Present(part)))), 0u);
  }
  EXPECT_TRUE(peer_.entries.empty());
}

TEST_F(LoopsTest, YcsbRunsAndChecksItsOperations) {
  constexpr uint64_t kOperations = 1000;
  contents_.Diversify(kKeys + 2 * kOperations);
  for (const char letter : {'A', 'B', 'C', 'D', 'E', 'F'}) {
    const uint64_t size = contents_.size();
    uint64_t operations = 0;
    const auto loop = NewYcsbLoop(letter, subject(), orders_, {1, 0}, kOperations);
    for (;;) {
      ASSERT_OK_AND_ASSIGN(const uint64_t done, loop->Step());
      if (done == 0) break;
      operations += done;
    }
    EXPECT_EQ(operations, kOperations);
    ExpectContents();
    const bool inserts = letter == 'D' || letter == 'E';
    EXPECT_EQ(contents_.size() > size, inserts) << letter;
    if (inserts) {
      EXPECT_NEAR(static_cast<double>(contents_.size() - size), 50, 30);
    }
  }
  for (auto& [key, value] : peer_.entries) value.back() ^= 1;
  for (const char letter : {'A', 'B', 'C', 'D', 'E', 'F'}) {
    EXPECT_FALSE(
        RunToItsEnd(NewYcsbLoop(letter, subject(), orders_, {1, 0}, kOperations).get()).ok())
        << letter;
  }
}

TEST_F(LoopsTest, ChecksReadsBesideAWriter) {
  contents_.Diversify(kKeys);
  const auto loop = NewGetBesideWriterLoop(subject(), orders_, {1, 0});
  EXPECT_OK(RunToItsEnd(loop.get()));
  // As if each put had been lost.
  contents_.WroteAllOf(orders_.random);
  contents_.WroteAllOf(orders_.random);
  EXPECT_THAT(RunToItsEnd(loop.get()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("wrong value")));
}

TEST_F(LoopsTest, PacedWritersWriteAllKeys) {
  contents_.Diversify(kKeys);
  PacedWriter writer(subject(), orders_.random, 1e5);
  while (contents_.VersionOf(orders_.random[kKeys - 1]) < 2) {
  }
  EXPECT_OK(writer.Stop());
  ExpectContents();
}

TEST_F(LoopsTest, ThreadsShareAMeasurement) {
  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<std::unique_ptr<Loop>> loops;
  for (uint64_t part = 0; part < 2; ++part)
    loops.push_back(NewDeleteLoop(subject(), orders_.random, 1u << 20, 1u << 19));
  EXPECT_FALSE(Measure(loops, std::nullopt).ok());  // no operations
  loops.clear();
  loops.push_back(NewReadLoop(TaskOf("scan forward"), subject(), orders_, {1, 0}));
  ASSERT_OK_AND_ASSIGN(const Measured one, Measure(loops, std::nullopt));
  EXPECT_EQ(one.operations, kKeys);
  loops.clear();
  for (int thread = 0; thread < 2; ++thread) {
    readers.push_back(peer_.NewReader());
    loops.push_back(NewReadLoop(TaskOf("scan forward"), {&peer_, readers.back().get(), &contents_},
                                orders_, {1, thread}));
  }
  ASSERT_OK_AND_ASSIGN(const Measured two, Measure(loops, std::nullopt));
  EXPECT_EQ(two.operations, 2 * kKeys);
  EXPECT_GT(two.seconds, 0);
}

TEST_F(LoopsTest, EmptyPeerAnswersRightly) {
  const std::unique_ptr<Peer> nothing = NewNothingPeer(&contents_, 2 * kGroup);
  const std::unique_ptr<Reader> reader = nothing->NewReader();
  for (int time = 0; time < 3; ++time) {
    for (const char* const task : {"get present", "get absent", "get mixed", "multiget present"}) {
      const std::unique_ptr<Reader> its_own = nothing->NewReader();
      for (int again = 0; again < 2; ++again) {
        const auto loop =
            NewReadLoop(TaskOf(task), {nothing.get(), its_own.get(), &contents_}, orders_, {1, 0});
        EXPECT_OK(loop->Step().status());
        EXPECT_OK(loop->Step().status());
      }
    }
  }
}

}  // namespace
}  // namespace bench::peers
