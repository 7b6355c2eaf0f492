// Runs the jobs of the reliability programme (lsm/RELIABILITY.md).
//
//   reliability                      every job of CI, with its amount there
//   reliability JOB [SEED [AMOUNT]]  one job
//   reliability part N               every job of CI, with an Nth of its amount there
//   reliability soak MINUTES [SEED [JOB...]]
//                                    all jobs, or these, again and again with new seeds for about
//                                    this many minutes, and each at least once; prints the totals
//
// `without JOB...` at the end omits jobs.
//
// Runs two jobs at a time and prints a line for each.  The exit code is 1 if a job found anything,
// and 2 for wrong usage.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/readable.h"
#include "tests/reliability/apart.h"
#include "tests/reliability/jobs.h"

namespace reliability {
namespace {

using Clock = std::chrono::steady_clock;

void Print(const Task& task, const JobResult& result, double seconds) {
  std::printf("%-12s %s (%.1f s)\n", task.job->name, result.figures.c_str(), seconds);
  if (!result.finding.empty()) {
    std::printf("FOUND by %s, seed %llu, amount %llu: %s\n", task.job->name,
                static_cast<unsigned long long>(task.seed),
                static_cast<unsigned long long>(task.amount), result.finding.c_str());
  }
  std::fflush(stdout);
}

// True if no job found anything.
bool Run(const std::vector<Task>& tasks) {
  bool sound = true;
  RunApart(tasks, {}, [&](const Task& task, const JobResult& result, double seconds) {
    Print(task, result, seconds);
    sound = sound && result.finding.empty();
  });
  return sound;
}

bool RunAll(const std::vector<const Job*>& jobs, uint64_t part) {
  std::vector<Task> tasks;
  for (const Job* job : jobs) {
    if (job->amount_in_ci > 0) tasks.push_back({job, 1, (job->amount_in_ci + part - 1) / part});
  }
  return Run(tasks);
}

bool Soak(uint64_t minutes, uint64_t seed, const std::vector<const Job*>& jobs) {
  const Clock::time_point end = Clock::now() + std::chrono::minutes(minutes);
  std::map<const Job*, uint64_t> amounts;
  uint64_t findings = 0;
  size_t count = 0;
  const auto next = [&]() -> std::optional<Task> {
    if (count >= jobs.size() && Clock::now() >= end) return std::nullopt;
    const Job* const job = jobs[count % jobs.size()];
    return Task{job, seed + count++ / jobs.size(), job->amount_in_soak};
  };
  RunApart(next, {}, [&](const Task& task, const JobResult& result, double seconds) {
    Print(task, result, seconds);
    amounts[task.job] += result.amount;
    findings += !result.finding.empty();
  });
  for (const Job* job : jobs) {
    std::printf("in all       %s %s by %s\n", lsm::ReadableCount(amounts[job]).c_str(), job->unit,
                job->name);
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
               "usage: reliability [JOB [SEED [AMOUNT]] | part N | soak MINUTES [SEED [JOB...]]]\n"
               "                   [without JOB...]\n"
               "jobs:\n");
  for (const Job& job : AllJobs())
    std::fprintf(stderr, "  %-12s %s (%s %s in CI, %s a round of a soak)\n", job.name, job.text,
                 lsm::ReadableCount(job.amount_in_ci).c_str(), job.unit,
                 lsm::ReadableCount(job.amount_in_soak).c_str());
  return 2;
}

int SoakAsTold(const std::vector<std::string_view>& words, const std::vector<const Job*>& all) {
  const std::optional<uint64_t> minutes = words.size() > 1 ? NumberOf(words[1]) : std::nullopt;
  const std::optional<uint64_t> seed = words.size() > 2 ? NumberOf(words[2]) : 2;
  if (!minutes || !seed) return Misuse();
  std::vector<const Job*> jobs;
  for (size_t i = 3; i < words.size(); ++i) {
    jobs.push_back(FindJob(words[i]));
    if (jobs.back() == nullptr) return Misuse();
  }
  return Soak(*minutes, *seed, jobs.empty() ? all : jobs) ? 0 : 1;
}

// Removes `without JOB...` from the end of the words, and returns the jobs that remain.  nullopt if
// there is no such job.
std::optional<std::vector<const Job*>> JobsLeft(std::vector<std::string_view>* words) {
  const auto without = std::find(words->begin(), words->end(), "without");
  std::vector<const Job*> jobs;
  for (const Job& job : AllJobs()) {
    if (std::find(without, words->end(), job.name) == words->end()) jobs.push_back(&job);
  }
  for (auto name = without; name != words->end(); ++name) {
    if (name != without && FindJob(*name) == nullptr) return std::nullopt;
  }
  words->erase(without, words->end());
  return jobs;
}

int Main(std::vector<std::string_view> words) {
  const std::optional<std::vector<const Job*>> jobs = JobsLeft(&words);
  if (!jobs) return Misuse();
  if (words.empty()) return RunAll(*jobs, 1) ? 0 : 1;
  if (words[0] == "soak") return SoakAsTold(words, *jobs);
  std::vector<uint64_t> numbers;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::optional<uint64_t> number = NumberOf(words[i]);
    if (!number) return Misuse();
    numbers.push_back(*number);
  }
  if (words[0] == "part")
    return numbers.size() != 1 || numbers[0] == 0 ? Misuse() : !RunAll(*jobs, numbers[0]);
  const Job* const job = FindJob(words[0]);
  if (job == nullptr || numbers.size() > 2) return Misuse();
  return Run({{job, numbers.empty() ? 1 : numbers[0],
               numbers.size() > 1 ? numbers[1] : std::max(job->amount_in_ci, job->amount_in_soak)}})
             ? 0
             : 1;
}

}  // namespace
}  // namespace reliability

int main(int argc, char** argv) {
  return reliability::Main(std::vector<std::string_view>(argv + 1, argv + argc));
}
