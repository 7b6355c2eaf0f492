#include "tests/reliability/apart.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "lsm/bytes/status.h"
#include "tests/reliability/workload/under_way.h"

namespace reliability {
namespace {

using lsm::Concat;
using Clock = std::chrono::steady_clock;

// A running task.  Its process writes "AMOUNT\nFIGURES\nFINDING" to the pipe.
struct Running {
  Task task;
  pid_t process = 0;
  int pipe = -1;
  std::string said;
  Clock::time_point from;
  char* under_way = nullptr;  // shared with the process
};

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::exit(3);
}

[[noreturn]] void Work(const Task& task, const ApartOptions& options, int pipe, char* shared) {
  under_way = shared;
  ::alarm(options.seconds_max);
  if (options.prepare != nullptr) options.prepare(task);
  const JobResult result = task.job->run(task.seed, task.amount);
  const std::string said = Concat(result.amount, "\n", result.figures, "\n", result.finding);
  for (std::string_view left = said; !left.empty();) {
    const ssize_t n = ::write(pipe, left.data(), left.size());
    if (n <= 0) ::_exit(3);
    left.remove_prefix(static_cast<size_t>(n));
  }
  ::_exit(0);
}

Running Start(const Task& task, const ApartOptions& options) {
  int ends[2];
  if (::pipe(ends) != 0) Die("pipe");
  void* const shared =
      ::mmap(nullptr, kUnderWayBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) Die("mmap");
  std::fflush(stdout);
  Running running{task, ::fork(), ends[0], "", Clock::now(), static_cast<char*>(shared)};
  if (running.process < 0) Die("fork");
  if (running.process == 0) {
    ::close(ends[0]);
    Work(task, options, ends[1], running.under_way);
  }
  ::close(ends[1]);
  return running;
}

// Reads what the processes write, until one of them ends.  Returns the index of that one.
size_t WaitForEnd(std::vector<Running>& all) {
  std::vector<pollfd> pipes;
  for (const Running& one : all) pipes.push_back({one.pipe, POLLIN, 0});
  for (;;) {
    if (::poll(pipes.data(), pipes.size(), -1) < 0) Die("poll");
    for (size_t i = 0; i < all.size(); ++i) {
      if (pipes[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t n = ::read(all[i].pipe, buffer, sizeof buffer);
      if (n <= 0) return i;
      all[i].said.append(buffer, static_cast<size_t>(n));
    }
  }
}

JobResult ResultOf(const Running& ended) {
  int status = 0;
  ::waitpid(ended.process, &status, 0);
  const std::string under_way_then = ended.under_way;
  ::munmap(ended.under_way, kUnderWayBytes);
  if (status != 0) {
    std::string finding = "its process ended";
    finding += WIFSIGNALED(status) ? Concat(": ", ::strsignal(WTERMSIG(status)))
                                   : Concat(" with status ", WEXITSTATUS(status));
    if (!under_way_then.empty()) finding += Concat(", at ", under_way_then);
    return {0, "", finding, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM};
  }
  const std::string& said = ended.said;
  const size_t first = said.find('\n'), second = said.find('\n', first + 1);
  JobResult result;
  std::from_chars(said.data(), said.data() + first, result.amount);
  result.figures = said.substr(first + 1, second - first - 1);
  result.finding = said.substr(second + 1);
  return result;
}

}  // namespace

void RunApart(const std::function<std::optional<Task>()>& next, const ApartOptions& options,
              const TaskEnd& said) {
  std::vector<Running> running;
  for (bool is_over = false; !is_over || !running.empty();) {
    if (!is_over && running.size() < options.at_once) {
      const std::optional<Task> task = next();
      if (task) running.push_back(Start(*task, options));
      is_over = !task;
      continue;
    }
    const size_t place = WaitForEnd(running);
    const Running ended = std::move(running[place]);
    running.erase(running.begin() + static_cast<ptrdiff_t>(place));
    ::close(ended.pipe);
    const JobResult result = ResultOf(ended);
    said(ended.task, result, std::chrono::duration<double>(Clock::now() - ended.from).count());
  }
}

void RunApart(const std::vector<Task>& tasks, const ApartOptions& options, const TaskEnd& said) {
  size_t count = 0;
  RunApart(
      [&]() -> std::optional<Task> {
        if (count == tasks.size()) return std::nullopt;
        return tasks[count++];
      },
      options, said);
}

}  // namespace reliability
