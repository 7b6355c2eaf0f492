// Measures stores in the Ceph cluster that the environment's CEPH_CONF names: the figures of
// lsm/rados/README.md.  `cluster figures` of tools/dev runs it.
//
// Processes are started again for each run, and each makes new stores.  The runs that are compared
// alternate, and each figure is a median.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/concat.h"
#include "bloom/core/status.h"
#include "lsm/bytes/split_mix.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/options.h"
#include "lsm/rados.h"
#include "lsm/statistics.h"
#include "tests/lsm/rados/counting_pool.h"
#include "tests/lsm/rados/test_cluster.h"

extern char** environ;

namespace {

using bloom::Concat;
using lsm::DB;
using testing_support::CountingFiles;
using testing_support::CountingPool;
using testing_support::PoolCalls;
using testing_support::TestCluster;

constexpr std::string_view kUsage =
    R"(Usage: rados_figures COMMAND

  puts    one thread of synced puts, and 64
  stores  one store in one process, and four stores in four processes
  calls   calls on the pool: synced puts, a flush, an opening
  idle    stores without work: 1, 10 and 100 in four processes
  follow  a follower of a quiet and of a busy store, and what its pin costs the writer
)";

constexpr int kRounds = 5;
constexpr uint64_t kPutSeconds = 4, kIdleSeconds = 20;
constexpr const char* kPool = "trellis";

std::string KeyOf(uint64_t number) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64, lsm::Mix(number));
  return digits.data();
}

lsm::RadosOptions OptionsOfPool() {
  lsm::RadosOptions options;
  options.pool = kPool;
  options.user = testing_support::kTestUser;
  return options;
}

absl::StatusOr<std::unique_ptr<DB>> OpenStore(const std::string& name, lsm::FileSystem* files,
                                              lsm::OpenMode mode = lsm::OpenMode::kOpenOrCreate) {
  lsm::Options options;
  options.mode = mode;
  options.environment.file_system = files;
  return DB::Open(name, options);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Processes.

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double ProcessorSeconds() {  // of this process
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
}

double ProcessorSecondsOf(const std::filesystem::path& process) {  // a folder of /proc
  std::ifstream file(process / "stat");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::istringstream words(text.substr(std::min(text.size(), text.rfind(')') + 2)));
  std::string word;
  for (int i = 3; i < 14; ++i) words >> word;
  double user = 0, system = 0;
  words >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The processor time of this cluster's daemons.
double ProcessorSecondsOfDaemons() {
  const char* const config = std::getenv("CEPH_CONF");
  double seconds = 0;
  std::error_code error;
  for (const auto& process : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(process.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (words.starts_with("ceph-") && config != nullptr && words.find(config) != words.npos)
      seconds += ProcessorSecondsOf(process.path());
  }
  return seconds;
}

uint64_t StatusOfProcess(std::string_view name) {  // a number in /proc/self/status
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size() + 1, nullptr, 10);
  }
  return 0;
}

// The work of one worker, or several.
struct Work {
  uint64_t puts = 0, groups = 0;
  double seconds = 0, processor_seconds = 0;
  uint64_t memory_kib = 0, threads = 0;
};

// A process that opens stores, says "ready", waits for a line, works, tells what it did, waits for
// another line, and ends.
class Worker {
 public:
  static absl::StatusOr<std::unique_ptr<Worker>> Start(const std::vector<std::string>& words) {
    std::unique_ptr<Worker> worker(new Worker);
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
      return absl::UnavailableError("pipe");
    worker->in_ = ::fdopen(in[1], "w");
    worker->out_ = ::fdopen(out[0], "r");
    const std::string program = std::filesystem::read_symlink("/proc/self/exe");
    std::vector<std::string> copies(words);
    std::vector<char*> arguments{const_cast<char*>(program.c_str())};
    for (std::string& word : copies) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    const int error =
        ::posix_spawn(&worker->pid_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    if (error != 0) return absl::UnavailableError("posix_spawn");
    return worker;
  }
  ~Worker() {
    if (in_ != nullptr) std::fclose(in_);  // a worker that waits for a line ends
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    if (out_ != nullptr) std::fclose(out_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  absl::Status WaitUntilReady() {
    std::array<char, 100> line{};
    if (std::fgets(line.data(), line.size(), out_) != nullptr &&
        std::string_view(line.data()) == "ready\n")
      return absl::OkStatus();
    return absl::UnavailableError("a worker failed");
  }
  void Continue() {
    std::fputs("\n", in_);
    std::fflush(in_);
  }
  absl::StatusOr<Work> Result() {
    Work work;
    if (std::fscanf(out_, "%" SCNu64 " %" SCNu64 " %lf %lf %" SCNu64 " %" SCNu64, &work.puts,
                    &work.groups, &work.seconds, &work.processor_seconds, &work.memory_kib,
                    &work.threads) == 6)
      return work;
    return absl::UnavailableError("a worker failed");
  }

 private:
  Worker() = default;

  pid_t pid_ = 0;
  FILE* in_ = nullptr;
  FILE* out_ = nullptr;
};

struct OpenedStore {
  std::unique_ptr<lsm::FileSystem> files;
  std::unique_ptr<DB> db;
};

// As many threads put into each store.
absl::Status PutForAWhile(const std::vector<OpenedStore>& stores, int threads, uint64_t seconds) {
  const uint64_t until = lsm::SystemClock().MonotonicNanos() + seconds * 1'000'000'000;
  std::vector<std::thread> running;
  std::atomic<bool> failed = false;
  std::atomic<uint64_t> next = 0;
  for (const OpenedStore& store : stores) {
    for (int i = 0; i < threads; ++i) {
      running.emplace_back([&, db = store.db.get()] {
        const std::string value(100, 'v');
        while (!failed && lsm::SystemClock().MonotonicNanos() < until) {
          if (!db->Put(KeyOf(next++), value, {.sync = true}).ok()) failed = true;
        }
      });
    }
  }
  for (std::thread& thread : running) thread.join();
  if (failed) return absl::UnavailableError("a put failed");
  if (threads == 0) std::this_thread::sleep_for(std::chrono::seconds(seconds));
  return absl::OkStatus();
}

// worker THREADS SECONDS STORE...
absl::Status RunWorker(const std::vector<std::string>& words) {
  const int threads = std::atoi(words[1].c_str());
  const uint64_t seconds = std::strtoull(words[2].c_str(), nullptr, 10);
  std::vector<OpenedStore> stores;
  for (size_t i = 3; i < words.size(); ++i) {
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<lsm::FileSystem> files,
                             lsm::OpenRados(OptionsOfPool()));
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<DB> db, OpenStore(words[i], files.get()));
    stores.push_back({std::move(files), std::move(db)});
  }
  std::printf("ready\n");
  std::getchar();
  const uint64_t began = lsm::SystemClock().MonotonicNanos();
  const double used = ProcessorSeconds();
  TRELLIS_RETURN_IF_ERROR(PutForAWhile(stores, threads, seconds));
  Work work;
  work.processor_seconds = ProcessorSeconds() - used;
  work.seconds = static_cast<double>(lsm::SystemClock().MonotonicNanos() - began) / 1e9;
  for (const OpenedStore& store : stores) {
    const lsm::Statistics statistics = store.db->GetStatistics();
    work.puts += statistics.writes;
    work.groups += statistics.write_groups;
  }
  std::printf("%" PRIu64 " %" PRIu64 " %f %f %" PRIu64 " %" PRIu64 "\n", work.puts, work.groups,
              work.seconds, work.processor_seconds, StatusOfProcess("VmRSS:"),
              StatusOfProcess("Threads:"));
  std::getchar();
  for (const OpenedStore& store : stores) TRELLIS_RETURN_IF_ERROR(store.db->Close());
  return absl::OkStatus();
}

// Several processes at once.
struct Load {
  int processes = 1, stores = 1;  // stores in all, which are spread over the processes
  int threads = 1;                // per store
  uint64_t seconds = kPutSeconds;
};
struct Outcome {
  Work work;  // of all processes
  double daemon_seconds = 0;
  uint64_t osd_reads = 0, osd_writes = 0;  // operations of clients
  uint64_t watches = 0;
};

absl::StatusOr<Outcome> Run(TestCluster& cluster, const Load& load) {
  const std::string run = TestCluster::UniqueName();
  std::vector<std::unique_ptr<Worker>> workers;
  for (int p = 0; p < load.processes; ++p) {
    std::vector<std::string> words = {"worker", Concat(load.threads), Concat(load.seconds)};
    for (int s = p; s < load.stores; s += load.processes) words.push_back(Concat(run, "/", s));
    TRELLIS_ASSIGN_OR_RETURN(workers.emplace_back(), Worker::Start(words));
  }
  for (const auto& worker : workers) TRELLIS_RETURN_IF_ERROR(worker->WaitUntilReady());
  std::this_thread::sleep_for(std::chrono::seconds(1));  // openings end in the background
  Outcome outcome;
  TRELLIS_ASSIGN_OR_RETURN(const testing_support::OsdCalls before, cluster.CountCalls());
  outcome.daemon_seconds = -ProcessorSecondsOfDaemons();
  for (const auto& worker : workers) worker->Continue();
  for (const auto& worker : workers) {
    TRELLIS_ASSIGN_OR_RETURN(const Work work, worker->Result());
    outcome.work.puts += work.puts;
    outcome.work.groups += work.groups;
    outcome.work.seconds = std::max(outcome.work.seconds, work.seconds);
    outcome.work.processor_seconds += work.processor_seconds;
    outcome.work.memory_kib += work.memory_kib;
    outcome.work.threads += work.threads;
  }
  outcome.daemon_seconds += ProcessorSecondsOfDaemons();
  TRELLIS_ASSIGN_OR_RETURN(const testing_support::OsdCalls after, cluster.CountCalls());
  outcome.osd_reads = after.reads - before.reads;
  outcome.osd_writes = after.writes - before.writes;
  outcome.watches = after.watches;
  return outcome;
}

// Figures of several runs of one load.
struct Figures {
  std::vector<double> puts_per_second, puts_per_group, writes_per_group, client_cores, daemon_cores;

  void Add(const Outcome& outcome) {
    const auto puts = static_cast<double>(outcome.work.puts);
    const auto groups = static_cast<double>(outcome.work.groups);
    puts_per_second.push_back(puts / outcome.work.seconds);
    puts_per_group.push_back(puts / groups);
    writes_per_group.push_back(static_cast<double>(outcome.osd_writes) / groups);
    client_cores.push_back(outcome.work.processor_seconds / outcome.work.seconds);
    daemon_cores.push_back(outcome.daemon_seconds / outcome.work.seconds);
  }
  void Print(std::string_view name) const {
    std::printf("%-24s %9.0f %10.1f %17.3f %13.2f %13.2f\n", std::string(name).c_str(),
                Median(puts_per_second), Median(puts_per_group), Median(writes_per_group),
                Median(client_cores), Median(daemon_cores));
  }
};

void PrintHeader() {
  std::printf("%-24s %9s %10s %17s %13s %13s\n", "", "puts/s", "puts/group", "RADOS writes/group",
              "client cores", "Ceph cores");
}

// Runs the loads in turn.
absl::StatusOr<std::vector<Figures>> Alternate(const std::vector<Load>& loads) {
  TestCluster cluster;
  TRELLIS_RETURN_IF_ERROR(cluster.status());
  std::vector<Figures> figures(loads.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < loads.size(); ++i) {
      TRELLIS_ASSIGN_OR_RETURN(const Outcome outcome, Run(cluster, loads[i]));
      figures[i].Add(outcome);
    }
  }
  return figures;
}

absl::Status Puts() {
  const std::vector<int> threads = {1, 4, 16, 64};
  std::vector<Load> loads;
  for (const int count : threads) loads.push_back({.threads = count});
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<Figures> figures, Alternate(loads));
  PrintHeader();
  for (size_t i = 0; i < threads.size(); ++i)
    figures[i].Print(Concat(threads[i], threads[i] == 1 ? " thread" : " threads"));
  std::printf("64 threads / 1 thread: %.1f\n",
              Median(figures.back().puts_per_second) / Median(figures.front().puts_per_second));
  return absl::OkStatus();
}

absl::Status Stores() {
  std::vector<Load> loads;
  for (const int threads : {1, 16, 64}) {
    loads.push_back({.threads = threads});
    loads.push_back({.processes = 4, .stores = 4, .threads = threads});
  }
  TRELLIS_ASSIGN_OR_RETURN(const std::vector<Figures> figures, Alternate(loads));
  PrintHeader();
  for (size_t i = 0; i < loads.size(); ++i)
    figures[i].Print(Concat(loads[i].stores, loads[i].stores == 1 ? " store, " : " stores, ",
                            loads[i].threads, " threads each"));
  for (size_t i = 0; i < loads.size(); i += 2) {
    std::printf("4 stores / 1 store, %d threads each: %.1f\n", loads[i].threads,
                Median(figures[i + 1].puts_per_second) / Median(figures[i].puts_per_second));
  }
  return absl::OkStatus();
}

void PrintCalls(std::string_view what, const PoolCalls& before, const PoolCalls& after) {
  std::printf("%s: %" PRIu64 " reads, %" PRIu64 " writes; index: %" PRIu64 " reads, %" PRIu64
              " writes\n",
              std::string(what).c_str(), after.reads - before.reads, after.writes - before.writes,
              after.index_reads - before.index_reads, after.index_writes - before.index_writes);
}

// Puts single keys.  Then puts as many bytes as a table of 40 MiB has, flushes them, and opens the
// store again.
absl::Status Calls() {
  const std::string name = TestCluster::UniqueName();
  TRELLIS_ASSIGN_OR_RETURN(const auto counting, CountingFiles::Open(OptionsOfPool()));
  TRELLIS_ASSIGN_OR_RETURN(auto db, OpenStore(name, counting->files()));
  uint64_t number = 0;
  TRELLIS_RETURN_IF_ERROR(db->Put(KeyOf(number++), "value", {.sync = true}));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the opening ends in the background
  const PoolCalls before_puts = counting->pool().calls();
  for (int i = 0; i < 300; ++i)
    TRELLIS_RETURN_IF_ERROR(db->Put(KeyOf(number++), "value", {.sync = true}));
  PrintCalls("300 synced puts", before_puts, counting->pool().calls());
  for (int table = 1; table <= 3; ++table) {
    lsm::SplitMix random(table);
    std::string value(1000, '\0');
    for (int batch_number = 0; batch_number < 40; ++batch_number) {
      lsm::WriteBatch batch;
      for (int i = 0; i < 1000; ++i) {
        for (char& byte : value) byte = static_cast<char>(random.Next());
        batch.Put(KeyOf(number++), value);
      }
      TRELLIS_RETURN_IF_ERROR(db->Write(batch));
    }
    const PoolCalls before = counting->pool().calls();
    const uint64_t bytes = db->GetStatistics().flush_bytes_written;
    TRELLIS_RETURN_IF_ERROR(db->Flush());
    TRELLIS_RETURN_IF_ERROR(db->WaitForBackgroundWork());
    const uint64_t table_bytes = db->GetStatistics().flush_bytes_written - bytes;
    PrintCalls(Concat("flush of ", table_bytes, " bytes, ",
                      (table_bytes + (4 << 20) - 1) / (4 << 20), " chunks"),
               before, counting->pool().calls());
    TRELLIS_RETURN_IF_ERROR(db->Close());
    db.reset();
    const PoolCalls closed = counting->pool().calls();
    TRELLIS_ASSIGN_OR_RETURN(db, OpenStore(name, counting->files(), lsm::OpenMode::kMustExist));
    PrintCalls(Concat("opening with ", table, table == 1 ? " table" : " tables"), closed,
               counting->pool().calls());
    std::printf("  reads of tables: %" PRIu64 "\n", db->GetStatistics().opening_reads);
    TRELLIS_RETURN_IF_ERROR(db->WaitForBackgroundWork());
  }
  return db->Close();
}

absl::Status Idle() {
  TestCluster cluster;
  TRELLIS_RETURN_IF_ERROR(cluster.status());
  std::printf("%-12s %12s %12s %9s %14s %13s %13s %12s\n", "stores", "MiB/process", "MiB/store",
              "threads", "threads/store", "OSD reads/s", "OSD writes/s", "watches");
  double empty_kib = 0, empty_threads = 0;
  for (const int stores : {0, 1, 10, 100}) {
    const int processes = std::clamp(stores, 1, 4);
    TRELLIS_ASSIGN_OR_RETURN(
        const Outcome outcome,
        Run(cluster,
            {.processes = processes, .stores = stores, .threads = 0, .seconds = kIdleSeconds}));
    const auto kib = static_cast<double>(outcome.work.memory_kib);
    const auto threads = static_cast<double>(outcome.work.threads);
    if (stores == 0) {
      empty_kib = kib;
      empty_threads = threads;
    }
    const double each = std::max(stores, 1);
    std::printf("%-12d %12.1f %12.2f %9.0f %14.1f %13.2f %13.2f %12" PRIu64
                "   cores: %.2f of %d processes, %.2f of Ceph\n",
                stores, kib / 1024 / processes, (kib - empty_kib * processes) / 1024 / each,
                threads, (threads - empty_threads * processes) / each,
                static_cast<double>(outcome.osd_reads) / outcome.work.seconds,
                static_cast<double>(outcome.osd_writes) / outcome.work.seconds, outcome.watches,
                outcome.work.processor_seconds / outcome.work.seconds, processes,
                outcome.daemon_seconds / outcome.work.seconds);
  }
  return absl::OkStatus();
}

// Follows the store for a while.
absl::Status FollowForAWhile(std::string_view what, const std::string& name) {
  TRELLIS_ASSIGN_OR_RETURN(const auto counting, CountingFiles::Open(OptionsOfPool()));
  TRELLIS_ASSIGN_OR_RETURN(const auto db,
                           OpenStore(name, counting->files(), lsm::OpenMode::kFollow));
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const PoolCalls before = counting->pool().calls();
  uint64_t oldest = 0, refreshes = 0, last = 0;
  for (uint64_t i = 0; i < kIdleSeconds * 100; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const uint64_t age = db->GetStatistics().view_age_nanos;
    refreshes += age < last ? 1 : 0;
    oldest = std::max(oldest, last = age);
  }
  const PoolCalls after = counting->pool().calls();
  const auto each = [&](uint64_t from, uint64_t to) {
    return static_cast<double>(to - from) / static_cast<double>(kIdleSeconds);
  };
  std::printf(
      "%-6s %.1f refreshes/s; index: %.1f reads/s, %.2f writes/s; chunks: %.1f reads/s; "
      "oldest view %.2f s\n",
      std::string(what).c_str(), each(0, refreshes), each(before.index_reads, after.index_reads),
      each(before.index_writes, after.index_writes), each(before.reads, after.reads),
      static_cast<double>(oldest) / 1e9);
  return db->Close();
}

// Merges all tables into one, which removes them, and counts the calls.  The background makes
// others at any time, such as renewals, so `least` becomes the least of several.
absl::Status CountRemoval(DB& db, const CountingPool& pool, PoolCalls* least) {
  TRELLIS_RETURN_IF_ERROR(db.Put(KeyOf(0), "value"));
  const PoolCalls before = pool.calls();
  TRELLIS_RETURN_IF_ERROR(db.CompactRange());
  TRELLIS_RETURN_IF_ERROR(db.WaitForBackgroundWork());
  std::this_thread::sleep_for(std::chrono::seconds(1));  // chunks are removed later
  const PoolCalls after = pool.calls();
  least->reads = std::min(least->reads, after.reads - before.reads);
  least->writes = std::min(least->writes, after.writes - before.writes);
  least->index_reads = std::min(least->index_reads, after.index_reads - before.index_reads);
  least->index_writes = std::min(least->index_writes, after.index_writes - before.index_writes);
  return absl::OkStatus();
}

absl::Status CountRemovals() {
  constexpr PoolCalls kMany = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  const std::string name = TestCluster::UniqueName();
  TRELLIS_ASSIGN_OR_RETURN(const auto counting, CountingFiles::Open(OptionsOfPool()));
  TRELLIS_ASSIGN_OR_RETURN(const auto db, OpenStore(name, counting->files()));
  const CountingPool& pool = counting->pool();
  PoolCalls without = kMany, with_new = kMany, with_known = kMany;
  for (int round = 1; round <= kRounds; ++round)
    TRELLIS_RETURN_IF_ERROR(CountRemoval(*db, pool, &without));
  for (int round = 1; round <= kRounds; ++round) {
    TRELLIS_ASSIGN_OR_RETURN(const auto files, lsm::OpenRados(OptionsOfPool()));
    TRELLIS_ASSIGN_OR_RETURN(const auto follower,
                             OpenStore(name, files.get(), lsm::OpenMode::kFollow));
    TRELLIS_RETURN_IF_ERROR(CountRemoval(*db, pool, &with_new));
    TRELLIS_RETURN_IF_ERROR(CountRemoval(*db, pool, &with_known));
    TRELLIS_RETURN_IF_ERROR(follower->Close());
    std::this_thread::sleep_for(std::chrono::seconds(3));  // what the pin kept is removed
  }
  PrintCalls("compaction without pins", {}, without);
  PrintCalls("compaction after a new pin", {}, with_new);
  PrintCalls("the next compaction", {}, with_known);
  return db->Close();
}

absl::Status FollowStores() {
  const std::string name = TestCluster::UniqueName();
  for (const int threads : {0, 1, 64}) {
    TRELLIS_ASSIGN_OR_RETURN(const auto writer, Worker::Start({"worker", Concat(threads),
                                                               Concat(kIdleSeconds + 3), name}));
    TRELLIS_RETURN_IF_ERROR(writer->WaitUntilReady());
    writer->Continue();
    TRELLIS_RETURN_IF_ERROR(
        FollowForAWhile(threads == 0 ? "quiet" : Concat(threads, " thr"), name));
    TRELLIS_ASSIGN_OR_RETURN(const Work work, writer->Result());
    std::printf("       the writer: %.0f puts/s\n", static_cast<double>(work.puts) / work.seconds);
  }
  return CountRemovals();
}

absl::Status RunCommand(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "worker" && words.size() >= 3) return RunWorker(words);
  if (words.size() != 1) return absl::InvalidArgumentError(Concat(kUsage));
  if (command == "puts") return Puts();
  if (command == "stores") return Stores();
  if (command == "calls") return Calls();
  if (command == "idle") return Idle();
  if (command == "follow") return FollowStores();
  return absl::InvalidArgumentError(Concat(kUsage));
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  ::signal(SIGPIPE, SIG_IGN);
  const absl::Status status = RunCommand({argv + 1, argv + argc});
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 1;
}
