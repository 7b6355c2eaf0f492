// The jobs of the reliability programme, each of which does one thing to stores over and over and
// says what it found.  One seed replays what a job does.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reliability {

struct JobResult {
  uint64_t amount = 0;  // of what the job counts in
  std::string figures;  // "1,000,000 distinct images, 52,101 of them …"
  std::string finding;  // what went wrong, or empty
  // Whether it was ended for that (ApartOptions::seconds_max), which is then the finding.
  bool out_of_time = false;
};

struct Job {
  const char* name;
  const char* unit;
  const char* text;  // what it does, in a line
  // Does about `amount` of its units, from this seed on.
  JobResult (*run)(uint64_t seed, uint64_t amount);
  uint64_t amount_in_ci;        // 0: left to soaks
  uint64_t amount_in_soak;      // a round
  uint64_t amount_for_mutants;  // enough to catch what it can catch; 0: nothing that others do not
};

const std::vector<Job>& AllJobs();
const Job* FindJob(std::string_view name);  // null if there is none

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_H_
