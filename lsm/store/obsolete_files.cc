#include "lsm/store/obsolete_files.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {

void ObsoleteFiles::Add(Tables tables) {
  MutexLock lock(&mutex_);
  tables_.splice(tables_.end(), tables);
  count_.store(tables_.size(), std::memory_order_relaxed);
}

void ObsoleteFiles::RemoveUnused() {
  Tables unused;
  {
    MutexLock lock(&mutex_);
    if (closed_) return;
    ++removing_;
    for (auto entry = tables_.begin(); entry != tables_.end();) {
      const auto next = std::next(entry);
      if (entry->second.expired()) unused.splice(unused.end(), tables_, entry);
      entry = next;
    }
  }
  // Without memory, those that are left are removed the next time.
  CatchOutOfMemory([&] {
    std::vector<std::string> names;
    for (const auto& entry : unused) names.push_back(TableFileName(entry.first));
    if (names.empty()) return absl::OkStatus();
    const std::vector<absl::Status> outcomes = directory_->RemoveAll(names);
    auto outcome = outcomes.begin();
    std::erase_if(unused, [&outcome](const auto&) {
      const absl::Status& status = *outcome++;
      return status.ok() || absl::IsNotFound(status);
    });
    return absl::OkStatus();
  }).IgnoreError();
  MutexLock lock(&mutex_);
  if (--removing_ == 0) removed_.SignalAll();
  if (closed_) return;
  tables_.splice(tables_.end(), unused);  // those that could not be removed
  count_.store(tables_.size(), std::memory_order_relaxed);
}

void ObsoleteFiles::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  tables_.clear();
  count_.store(0, std::memory_order_relaxed);
  while (removing_ > 0) removed_.Wait(&mutex_);
}

bool ObsoleteFiles::Has(uint64_t number) {
  MutexLock lock(&mutex_);
  return std::any_of(tables_.begin(), tables_.end(),
                     [&](const auto& entry) { return entry.first == number; });
}

}  // namespace lsm
