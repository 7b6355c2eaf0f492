// What an interrupt does to a program: end it, where its work is of no use in part, or have it stop
// after what it is about, where hours of measuring are not to be lost.
#ifndef TRELLIS_BENCH_INTERRUPT_H_
#define TRELLIS_BENCH_INTERRUPT_H_

#include <atomic>

namespace bench {

// From here on SIGINT and SIGTERM end the process at once, with exit code 130 and "PROGRAM:
// interrupted: LOSS" on stderr.  Both texts must live as long as the program.  Once.
void EndOnInterrupt(const char* program, const char* loss);

// From here on the first SIGINT or SIGTERM sets what this returns, says so on stderr ("PROGRAM:
// interrupted: what is measured now is the last"), and the second one does what EndOnInterrupt
// says of kNoReport.  The text must live as long as the program.  Once, and not with the other.
const std::atomic<bool>& StopOnInterrupt(const char* program);

// For programs whose next run rebuilds their stores, so that an interrupt leaves nothing to do.
inline constexpr char kNoReport[] =
    "no report was written (one that is there is of an earlier run)";

}  // namespace bench

#endif  // TRELLIS_BENCH_INTERRUPT_H_
