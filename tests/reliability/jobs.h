// The jobs of the reliability programme.  Each job repeats one kind of trial on many stores and
// reports what it found.  The same seed repeats the same trials.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reliability {

struct JobResult {
  uint64_t amount = 0;  // in the job's unit
  std::string figures;  // "1,000,000 distinct images, 52,101 of them …"
  std::string finding;  // what went wrong, or empty
  // The job was ended because it exceeded ApartOptions::seconds_max; `finding` says so.
  bool out_of_time = false;
};

struct Job {
  const char* name;
  const char* unit;
  const char* text;  // describes the job in one line
  // Does about `amount` units of work, with this seed and the following ones.
  JobResult (*run)(uint64_t seed, uint64_t amount);
  uint64_t amount_in_ci;    // 0: runs only in soaks
  uint64_t amount_in_soak;  // per round
  // Enough to catch every seeded bug that it can catch.  0: it catches none that other jobs miss.
  uint64_t amount_for_mutants;
};

const std::vector<Job>& AllJobs();
const Job* FindJob(std::string_view name);  // null if there is none

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_H_
