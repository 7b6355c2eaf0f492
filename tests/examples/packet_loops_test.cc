#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "bloom/core/sizing.h"
#include "tests/examples/programs.h"
#include "tests/support/dice.h"

namespace {

using testing::HasSubstr;
using testing_support::Dice;

class PacketLoopsTest : public testing_support::ProgramsTest {
 protected:
  // Routes to "end" from routers 0 to `count` - 1, each to the next one.
  void SavePath(int count) {
    std::string routes = "router,destination,next\n";
    for (int i = 0; i < count; ++i) {
      const std::string next = i + 1 < count ? std::to_string(i + 1) : "end";
      routes += std::to_string(i) + ",end," + next + "\n";
    }
    Save("routes", routes);
  }
};

// The number of ones in the filters after the first router.  `out` has the headers.
double OnesAfterFirstRouter(const std::string& out) {
  constexpr size_t kIndent = 2, kNumber = 16;  // hexadecimal digits
  std::istringstream lines(out);
  double ones = 0;
  bool is_first = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_header = line.starts_with("  ");
    if (is_header && is_first) {
      for (const char digit : line.substr(kIndent + kNumber))
        ones += std::popcount(static_cast<unsigned>(std::stoi(std::string(1, digit), nullptr, 16)));
    }
    is_first = !is_header;
  }
  return ones;
}

TEST_F(PacketLoopsTest, TellsLoopsFromPaths) {
  Dice dice(3);
  int loops = 0;
  for (int graph = 0; graph < 40; ++graph) {
    constexpr int kRouters = 8;
    std::map<int, int> next;
    std::string routes = "router,destination,next\n";
    for (int i = 1; i < kRouters; ++i) {
      next[i] = static_cast<int>(dice.Roll(kRouters));
      routes += std::to_string(i) + ",0," + std::to_string(next[i]) + "\n";
    }
    Save("routes", routes);
    std::set<int> passed;
    int at = 1;
    while (at != 0 && passed.insert(at).second) at = next[at];
    loops += at != 0;
    const Outcome outcome = Shell("packet_loops routes 1 0 --tries 10");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(at == 0 ? "arrived" : "a loop, after 10 tries")) << routes;
  }
  EXPECT_GT(loops, 10);
  EXPECT_LT(loops, 35);
}

// With another packet number the same path has other false positives.
TEST_F(PacketLoopsTest, DropsThePredictedShare) {
  constexpr int kRouters = 20, kPackets = 400;
  SavePath(kRouters);
  const std::string out =
      OutputOf("for n in $(seq " + std::to_string(kPackets) +
               "); do packet_loops routes 0 end --tries 1 --headers yes --number $n; done");
  double arrives = 1;
  for (uint64_t i = 0; i < kRouters; ++i) arrives *= 1 - bloom::StandardFpp(128, 6, i);
  int dropped = 0;
  for (size_t at = 0; (at = out.find("dropped", at)) != out.npos; ++at) ++dropped;
  // The expectation is 69.8; the tolerance is four standard errors.  This cannot distinguish six
  // probes from five or seven, but the number of ones after the first router can.
  EXPECT_NEAR(dropped, kPackets * (1 - arrives), 30.4);
  EXPECT_NEAR(OnesAfterFirstRouter(out) / kPackets, 128 * (1 - std::pow(127.0 / 128, 6)), 0.1);
  EXPECT_THAT(Shell("packet_loops routes 0 end --tries 50").err, HasSubstr("arrived, try "));
}

TEST_F(PacketLoopsTest, NamesErrors) {
  const auto expect = [this](const std::string& command, int code, const std::string& message) {
    const Outcome outcome = Shell("packet_loops " + command);
    EXPECT_EQ(outcome.code, code) << command;
    EXPECT_THAT(outcome.err, HasSubstr("packet_loops: " + message)) << command;
  };
  SavePath(3);
  expect("routes 0", 2, "a word is missing");
  expect("routes 0 end --tries 0", 2, "--tries is no number from 1");
  expect("nothing 0 end", 3, "nothing: No such file");
  expect("routes 0 1", 3, "0 has no route to 1");
  expect("- 0 1 <<< a,b,c", 1, "-: line 1: the columns are not router,destination,next");
  Save("odd", "router,destination,next\na,b\n");
  expect("odd a b", 1, "odd: line 2: has not three fields");
  Save("odd", "router,destination,next\na,b,c\na,b,b\n");
  expect("odd a b", 1, "odd: line 3: a second route from a to b");
  EXPECT_THAT(OutputOf("packet_loops --help"), testing::StartsWith("Usage: packet_loops "));
}

}  // namespace
