// What an interrupt does to a program whose work is of no use in part.
#ifndef TRELLIS_BENCH_INTERRUPT_H_
#define TRELLIS_BENCH_INTERRUPT_H_

namespace bench {

// From here on SIGINT and SIGTERM end the process at once, with exit code 130 and "PROGRAM:
// interrupted: LOSS" on stderr.  Both texts must live as long as the program.  Once.
void EndOnInterrupt(const char* program, const char* loss);

// Of a program whose stores are made anew by the next run, so that there is nothing to wind up.
inline constexpr char kNoReport[] =
    "no report was written (one that is there is of an earlier run)";

}  // namespace bench

#endif  // TRELLIS_BENCH_INTERRUPT_H_
