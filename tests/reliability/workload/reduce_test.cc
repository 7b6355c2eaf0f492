#include "tests/reliability/workload/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace reliability {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

bool Writes(const std::vector<Step>& steps, const std::string& key) {
  return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
    return step.kind == Step::kWrite && step.commit[0].key == key;
  });
}

std::vector<Step> SixtySteps() {
  std::vector<Step> steps = {{Step::kReopen, {}, false}};
  for (int i = 1; i < 60; ++i)
    steps.push_back({Step::kWrite, {{"k" + std::to_string(i), "v"}}, false});
  steps[40].kind = Step::kFlush;
  return steps;
}

// A bug that needs two writes and then a flush.
TEST(ReduceTest, KeepsNecessaryOperations) {
  const std::string text =
      WithFewestSteps("lost", SixtySteps(), 10'000, [](const std::vector<Step>& steps) -> Look {
        const bool flushes = std::any_of(
            steps.begin(), steps.end(), [](const Step& step) { return step.kind == Step::kFlush; });
        EXPECT_EQ(steps[0].kind, Step::kReopen);
        return {Writes(steps, "k7") && Writes(steps, "k31") && flushes ? "lost k7" : "", 1};
      });
  EXPECT_THAT(text, StartsWith("lost\n  reduced from 60 steps to these 4:\n"));
  EXPECT_THAT(text, HasSubstr("k7"));
  EXPECT_THAT(text, HasSubstr("k31"));
  EXPECT_THAT(text, HasSubstr("with which is found: lost k7"));
}

TEST(ReduceTest, EndsWhenItsEffortIsSpent) {
  uint64_t looks = 0;
  WithFewestSteps("lost", SixtySteps(), 100, [&](const std::vector<Step>&) -> Look {
    ++looks;
    return {"lost", 10};
  });
  EXPECT_LE(looks, 10u);
}

// A finding that does not repeat is reported unchanged.
TEST(ReduceTest, KeepsFindingsThatDoNotRepeat) {
  EXPECT_THAT(WithFewestSteps("lost once", SixtySteps(), 1000,
                              [](const std::vector<Step>&) -> Look {
                                return {"", 1};
                              }),
              StartsWith("lost once\n  reduced from 60 steps to these 60:\n"));
}

}  // namespace
}  // namespace reliability
