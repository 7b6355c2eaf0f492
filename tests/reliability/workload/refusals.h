// Calls that a store must refuse, or answer without reading its files.  None of them may change
// anything.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_REFUSALS_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_REFUSALS_H_

#include <memory>
#include <string>

#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/engine/world.h"

namespace reliability {

// Owns another store, with a snapshot, on a machine of its own.
class Refusals {
 public:
  Refusals();

  // Tries reads as of another store's snapshot, copies into the store's own directories, a restored
  // store with its logs in the backup, and keys that are too long.  Returns the first of these that
  // the store does not refuse, or an empty string.  REQUIRES: the store accepts writes.
  std::string ProblemOf(lsm::DB& db, const std::string& path, const lsm::Options& options) const;

 private:
  lsm::World world_;
  std::unique_ptr<lsm::DB> other_;
  std::unique_ptr<const lsm::Snapshot> snapshot_;
  lsm::Options restore_options_;
};

// `files` hold a closed store whose logs are in a directory of their own.  Tries Destroy and Repair
// without that directory, and Destroy after the loss of the store itself, all on copies of the
// files.  Returns what is wrong, or an empty string.
std::string ProblemOfLostLogs(const lsm::MemoryFileSystem& files, const std::string& path,
                              const lsm::Options& options);

// Destroys the store.  Returns what went wrong or what is left of the store, or an empty string.
std::string DestroyAll(lsm::MemoryFileSystem& files, const std::string& path,
                       const lsm::Options& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_REFUSALS_H_
