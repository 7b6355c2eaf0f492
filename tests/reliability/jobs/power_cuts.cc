#include "tests/reliability/jobs/power_cuts.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/child.h"
#include "tests/reliability/workload/workload.h"
#include "tests/support/run_program.h"
#include "tests/support/scratch_dir.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;

constexpr uint64_t kCutsPerWorkload = 20;
constexpr char kDiskMegabytes[] = "24";
// The modes of ext4, which differ in the order of writing data and metadata.
constexpr const char* kModes[] = {"data=ordered", "data=writeback", "data=journal"};

WorkloadShape ShapeOf(uint64_t seed) {
  WorkloadShape shape;
  shape.steps = 3000;
  if (seed % 2 == 1) shape.large_value_bytes = 20'000;
  shape.ranges = seed % 3 == 1;
  shape.keyspaces = seed / 2 % 2 == 1;
  return shape;
}

lsm::Options SmallOptions(const std::string& path, bool logs_apart) {
  lsm::World world;
  lsm::Options options = world.SmallOptions();
  options.environment = {};
  options.level0_compaction_tables = 2;
  if (logs_apart) options.log_directory = path + ".logs";
  return options;
}

bool Succeeds(const std::vector<std::string>& words) {
  return testing_support::RunProgram(words).code == 0;
}

// Mounts an ext4 in a file until it is destroyed.
class Mounted {
 public:
  Mounted(const std::string& file, const std::string& path, const std::string& mode) : path_(path) {
    std::filesystem::create_directory(path);
    is_there_ = Succeeds({"mount", "-t", "ext4", "-o", Concat("loop,", mode), file, path});
  }
  ~Mounted() {
    // The file system may be busy for a moment after a process has ended.
    for (int i = 0; is_there_ && i < 100 && !Succeeds({"umount", path_}); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;

  bool is_there() const { return is_there_; }
  // The kernel's counters for the device, which change with every read and write.  Empty while a
  // request is in flight.
  std::vector<uint64_t> Counters() const {
    constexpr size_t kUnderWay = 8;  // Documentation/block/stat.rst
    struct stat info;
    if (::stat(path_.c_str(), &info) != 0) return {};
    std::ifstream file(
        Concat("/sys/dev/block/", major(info.st_dev), ":", minor(info.st_dev), "/stat"));
    std::vector<uint64_t> counters(std::istream_iterator<uint64_t>(file), {});
    if (counters.size() <= kUnderWay || counters[kUnderWay] != 0) return {};
    return counters;
  }

 private:
  const std::string path_;
  bool is_there_ = false;
};

// The report of the process after a step.
struct Said {
  uint64_t acknowledged = 0;
  uint64_t durable = 0;
  uint64_t failed = 0;  // not 0: the process cannot go on
};

// Reads up to the last report.  Returns false if the process has ended.
bool Hear(int pipe, Said* said) {
  for (;;) {
    pollfd source{pipe, POLLIN, 0};
    if (::poll(&source, 1, 0) <= 0) return true;
    const ssize_t length = ::read(pipe, said, sizeof *said);
    if (length != sizeof *said) return false;
  }
}

absl::Status Make(const Step& step, const std::string& path, bool logs_apart,
                  std::unique_ptr<DB>* db) {
  // Only a process of its own can do kKill; here it is like kReopen.
  if (step.kind != Step::kReopen && step.kind != Step::kKill) return Carry(step, **db);
  *db = nullptr;
  TRELLIS_ASSIGN_OR_RETURN(*db, DB::Open(path, SmallOptions(path, logs_apart)));
  return absl::OkStatus();
}

// Runs the workload's steps and reports after each how much must survive from now on.
[[noreturn]] void Live(const std::vector<Step>& steps, const std::string& path, bool logs_apart,
                       int pipe) {
  std::unique_ptr<DB> db;
  Said said;
  for (const Step& step : steps) {
    const absl::Status status = Make(step, path, logs_apart, &db);
    said.failed = !status.ok();
    if (!status.ok())
      std::fprintf(stderr, "%s: %s\n", NameOf(step.kind), status.ToString().c_str());
    said.acknowledged += step.kind == Step::kWrite;
    // Opening a store makes everything durable that it has read.
    if (step.MakesDurable() || step.kind == Step::kReopen || step.kind == Step::kKill)
      said.durable = said.acknowledged;
    if (::write(pipe, &said, sizeof said) != sizeof said || said.failed != 0) ::_exit(1);
  }
  ::_exit(0);
}

class Cutter {
 public:
  Cutter(uint64_t seed, uint64_t cuts) : seed_(seed), cuts_(cuts), dice_(seed) {}

  PowerCutReport Run() {
    if (::geteuid() != 0) report_.left_out = "it takes root";
    while (report_.left_out.empty() && report_.finding.empty() && report_.cuts < cuts_) {
      const uint64_t before = report_.cuts;
      RunWorkload(seed_ * 1'000'003 + report_.workloads);
      if (report_.cuts == before && report_.left_out.empty())
        report_.left_out = "the device is never at rest";
      ++report_.workloads;
    }
    return report_;
  }

 private:
  std::string disk() const { return scratch_.path_of("disk"); }
  std::string copy() const { return scratch_.path_of("copy"); }

  void RunWorkload(uint64_t seed) {
    const std::vector<Step> steps = MakeWorkload(seed, ShapeOf(seed));
    History history;
    for (const Step& step : steps) {
      if (step.kind == Step::kWrite) history.Add(step.commit);
    }
    const bool logs_apart = seed / 2 % 2 == 1;
    const std::string mode = kModes[seed / 4 % std::size(kModes)];
    std::filesystem::remove(disk());
    if (!Succeeds({"mkfs.ext4", "-q", "-F", disk(), Concat(kDiskMegabytes, "M")})) {
      report_.left_out = "mkfs.ext4 fails";
      return;
    }
    const std::string path = scratch_.path_of("mounted");
    const Mounted mounted(disk(), path, mode);
    if (!mounted.is_there()) {
      report_.left_out = "an ext4 on a file cannot be mounted";
      return;
    }
    Child writer([&](int pipe) { Live(steps, path + "/store", logs_apart, pipe); });
    if (!writer.started()) {
      report_.left_out = "a process cannot be forked";
      return;
    }
    Said said;
    for (uint64_t i = 0; i < kCutsPerWorkload && report_.cuts < cuts_; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(dice_.Roll(40'000)));
      writer.Pause();
      const bool goes_on = Hear(writer.pipe(), &said);
      const std::string problem =
          said.failed != 0 ? "the workload fails" : Cut(mounted, mode, logs_apart, history, said);
      if (!problem.empty() && report_.finding.empty()) {
        report_.finding = Concat("seed ", seed_, ", workload ", report_.workloads, ", cut ", i,
                                 ", after ", said.acknowledged, " commits, ", said.durable,
                                 " of them durable, ", mode, ": ", problem);
      }
      if (!goes_on && report_.finding.empty()) {
        const int status = writer.Wait();
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
          report_.finding = Concat("seed ", seed_, ", workload ", report_.workloads,
                                   ": its process ended with status ", status);
      }
      if (!goes_on || !report_.finding.empty()) return;
      writer.GoOn();
    }
  }

  // The finding, or empty.
  std::string Cut(const Mounted& mounted, const std::string& mode, bool logs_apart,
                  const History& history, const Said& said) {
    if (!Copy(mounted)) return "";
    ++report_.cuts;
    const std::string path = scratch_.path_of("recovered");
    const Mounted recovered(copy(), path, mode);
    if (!recovered.is_there()) return "ext4 does not take the copy";
    const std::string store = path + "/store";
    const absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(store, SmallOptions(store, logs_apart));
    if (!db.ok()) return Concat("cannot be opened: ", db.status().ToString());
    const absl::StatusOr<size_t> count = CountCommits(**db, history);
    if (!count.ok()) return count.status().ToString();
    if (*count < said.durable) return Concat("has only ", *count, " commits");
    // One more commit may be in flight.
    if (*count > said.acknowledged + 1) return Concat("has even ", *count, " commits");
    report_.lossy += *count < said.acknowledged;
    const absl::StatusOr<lsm::VerifyReport> verified = (*db)->Verify();
    if (!verified.ok()) return verified.status().ToString();
    return verified->problems.empty() ? "" : verified->problems.front();
  }

  // Copies the file in a state in which the device was idle.
  bool Copy(const Mounted& mounted) {
    for (int i = 0; i < 50; ++i) {
      const std::vector<uint64_t> before = mounted.Counters();
      std::error_code error;
      std::filesystem::copy_file(disk(), copy(), std::filesystem::copy_options::overwrite_existing,
                                 error);
      if (!error && !before.empty() && mounted.Counters() == before) return true;
    }
    return false;
  }

  const uint64_t seed_, cuts_;
  lsm::Dice dice_;
  testing_support::ScratchDir scratch_;
  PowerCutReport report_;
};

}  // namespace

PowerCutReport CutPower(uint64_t seed, uint64_t cuts) { return Cutter(seed, cuts).Run(); }

}  // namespace reliability
