#include "lsm/engine/obsolete_files.h"

#include <algorithm>

#include "lsm/fs/file_names.h"

namespace lsm {

void ObsoleteFiles::Add(const std::shared_ptr<const OpenTable>& table) {
  absl::MutexLock lock(&mutex_);
  tables_.emplace_back(table->meta.number, table);
  count_.store(tables_.size(), std::memory_order_relaxed);
}

void ObsoleteFiles::RemoveUnused() {
  Tables unused;
  {
    absl::MutexLock lock(&mutex_);
    const auto used = std::partition(tables_.begin(), tables_.end(),
                                     [](const auto& entry) { return entry.second.expired(); });
    unused.assign(tables_.begin(), used);
    tables_.erase(tables_.begin(), used);
  }
  std::erase_if(unused, [this](const auto& entry) {
    const absl::Status status = directory_->Remove(TableFileName(entry.first));
    return status.ok() || absl::IsNotFound(status);
  });
  absl::MutexLock lock(&mutex_);
  tables_.insert(tables_.end(), unused.begin(), unused.end());  // those that could not be removed
  count_.store(tables_.size(), std::memory_order_relaxed);
}

}  // namespace lsm
