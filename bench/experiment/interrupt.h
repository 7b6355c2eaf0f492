// Ctrl-C in a long run.  The first one ends the run after the current measurement and reports the
// results so far; the second one ends it at once.
#ifndef TRELLIS_BENCH_EXPERIMENT_INTERRUPT_H_
#define TRELLIS_BENCH_EXPERIMENT_INTERRUPT_H_

#include <atomic>

namespace bench {

// After this call the first SIGINT or SIGTERM sets the returned flag, and the second ends the
// process with exit code 130.  Each prints a message on stderr that begins with "PROGRAM: ".
// `program` must live as long as the process.  Call it once.
const std::atomic<bool>& StopOnInterrupt(const char* program);

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_INTERRUPT_H_
