// Ctrl-C in a run that has measured for a while: the first one ends it after the current
// measurement, so that the results so far are reported; the second one ends it at once.
#ifndef TRELLIS_BENCH_EXPERIMENT_INTERRUPT_H_
#define TRELLIS_BENCH_EXPERIMENT_INTERRUPT_H_

#include <atomic>

namespace bench {

// From here on the first SIGINT or SIGTERM sets the returned flag, and the second ends the process
// with exit code 130.  Each says so on stderr, after "PROGRAM: ".  `program` must live as long as
// the process.  Call it once.
const std::atomic<bool>& StopOnInterrupt(const char* program);

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_INTERRUPT_H_
