// Tables that the current version has no use for, until nobody reads them; then their files go.
// Thread-safe.
#ifndef TRELLIS_LSM_ENGINE_OBSOLETE_FILES_H_
#define TRELLIS_LSM_ENGINE_OBSOLETE_FILES_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "lsm/fs/file_system.h"
#include "lsm/version/version.h"

namespace lsm {

class ObsoleteFiles {
 public:
  explicit ObsoleteFiles(Directory* directory) : directory_(directory) {}

  // REQUIRES: the edit that removed the table is durable.
  void Add(const std::shared_ptr<const OpenTable>& table);

  // Removes the files of tables that no one holds any longer.  A file that cannot be removed is
  // tried again; the next opening of the store takes what is left.
  void RemoveUnused();

  bool empty() const {
    return count_.load(std::memory_order_relaxed) == 0;
  }  // a hint, hence relaxed

 private:
  using Tables = std::vector<std::pair<uint64_t, std::weak_ptr<const OpenTable>>>;

  Directory* const directory_;
  absl::Mutex mutex_;  // not held while a file is removed
  Tables tables_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> count_{0};
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_OBSOLETE_FILES_H_
