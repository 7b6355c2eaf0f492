// Records the promises that a store makes by its answers, and checks them when the store is opened
// again, after a crash of the machine, and in copies.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_PROMISES_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_PROMISES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/reliability/workload/copies.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

// Counts the runs of a workload, each with one failure and the checks after it.
struct TrialReport {
  uint64_t places = 0;   // places in the workload where something may fail
  uint64_t cases = 0;    // pairs of a place and a way to fail, up to the last run
  uint64_t runs = 0;     // cases that were run
  uint64_t resumed = 0;  // runs in which the store recovered without being opened again
  uint64_t unknown = 0;  // runs in which the outcome of a write was unknown
  // The highest ratio of the bytes that a run appended, not counting those for resuming the store,
  // to the bytes of a run without failures.
  double bytes_ratio_max = 0;
  std::string finding;
};

// The functions that return a string return what is wrong, or an empty string.
class Promises {
 public:
  // Records the answer to a write.
  std::string Answered(const Commit& commit, const absl::Status& status);
  // All acknowledged writes are durable now.
  void Synced() { durable_ = history_.size(); }
  // Resume succeeded, so a write of unknown outcome has no effect.  `failure` is the result of
  // GetFailure after it.  `failed_again`: a call failed since Resume began, perhaps after Resume
  // had recovered everything.
  std::string Resumed(const absl::Status& failure, bool failed_again);
  // The store was opened and holds `found`.  `dropped`: the disk dropped unsynced bytes, so the
  // same loss is allowed as after a crash.
  std::string Opened(const Contents& found, bool dropped);

  // The value that a read must return, or nullopt if the key must be absent.
  std::optional<std::string> ValueOf(const std::string& key) const;
  // Whether this keyspace must exist.
  bool Has(std::string_view keyspace) const;
  const Contents& contents() const { return contents_; }
  const History& history() const { return history_; }
  Copies& copies() { return copies_; }
  bool was_resumed() const { return was_resumed_; }
  bool had_unknown() const { return had_unknown_; }

  // These two open the files on another machine: in the state after a crash here, and as they are.
  std::string ProblemAfterCrash(const lsm::MemoryFileSystem& files, const std::string& path,
                                const lsm::Options& options) const;
  std::string ProblemOfCopies(const lsm::MemoryFileSystem& files,
                              const lsm::Options& options) const;

 private:
  Copies copies_;
  History history_;    // acknowledged commits
  Contents contents_;  // after these commits
  size_t durable_ = 0;
  // A write of unknown outcome since the store was opened or resumed.
  std::optional<Commit> unknown_;
  bool was_resumed_ = false, had_unknown_ = false;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_PROMISES_H_
