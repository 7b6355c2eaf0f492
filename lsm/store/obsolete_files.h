// Keeps the tables that the current version no longer uses until no reader holds them, and then
// removes their files.  Thread-safe.
#ifndef TRELLIS_LSM_STORE_OBSOLETE_FILES_H_
#define TRELLIS_LSM_STORE_OBSOLETE_FILES_H_

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/threads/mutex.h"
#include "lsm/version/open_table.h"

namespace lsm::inline TRELLIS_ABI {

class ObsoleteFiles {
 public:
  explicit ObsoleteFiles(Directory* directory) : directory_(directory) {}

  // Numbers, and the tables that readers may hold.  A list, so that moving entries allocates no
  // memory.
  using Tables = std::list<std::pair<uint64_t, std::weak_ptr<const OpenTable>>>;

  // REQUIRES: the edit that removed the tables is durable.  Allocates no memory.
  void Add(Tables tables);

  // Removes the files of tables that no reader holds any longer.  Later calls retry a file that
  // could not be removed, and the next opening of the store removes the rest.  Throws nothing.
  void RemoveUnused();

  // Forgets the tables that readers still hold, and waits for threads that are removing files.
  // Afterwards nothing is removed.  Throws nothing.
  void Close();

  // Whether the table is obsolete and a reader may still hold it.
  bool Has(uint64_t number);

  bool empty() const {
    return count_.load(std::memory_order_relaxed) == 0;
  }  // a hint, hence relaxed

 private:
  Directory* const directory_;
  Mutex mutex_;  // not held while a file is removed
  Tables tables_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> count_{0};
  int removing_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that remove files
  CondVar removed_;                           // removing_ is 0
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_OBSOLETE_FILES_H_
