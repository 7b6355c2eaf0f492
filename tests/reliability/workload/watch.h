// Watches a store as an embedding program does, through events and statistics.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_WATCH_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_WATCH_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "lsm/fs/file_names.h"

namespace reliability {

// Tracks the set of a store's files by its events, and calls the store from callbacks.
class Watch final : public lsm::EventListener {
 public:
  // For a store in the directory `store` that is opened later.  Its logs are there or in "/logs".
  Watch(lsm::FileSystem& file_system, std::string store)
      : file_system_(file_system), store_(std::move(store)), files_(FilesThere()) {}

  // Returns an error's text; empty if the events name exactly the existing files.
  std::string Problem() const {
    const std::set<std::string> there = FilesThere();
    if (there == files_) return "";
    return lsm::Concat("events tell of ", files_.size(), " files, ", there.size(), " are there");
  }

  // Returns an error's text; empty if each counted stall had an event and, where jobs do not
  // overlap, each event was counted.  (Where they overlap, a stall may end before it is counted.)
  std::string ProblemOfStalls(const lsm::Statistics& statistics, bool jobs_overlap) const {
    const uint64_t counted[] = {statistics.stalls_memtable, statistics.stalls_level0,
                                statistics.stalls_log, statistics.stalls_reserve};
    for (size_t cause = 0; cause < std::size(counted); ++cause) {
      if (counted[cause] > stalls_[cause] ||
          (!jobs_overlap && counted[cause] == 0 && stalls_[cause] > 0))
        return lsm::Concat("events tell of ", stalls_[cause], " stalls (",
                           lsm::NameOf(static_cast<lsm::StallCause>(cause)), "), of which ",
                           counted[cause], " are counted");
    }
    return "";
  }

  lsm::DB* db = nullptr;  // null while it is opened

  void OnFileCreated(const lsm::FileCreated& event) override { files_.insert(event.path); }
  void OnFileRemoved(const lsm::FileRemoved& event) override { files_.erase(event.path); }
  void OnFlushEnd(const lsm::FlushEnd&) override { Ask(); }
  void OnCompactionBegin(const lsm::CompactionBegin&) override { Ask(); }
  void OnStallBegin(const lsm::StallBegin& event) override {
    ++stalls_[static_cast<size_t>(event.cause)];
    Ask();
  }
  void OnFailure(const lsm::Failure&) override { Ask(); }

 private:
  std::set<std::string> FilesThere() const {
    std::set<std::string> paths;
    for (const std::string& path : {store_, std::string("/logs")}) {
      const auto directory = file_system_.OpenDirectory(path, /*create=*/false);
      if (!directory.ok()) continue;
      const std::vector<std::string> names = (*directory)->List().value();
      for (const std::string& name : names) {
        const std::optional<lsm::FileName> parsed = lsm::ParseFileName(name);
        if (parsed && parsed->kind != lsm::FileKind::kLock &&
            parsed->kind != lsm::FileKind::kCurrent && parsed->kind != lsm::FileKind::kTemporary)
          paths.insert(lsm::Concat(path, "/", name));
      }
    }
    return paths;
  }

  void Ask() {
    if (db == nullptr) return;
    (void)db->GetFailure();
    (void)db->GetStatistics();
    // Not Get, because on a crashed machine it would count as a failed read.
    (void)db->ApproximateBytes();
  }

  lsm::FileSystem& file_system_;
  const std::string store_;
  std::set<std::string> files_;
  uint64_t stalls_[4] = {};  // by cause
};

// Returns an error's text; empty if `statistics` since themselves are zero, and the statistics of a
// new store since `statistics` are zero, too.
inline std::string ProblemOfSince(const lsm::Statistics& statistics) {
  for (const lsm::Statistics& nothing :
       {statistics.Since(statistics), lsm::Statistics().Since(statistics)}) {
    const uint64_t counts = nothing.lookups + nothing.iterators + nothing.seeks + nothing.writes +
                            nothing.flushes + nothing.log_bytes_written + nothing.stall_nanos +
                            nothing.get_times.count();
    if (counts != 0) return "Statistics::Since counts where nothing was counted";
  }
  return "";
}

// Returns an error's text.  Empty if each level counted every considered table as read or avoided,
// and no filter denied a key of its table.
inline std::string ProblemOfReads(const lsm::Statistics& statistics) {
  std::vector<lsm::LevelStatistics> levels = {statistics.total};
  levels.insert(levels.end(), std::begin(statistics.levels), std::end(statistics.levels));
  for (const lsm::LevelStatistics& level : levels) {
    if (level.tables_considered != level.reads_avoided + level.useful_reads + level.wasted_reads ||
        level.false_positives > level.wasted_reads)
      return lsm::Concat(level.tables_considered, " tables considered, ", level.reads_avoided,
                         " not read, ", level.useful_reads, " and ", level.wasted_reads, " read, ",
                         level.false_positives, " of them wasted after a filter");
  }
  if (statistics.filter_false_negatives == 0) return "";
  return lsm::Concat(statistics.filter_false_negatives,
                     " keys denied by the filters of their tables");
}

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_WATCH_H_
