#include "lsm/engine/obsolete_files.h"

#include "lsm/fs/file_names.h"

namespace lsm {

void ObsoleteFiles::Add(const std::shared_ptr<const OpenTable>& table) {
  absl::MutexLock lock(&mutex_);
  tables_.emplace_back(table->meta.number, table);
  count_.store(tables_.size(), std::memory_order_relaxed);
}

void ObsoleteFiles::RemoveUnused() {
  absl::MutexLock lock(&mutex_);
  std::erase_if(tables_, [this](const auto& entry) {
    if (!entry.second.expired()) return false;
    const absl::Status status = directory_->Remove(TableFileName(entry.first));
    return status.ok() || absl::IsNotFound(status);
  });
  count_.store(tables_.size(), std::memory_order_relaxed);
}

}  // namespace lsm
