#include "bench/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace bench {
namespace {

TEST(InterruptTest, TheFirstOneStopsTheSecondEnds) {
  EXPECT_EXIT(
      {
        const std::atomic<bool>& stopped = StopOnInterrupt("program");
        if (stopped) ::_exit(1);
        ::raise(SIGINT);
        if (!stopped) ::_exit(2);
        ::raise(SIGTERM);
        ::_exit(3);
      },
      testing::ExitedWithCode(130),
      "program: interrupted: what is measured now is the last.*\n\n"
      "program: interrupted: no report was written");
}

TEST(InterruptTest, OrTheFirstOneEnds) {
  EXPECT_EXIT(
      {
        EndOnInterrupt("program", "half a cake");
        ::raise(SIGTERM);
        ::_exit(3);
      },
      testing::ExitedWithCode(130), "program: interrupted: half a cake");
}

}  // namespace
}  // namespace bench
