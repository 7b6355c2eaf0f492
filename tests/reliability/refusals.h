// Calls that a store must refuse, or answer without a look at its files, and that change nothing.
#ifndef TRELLIS_TESTS_RELIABILITY_REFUSALS_H_
#define TRELLIS_TESTS_RELIABILITY_REFUSALS_H_

#include <memory>
#include <string>

#include "lsm/db.h"
#include "lsm/fs/memory_file_system.h"
#include "tests/lsm/engine/world.h"

namespace reliability {

// Has another store, on a machine of its own, with a snapshot.
class Refusals {
 public:
  Refusals();

  // What a store that takes writes accepts of these, or empty: reads as of another store's
  // snapshot, copies into its own directories, and keys that are too long.
  std::string ProblemOf(lsm::DB& db, const std::string& path, const lsm::Options& options) const;

 private:
  lsm::World world_;
  std::unique_ptr<lsm::DB> other_;
  std::unique_ptr<const lsm::Snapshot> snapshot_;
};

// Of a closed store in `files`, whose logs are in a directory of their own: what is wrong with
// Destroy and Repair without that directory, and with Destroy once the store itself is lost; or
// empty.  Works on copies of the files.
std::string ProblemOfLostLogs(const lsm::MemoryFileSystem& files, const std::string& path,
                              const lsm::Options& options);

// Destroys the store, and returns what is wrong, or empty: nothing of it is left.
std::string DestroyAll(lsm::MemoryFileSystem& files, const std::string& path,
                       const lsm::Options& options);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_REFUSALS_H_
