// Time spent by the calling thread.
#ifndef TRELLIS_BENCH_FILTER_LAB_STOPWATCH_H_
#define TRELLIS_BENCH_FILTER_LAB_STOPWATCH_H_

#include <time.h>

#include <cstdint>

namespace bench {

// Processor time of this thread in seconds.  On a shared machine a wall clock would include other
// processes.  Their effect on the caches is still included.
inline double ThreadSeconds() {
  struct timespec now {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Adds the lifetime of the object to a sum.
class Timed {
 public:
  explicit Timed(double* seconds) : seconds_(seconds), begin_(ThreadSeconds()) {}
  ~Timed() { *seconds_ += ThreadSeconds() - begin_; }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  double* const seconds_;
  const double begin_;
};

// Nanoseconds per item of the fastest of `repeats` calls of `work`.
template <class Work>
double BestNanos(int repeats, uint64_t items, Work work) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    double seconds = 0;
    {
      const Timed timed(&seconds);
      work();
    }
    if (seconds < best) best = seconds;
  }
  return 1e9 * best / static_cast<double>(items);
}

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STOPWATCH_H_
