// Calls that a store must refuse, or answer without reading its files.  They change nothing.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_REFUSALS_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_REFUSALS_H_

#include <memory>
#include <string>

#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/engine/world.h"

namespace reliability {

// Has another store, on a machine of its own, with a snapshot.
class Refusals {
 public:
  Refusals();

  // Tries reads as of another store's snapshot, copies into the store's own directories, a restored
  // store with its logs in the backup, and keys that are too long.  Returns what a store that takes
  // writes accepts of these; empty: nothing.
  std::string ProblemOf(lsm::DB& db, const std::string& path, const lsm::Options& options) const;

 private:
  lsm::World world_;
  std::unique_ptr<lsm::DB> other_;
  std::unique_ptr<const lsm::Snapshot> snapshot_;
  lsm::Options restore_options_;
};

// Takes a closed store in `files`, whose logs are in a directory of their own.  Tries Destroy and
// Repair without that directory, and Destroy after the loss of the store itself, all on copies of
// the files.  Returns what is wrong, or empty.
std::string ProblemOfLostLogs(const lsm::MemoryFileSystem& files, const std::string& path,
                              const lsm::Options& options);

// Destroys the store.  Returns what is left of it or went wrong, or empty.
std::string DestroyAll(lsm::MemoryFileSystem& files, const std::string& path,
                       const lsm::Options& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_REFUSALS_H_
