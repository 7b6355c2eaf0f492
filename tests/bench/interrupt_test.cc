#include "bench/experiment/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace bench {
namespace {

TEST(InterruptTest, FirstInterruptStopsSecondEnds) {
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
      "program: interrupted: ends after the current measurement.*\n\n"
      "program: interrupted: no report was written");
}

}  // namespace
}  // namespace bench
