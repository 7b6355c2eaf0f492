// The copies that a workload makes of its store, and what each of them must hold.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_COPIES_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

struct Copy {
  std::string path;
  std::string logs_path;  // of the one that is restored; or empty
  size_t commits = 0;     // that it holds
};

struct CopyPlan {
  // In the order in which they come.
  enum Kind : uint8_t {
    kCheckpoint,
    kDestroy,  // `earlier`
    kBackup,
    kBackupOnBase,  // of `earlier`
    kRestore,       // from `earlier`
    kRepair,        // `earlier`, which is sound
    kKinds
  };
  Kind kind = kCheckpoint;
  Copy copy;
  std::string earlier;
  lsm::Options options;  // of those that take some
};
// The one call of `db` that it takes.
absl::Status Carry(const CopyPlan& plan, lsm::DB& db);

class Copies {
 public:
  // The next copy of a store that holds so many commits and was opened with these options; one kind
  // after the other.
  CopyPlan Next(const lsm::Options& options, size_t commits);
  // Notes whether the plan was carried out.
  void Note(const CopyPlan& plan, bool done);
  void Forget() { made_.clear(); }

  const std::vector<Copy>& made() const { return made_; }

 private:
  size_t plans_ = 0;
  std::vector<Copy> made_;
};

// The fault of a copy, or empty.  `options` say where its files are and how it is opened, but not
// where its logs are.
std::string ProblemOf(const Copy& copy, const lsm::Options& options, const History& history);
// The same for a copy that may not have been made, or is being destroyed: it is as good, or there
// is no store.
std::string ProblemOfUnfinished(const Copy& copy, const lsm::Options& options,
                                const History& history);
// The same for a destroyed copy: there is no store, and nothing is left of one.
std::string ProblemOfDestroyed(const Copy& copy, const lsm::Options& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_COPIES_H_
