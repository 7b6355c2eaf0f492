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
  std::string logs_path;  // of a restored store with its logs apart; otherwise empty
  size_t commits = 0;     // the number of commits that it holds
};

struct CopyPlan {
  // In the order in which Copies::Next plans them.
  enum Kind : uint8_t {
    kCheckpoint,
    kDestroy,  // `earlier`
    kBackup,
    kBackupOnBase,  // of `earlier`
    kRestore,       // from `earlier`
    kRepair,        // `earlier`, which is undamaged
    kKinds
  };
  Kind kind = kCheckpoint;
  Copy copy;
  std::string earlier;
  lsm::Options options;  // for the kinds that take options
};
// Makes the one call that the plan requires.
absl::Status Carry(const CopyPlan& plan, lsm::DB& db);

class Copies {
 public:
  // Plans the next copy of a store that holds `commits` commits and was opened with these options.
  // The kinds take turns.
  CopyPlan Next(const lsm::Options& options, size_t commits);
  // Records whether the plan was carried out.
  void Note(const CopyPlan& plan, bool done);
  void Forget() { made_.clear(); }

  const std::vector<Copy>& made() const { return made_; }

 private:
  size_t plans_ = 0;
  std::vector<Copy> made_;
};

// Returns what is wrong with a copy, or an empty string.  `options` has the copy's file system and
// says how to open it; the directory of its logs is that of `copy`.
std::string ProblemOf(const Copy& copy, const lsm::Options& options, const History& history);
// The same for a copy whose creation or destruction did not finish: it must be sound, or there must
// be no store.
std::string ProblemOfUnfinished(const Copy& copy, const lsm::Options& options,
                                const History& history);
// The same for a destroyed copy: there must be no store, and none of its files may be left.
std::string ProblemOfDestroyed(const Copy& copy, const lsm::Options& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_COPIES_H_
