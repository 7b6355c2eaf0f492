// Tables that the current version has no use for, until no reader holds them; then their files go.
// Thread-safe.
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
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

class ObsoleteFiles {
 public:
  explicit ObsoleteFiles(Directory* directory) : directory_(directory) {}

  // Numbers, and the tables that readers may hold.  A list, so that it changes hands without taking
  // memory.
  using Tables = std::list<std::pair<uint64_t, std::weak_ptr<const OpenTable>>>;

  // REQUIRES: the edit that removed the tables is durable.  Needs no memory.
  void Add(Tables tables);

  // Removes the files of tables that no one holds any longer.  A file that cannot be removed is
  // tried again; the next opening of the store takes what is left.  Throws nothing.
  void RemoveUnused();

  // Forgets those that are still held, and waits for a thread that is removing others: from then
  // on nothing is removed.  Throws nothing.
  void Close();

  // Whether the table is one of them, and a reader may hold it still.
  bool Has(uint64_t number);

  bool empty() const {
    return count_.load(std::memory_order_relaxed) == 0;
  }  // a hint, hence relaxed

 private:
  Directory* const directory_;
  Mutex mutex_;  // not held while a file is removed
  Tables tables_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> count_{0};
  int removing_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that are at it
  CondVar removed_;                           // none is any more
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_OBSOLETE_FILES_H_
