// The promises that a store in trouble makes by its answers, and whether it keeps them: when it is
// opened again, after a crash of the machine, and in copies.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_PROMISES_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_PROMISES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/reliability/workload/copies.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

// The checks after a failure in a workload, once in each run.
struct TrialReport {
  uint64_t places = 0;   // in the workload, at which something may fail
  uint64_t cases = 0;    // of a place and a way to fail, up to that of the last run
  uint64_t runs = 0;     // of these cases
  uint64_t resumed = 0;  // of the runs, in which the store recovered without being opened again
  uint64_t unknown = 0;  // of the runs, in which the outcome of a write was unknown
  // The bytes appended in a run, but for resuming the store, as a part of those when nothing
  // failed.
  double bytes_ratio_max = 0;
  std::string finding;
};

// Every function that returns a text says what is wrong, or nothing.
class Promises {
 public:
  // The answer of a write.
  std::string Answered(const Commit& commit, const absl::Status& status);
  // All that was acknowledged is durable now.
  void Synced() { durable_ = history_.size(); }
  // Resume succeeded, so that a write of unknown outcome is not there.  `failure`: GetFailure then;
  // `failed_again`: something failed since Resume began, perhaps after it had recovered all.
  std::string Resumed(const absl::Status& failure, bool failed_again);
  // The store was opened, and this is there.  `dropped`: by a disk that dropped what was written
  // and not synced, which is as after a crash.
  std::string Opened(const Contents& found, bool dropped);

  // Nothing, or the value that a read must return.
  std::optional<std::string> ValueOf(const std::string& key) const;
  const Contents& contents() const { return contents_; }
  const History& history() const { return history_; }
  Copies& copies() { return copies_; }
  bool was_resumed() const { return was_resumed_; }
  bool had_unknown() const { return had_unknown_; }

  // On a machine of its own with these files: as after a crash here, or as they are.
  std::string ProblemAfterCrash(const lsm::MemoryFileSystem& files, const std::string& path,
                                const lsm::Options& options) const;
  std::string ProblemOfCopies(const lsm::MemoryFileSystem& files,
                              const lsm::Options& options) const;

 private:
  Copies copies_;
  History history_;    // of what was acknowledged
  Contents contents_;  // after it
  size_t durable_ = 0;
  std::optional<Commit> unknown_;  // since the store was opened or resumed
  bool was_resumed_ = false, had_unknown_ = false;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_PROMISES_H_
