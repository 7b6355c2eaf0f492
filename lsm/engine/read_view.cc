#include "lsm/engine/read_view.h"

#include <utility>

namespace lsm {

// Relaxed: nobody else is left.
ReadViewCell::~ReadViewCell() { delete current_.load(std::memory_order_relaxed); }

void ReadViewCell::Publish(std::shared_ptr<const ReadView> view) {
  auto* holder = new Holder(std::move(view));
  absl::MutexLock lock(&mutex_);
  // Sequentially consistent: a reader that enters its guard after the retirement below sees the new
  // view.
  Holder* old = current_.exchange(holder, std::memory_order_seq_cst);
  if (old == nullptr) return;
  retired_.Retire(const_cast<std::shared_ptr<const ReadView>*>(old), [](void* object) {
    delete static_cast<std::shared_ptr<const ReadView>*>(object);
  });
}

size_t ReadViewCell::Collect() {
  std::vector<RetireList::Entry> expired;
  size_t left = 0;
  {
    absl::MutexLock lock(&mutex_);
    expired = retired_.TakeExpired();
    left = retired_.size();
  }
  // Without the lock, for which a publisher may wait: with a view may go tables, that is, files are
  // closed.
  for (const RetireList::Entry& entry : expired) entry.free(entry.object);
  return left;
}

}  // namespace lsm
