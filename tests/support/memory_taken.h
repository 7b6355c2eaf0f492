// How much memory something takes while it runs.
#ifndef TRELLIS_TESTS_SUPPORT_MEMORY_TAKEN_H_
#define TRELLIS_TESTS_SUPPORT_MEMORY_TAKEN_H_

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace testing_support {

// The resident memory of this process, including memory that it shares with other processes.
inline size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The bytes by which run() raises the peak of its process.  It runs in a child, because this
// process's peak may already be higher.  Memory that was never written does not count.  Negative if
// run() returns false or the system does not tell.
template <class Run>
double MemoryTakenBy(const Run& run) {
  const auto peak_bytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return 1024.0 * static_cast<double>(usage.ru_maxrss);
  };
  malloc_trim(0);  // otherwise run() could reuse freed memory, which would not be measured
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const double before = peak_bytes();
    const double taken = run() ? peak_bytes() - before : -1;
    _exit(write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1);
  }
  close(ends[1]);
  double taken = -1;
  if (child < 0 || read(ends[0], &taken, sizeof taken) != sizeof taken) taken = -1;
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return taken;
}

}  // namespace testing_support

#endif  // TRELLIS_TESTS_SUPPORT_MEMORY_TAKEN_H_
