// Runs the jobs of the reliability programme (lsm/RELIABILITY.md).
//
//   reliability                      every job, with the amount that CI does
//   reliability JOB [SEED [AMOUNT]]  one
//   reliability part N               every job, with the Nth part of that amount
//   reliability soak MINUTES [SEED]  every job over and over with other seeds, until so much time
//   has
//                                    passed; then what was done in all
//
// Prints a line for each job; exits with 1 if anything was found, with 2 for wrong usage.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/readable.h"
#include "tests/reliability/jobs.h"

namespace reliability {
namespace {

using Clock = std::chrono::steady_clock;

// Returns what was done.
JobResult Run(const Job& job, uint64_t seed, uint64_t amount) {
  const Clock::time_point from = Clock::now();
  JobResult result = job.run(seed, amount);
  const std::chrono::duration<double> time = Clock::now() - from;
  std::printf("%-12s %s (%.1f s)\n", job.name, result.figures.c_str(), time.count());
  if (!result.finding.empty()) {
    std::printf("FOUND by %s, seed %llu, amount %llu: %s\n", job.name,
                static_cast<unsigned long long>(seed), static_cast<unsigned long long>(amount),
                result.finding.c_str());
  }
  std::fflush(stdout);
  return result;
}

bool RunAll(uint64_t part) {
  bool sound = true;
  for (const Job& job : AllJobs())
    sound = Run(job, 1, job.amount_in_ci / part + 1).finding.empty() && sound;
  return sound;
}

bool Soak(uint64_t minutes, uint64_t seed) {
  const Clock::time_point end = Clock::now() + std::chrono::minutes(minutes);
  std::vector<uint64_t> amounts(AllJobs().size());
  uint64_t findings = 0;
  for (; Clock::now() < end; ++seed) {
    for (size_t i = 0; i < amounts.size() && Clock::now() < end; ++i) {
      const Job& job = AllJobs()[i];
      const JobResult result = Run(job, seed, job.amount_in_ci);
      amounts[i] += result.amount;
      findings += !result.finding.empty();
    }
  }
  for (size_t i = 0; i < amounts.size(); ++i) {
    std::printf("in all       %s %s by %s\n", lsm::ReadableCount(amounts[i]).c_str(),
                AllJobs()[i].unit, AllJobs()[i].name);
  }
  std::printf("in all       %s findings\n", lsm::ReadableCount(findings).c_str());
  return findings == 0;
}

std::optional<uint64_t> NumberOf(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int Misuse() {
  std::fprintf(stderr,
               "usage: reliability [JOB [SEED [AMOUNT]] | part N | soak MINUTES [SEED]]\n"
               "jobs:\n");
  for (const Job& job : AllJobs())
    std::fprintf(stderr, "  %-12s %s (%s %s in CI)\n", job.name, job.text,
                 lsm::ReadableCount(job.amount_in_ci).c_str(), job.unit);
  return 2;
}

int Main(const std::vector<std::string_view>& words) {
  if (words.empty()) return RunAll(1) ? 0 : 1;
  std::vector<uint64_t> numbers;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::optional<uint64_t> number = NumberOf(words[i]);
    if (!number) return Misuse();
    numbers.push_back(*number);
  }
  if (words[0] == "part")
    return numbers.size() != 1 || numbers[0] == 0 ? Misuse() : !RunAll(numbers[0]);
  if (words[0] == "soak") {
    if (numbers.empty() || numbers.size() > 2) return Misuse();
    return Soak(numbers[0], numbers.size() > 1 ? numbers[1] : 2) ? 0 : 1;
  }
  const Job* const job = FindJob(words[0]);
  if (job == nullptr || numbers.size() > 2) return Misuse();
  const JobResult result = Run(*job, numbers.empty() ? 1 : numbers[0],
                               numbers.size() > 1 ? numbers[1] : job->amount_in_ci);
  return result.finding.empty() ? 0 : 1;
}

}  // namespace
}  // namespace reliability

int main(int argc, char** argv) {
  return reliability::Main(std::vector<std::string_view>(argv + 1, argv + argc));
}
