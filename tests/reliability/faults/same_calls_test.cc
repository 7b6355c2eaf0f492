// The file system in memory, whose changes the jobs enumerate, behaves like a real one: the same
// workload makes the same changes to files in the same order on both.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/fs/watched_calls.h"
#include "tests/reliability/faults/recorder.h"
#include "tests/reliability/workload/copies.h"
#include "tests/reliability/workload/workload.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::World;

// Moves the plan's paths below `root`.
CopyPlan Below(const std::string& root, CopyPlan plan) {
  for (std::string* path :
       {&plan.copy.path, &plan.copy.logs_path, &plan.earlier, &plan.options.log_directory}) {
    if (!path->empty()) *path = root + *path;
  }
  return plan;
}

// Runs on one thread and with one seed, so that two runs do the same.
void Run(World& world, lsm::FileSystem* files, const std::string& root, bool logs_apart,
         const std::vector<Step>& steps) {
  const std::string path = root + "/store";
  lsm::Options options = world.SmallOptions();
  options.level0_compaction_tables = 2;
  options.environment.file_system = files;
  if (logs_apart) options.log_directory = root + "/logs";
  Copies copies;
  std::unique_ptr<lsm::DB> db;
  for (const Step& step : steps) {
    switch (step.kind) {
      case Step::kReopen:
      case Step::kKill: {  // impossible without ending the process, so it closes the store
        db = nullptr;
        absl::StatusOr<std::unique_ptr<lsm::DB>> opened = lsm::DB::Open(path, options);
        ASSERT_OK(opened);
        db = *std::move(opened);
        break;
      }
      case Step::kCopy: {
        const CopyPlan plan = copies.Next(options, 0);
        ASSERT_OK(Carry(Below(root, plan), *db));
        copies.Note(plan, true);
        break;
      }
      case Step::kVerify:
        ASSERT_OK(db->Verify());
        break;
      default:
        ASSERT_OK(Carry(step, *db));
    }
  }
}

// Directories list names in any order, and the store removes obsolete files in that order.
void SortRemovals(std::vector<std::string>* changes) {
  const auto is_removal = [](const std::string& change) { return change.starts_with("unlink "); };
  for (auto from = changes->begin(); from != changes->end();) {
    from = std::find_if(from, changes->end(), is_removal);
    const auto to = std::find_if_not(from, changes->end(), is_removal);
    std::sort(from, to);
    from = to;
  }
}

std::vector<std::string> ChangesInMemory(uint64_t seed, bool logs_apart,
                                         const std::vector<Step>& steps) {
  World world(seed);
  Recorder recorder(world.files.get());
  Run(world, &recorder, "", logs_apart, steps);
  std::map<uint32_t, std::string> names;
  std::vector<std::string> changes;
  for (const Event& event : recorder.journal()) {
    switch (event.kind) {
      case Event::kCreate:
        names[event.file] = event.name;
        changes.push_back(Concat("create ", event.name));
        break;
      case Event::kAppend:
        changes.push_back(Concat("write ", names[event.file]));
        break;
      case Event::kSyncFile:
        changes.push_back(Concat("fdatasync ", names[event.file]));
        break;
      case Event::kRename:
        changes.push_back(Concat("rename ", event.name, " ", event.to));
        break;
      case Event::kLink:
        changes.push_back(Concat("link ", event.name));
        break;
      case Event::kRemove:
        changes.push_back(Concat("unlink ", event.name));
        break;
      case Event::kSyncDirectory:
      case Event::kSyncName:
        changes.push_back(Concat("fsync ", event.directory.substr(1)));
        break;
    }
  }
  std::erase(changes, "create LOCK");
  SortRemovals(&changes);
  return changes;
}

std::vector<std::string> ChangesOnPosix(uint64_t seed, bool logs_apart,
                                        const std::vector<Step>& steps) {
  const testing_support::ScratchDir scratch;
  // Creates the directory before, so that the trace does not show its creation: the file system in
  // memory has no such call.
  EXPECT_OK(lsm::PosixFileSystem().OpenDirectory(scratch.path_of("store"), /*create=*/true));
  World world(seed);
  lsm::CallScript script;
  lsm::call_script = &script;
  Run(world, nullptr, scratch.path_of("."), logs_apart, steps);
  lsm::call_script = nullptr;
  std::vector<std::string> changes;
  for (const std::string& call : script.calls) {
    const std::string name = call.substr(0, call.find(' '));
    const bool is_change = name == "create" || name == "write" || name == "fdatasync" ||
                           name == "rename" || name == "unlink" || name == "link" ||
                           call == "fsync store" || call == "fsync logs" ||
                           call.starts_with("fsync copy");
    // Each opening opens LOCK with O_CREAT, and each swap of CURRENT tries to remove an old
    // temporary file.
    if (is_change && call != "create LOCK" && call != "unlink CURRENT.tmp") changes.push_back(call);
  }
  SortRemovals(&changes);
  return changes;
}

TEST(SameCallsTest, PosixMakesTheSameChangesAsMemory) {
  int64_t links = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    WorkloadShape shape;
    shape.large_value_bytes = seed % 2 == 0 ? 30'000 : 0;
    shape.copies = seed % 4 >= 2;
    shape.keyspaces = seed >= 5;
    const bool logs_apart = seed % 3 == 0;
    const std::vector<Step> steps = MakeWorkload(seed, shape);
    const std::vector<std::string> in_memory = ChangesInMemory(seed, logs_apart, steps);
    EXPECT_GT(in_memory.size(), 200u);
    links += std::count_if(in_memory.begin(), in_memory.end(),
                           [](const std::string& change) { return change.starts_with("link "); });
    const std::vector<std::string> on_posix = ChangesOnPosix(seed, logs_apart, steps);
    const auto [here, there] =
        std::mismatch(on_posix.begin(), on_posix.end(), in_memory.begin(), in_memory.end());
    EXPECT_TRUE(here == on_posix.end() && there == in_memory.end())
        << "seed " << seed << ", change " << here - on_posix.begin() << ": "
        << (here == on_posix.end() ? "none" : *here) << " on POSIX, "
        << (there == in_memory.end() ? "none" : *there) << " in memory";
  }
  EXPECT_GT(links, 5);  // by checkpoints, and by backups on earlier backups
}

}  // namespace
}  // namespace reliability
