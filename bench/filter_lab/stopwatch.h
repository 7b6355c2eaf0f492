// Time that the calling thread spends.
#ifndef TRELLIS_BENCH_FILTER_LAB_STOPWATCH_H_
#define TRELLIS_BENCH_FILTER_LAB_STOPWATCH_H_

#include <time.h>

#include <cstdint>

namespace bench {

// Processor time of this thread, in seconds: where a machine is shared, a wall clock tells of
// others.  Caches that others fill show in it all the same.
inline double ThreadSeconds() {
  struct timespec now {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Adds the time of its life to a sum.
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

// Nanoseconds an item of the quickest of `repeats` calls of `work`.
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
