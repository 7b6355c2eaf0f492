// Shows that the jobs can find what they look for: runs them on a store into which bugs were seeded
// (mutants.txt), one switched on at a time.
//
//   seeded_bugs            all of them, and first none
//   seeded_bugs NAME ...   these
//
// Each runs in a process of its own, for it may crash or hang.  Exits with 1 if one was not caught,
// or if something was found where none was on.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/reliability/jobs.h"

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

constexpr int kSecondsMax = 120;

// What the job says in a process of its own: its finding, or how the process ended.
std::string FindingOf(const Job& job, int mutant) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::alarm(kSecondsMax);
    (void)!std::freopen("/dev/null", "w", stderr);
    active_mutant = mutant;
    std::string finding = job.run(1, job.amount_for_mutants).finding;
    finding = finding.substr(0, finding.find('\n')).substr(0, 300);
    (void)!::write(ends[1], finding.data(), finding.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string finding;
  char buffer[512];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    finding.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return std::string("the process ended: ") + ::strsignal(WTERMSIG(status));
  return finding;
}

// Whether it was caught; prints by what.
bool Catch(int number) {
  const Mutant& mutant = kMutants[number - 1];
  const auto from = std::chrono::steady_clock::now();
  const Job* const first = FindJob(mutant.job);
  std::string by, finding;
  if (first != nullptr && !(finding = FindingOf(*first, number)).empty()) by = first->name;
  for (const Job& job : AllJobs()) {
    if (!by.empty() || &job == first) continue;
    if (!(finding = FindingOf(job, number)).empty()) by = job.name;
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - from;
  std::printf("%-10s %-34s %5.1f s  %s\n", by.empty() ? "NOT CAUGHT" : by.c_str(), mutant.name,
              time.count(), by.empty() ? mutant.text : finding.c_str());
  std::fflush(stdout);
  return !by.empty();
}

int Main(int argc, char** argv) {
  const int count = static_cast<int>(std::size(kMutants));
  std::vector<int> chosen;
  for (int i = 1; i <= count; ++i) {
    bool wanted = argc == 1;
    for (int a = 1; a < argc; ++a)
      wanted = wanted || std::strcmp(argv[a], kMutants[i - 1].name) == 0;
    if (wanted) chosen.push_back(i);
  }
  if (argc > 1 && static_cast<int>(chosen.size()) != argc - 1) {
    std::fprintf(stderr, "seeded_bugs: no such bug; there are\n");
    for (const Mutant& mutant : kMutants)
      std::fprintf(stderr, "  %-34s %s\n", mutant.name, mutant.text);
    return 2;
  }
  bool sound = true;
  if (argc == 1) {
    for (const Job& job : AllJobs()) {
      const std::string finding = FindingOf(job, 0);
      if (finding.empty()) continue;
      std::printf("FOUND by %s with no bug switched on: %s\n", job.name, finding.c_str());
      sound = false;
    }
  }
  size_t caught = 0;
  for (const int number : chosen) caught += Catch(number);
  std::printf("%zu of %zu seeded bugs caught\n", caught, chosen.size());
  return sound && caught == chosen.size() ? 0 : 1;
}

}  // namespace
}  // namespace reliability

int main(int argc, char** argv) { return reliability::Main(argc, argv); }
