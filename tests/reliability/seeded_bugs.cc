// Shows that the jobs can find bugs: runs them on a store into which bugs were seeded
// (mutants.txt), with one bug switched on at a time.
//
//   seeded_bugs            runs without a bug, then with each of the bugs
//   seeded_bugs third N    runs without a bug, then with every third bug: those whose numbers leave
//                          the same rest as N
//   seeded_bugs NAME ...   runs with each of these bugs
//
// Exits with 1 if a bug was not caught, or if a job found something without a bug.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/reliability/apart.h"
#include "tests/reliability/jobs.h"
#include "tests/reliability/workload/reduce.h"

namespace reliability {

int active_mutant = 0;

namespace {

struct Mutant {
  const char* name;
  const char* job;
  const char* text;
};
constexpr Mutant kMutants[] = {
#include "tests/reliability/mutants.inc"
};

constexpr unsigned kSecondsMax = 240;

void SwitchOn(const Task& task) {
  (void)!std::freopen("/dev/null", "w", stderr);
  active_mutant = task.mutant;
  shortens_findings = false;
}

// Runs the tasks.  Calls `found(task, finding, seconds)` for each task with a finding, with the
// finding's first line.
template <typename Found>
void Look(const std::vector<Task>& tasks, const Found& found) {
  ApartOptions options;
  options.seconds_max = kSecondsMax;
  options.prepare = SwitchOn;
  RunApart(tasks, options, [&](const Task& task, const JobResult& result, double seconds) {
    if (result.finding.empty()) return;
    // A timeout does not count: on a slow machine every bug would cause one.
    if (result.out_of_time) {
      std::printf("%-12s %-34s took longer than %u s, which says nothing\n", task.job->name,
                  task.mutant == 0 ? "no bug" : kMutants[task.mutant - 1].name, kSecondsMax);
      return;
    }
    found(task, result.finding.substr(0, result.finding.find('\n')), seconds);
  });
}

// Runs the tasks and returns the mutants that no task caught, in their order.
std::vector<int> LookFor(const std::vector<Task>& tasks, const std::vector<int>& mutants) {
  std::set<int> caught;
  Look(tasks, [&](const Task& task, const std::string& finding, double seconds) {
    if (!caught.insert(task.mutant).second) return;
    std::printf("%-12s %-34s (%.1f s) %s\n", task.job->name, kMutants[task.mutant - 1].name,
                seconds, finding.substr(0, 300).c_str());
    std::fflush(stdout);
  });
  std::vector<int> left;
  for (const int mutant : mutants) {
    if (!caught.contains(mutant)) left.push_back(mutant);
  }
  return left;
}

Task TaskOf(const Job& job, int mutant) { return {&job, 1, job.amount_for_mutants, mutant}; }

bool AsksForThird(int argc, char** argv) { return argc == 3 && std::strcmp(argv[1], "third") == 0; }

// The numbers of the bugs that the arguments name, or of all bugs without arguments.  Empty if a
// name is unknown.
std::vector<int> Chosen(int argc, char** argv) {
  std::vector<int> chosen;
  if (AsksForThird(argc, argv)) {
    for (int i = 1 + std::atoi(argv[2]) % 3; i <= static_cast<int>(std::size(kMutants)); i += 3)
      chosen.push_back(i);
    return chosen;
  }
  for (int i = 1; i <= static_cast<int>(std::size(kMutants)); ++i) {
    bool wanted = argc == 1;
    for (int a = 1; a < argc; ++a)
      wanted = wanted || std::strcmp(argv[a], kMutants[i - 1].name) == 0;
    if (wanted) chosen.push_back(i);
  }
  if (argc > 1 && static_cast<int>(chosen.size()) != argc - 1) chosen.clear();
  return chosen;
}

// True if the jobs find nothing without a bug.  A quarter of the amounts suffices to show that the
// copies of the sources are sound, because the programme itself runs on the original sources.
bool FindNothing() {
  bool sound = true;
  std::vector<Task> tasks;
  for (const Job& job : AllJobs()) {
    if (job.amount_for_mutants > 0) tasks.push_back({&job, 1, (job.amount_for_mutants + 3) / 4, 0});
  }
  Look(tasks, [&](const Task& task, const std::string& finding, double) {
    std::printf("FOUND by %s with no bug switched on: %s\n", task.job->name, finding.c_str());
    sound = false;
  });
  return sound;
}

int Main(int argc, char** argv) {
  const std::vector<int> chosen = Chosen(argc, argv);
  if (chosen.empty()) {
    std::fprintf(stderr, "seeded_bugs: no such bug; there are\n");
    for (const Mutant& mutant : kMutants)
      std::fprintf(stderr, "  %-34s %s\n", mutant.name, mutant.text);
    return 2;
  }
  const bool names_bugs = argc > 1 && !AsksForThird(argc, argv);
  const bool sound = names_bugs || FindNothing();
  // First each bug with the job that should catch it, then the remaining bugs with all jobs.
  std::vector<Task> tasks;
  for (const int mutant : chosen) {
    if (const Job* const job = FindJob(kMutants[mutant - 1].job))
      tasks.push_back(TaskOf(*job, mutant));
  }
  std::vector<int> left = LookFor(tasks, chosen);
  tasks.clear();
  for (const int mutant : left) {
    for (const Job& job : AllJobs()) {
      if (job.name != std::string_view(kMutants[mutant - 1].job) && job.amount_for_mutants > 0)
        tasks.push_back(TaskOf(job, mutant));
    }
  }
  left = LookFor(tasks, left);
  for (const int mutant : left)
    std::printf("NOT CAUGHT   %-34s %s\n", kMutants[mutant - 1].name, kMutants[mutant - 1].text);
  std::printf("%zu of %zu seeded bugs caught\n", chosen.size() - left.size(), chosen.size());
  return sound && left.empty() ? 0 : 1;
}

}  // namespace
}  // namespace reliability

int main(int argc, char** argv) { return reliability::Main(argc, argv); }
