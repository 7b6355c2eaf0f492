// Runs each job in a process of its own.  A job may crash or hang; some jobs fork, so their process
// must not have other threads; and several jobs run at a time.
#ifndef TRELLIS_TESTS_RELIABILITY_APART_H_
#define TRELLIS_TESTS_RELIABILITY_APART_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tests/reliability/jobs.h"

namespace reliability {

struct Task {
  const Job* job = nullptr;
  uint64_t seed = 1;
  uint64_t amount = 0;
  int mutant = 0;  // for `prepare`
};

struct ApartOptions {
  size_t at_once = 2;
  unsigned seconds_max = 0;                // limit for each task; 0: no limit
  void (*prepare)(const Task&) = nullptr;  // called in its process, before the job
};

// Called when a task ends, with its job's result and the seconds that it took.  If the process
// died, the finding says how.
using TaskEnd = std::function<void(const Task&, const JobResult&, double)>;

// Runs the tasks that `next` returns, until it returns nullopt.  Calls `said` for each task, in the
// order in which the tasks end.
void RunApart(const std::function<std::optional<Task>()>& next, const ApartOptions& options,
              const TaskEnd& said);
void RunApart(const std::vector<Task>& tasks, const ApartOptions& options, const TaskEnd& said);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_APART_H_
