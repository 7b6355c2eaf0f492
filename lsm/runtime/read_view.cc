#include "lsm/runtime/read_view.h"

#include <optional>
#include <utility>

namespace lsm::inline TRELLIS_ABI {

// Relaxed: no other thread is left.
ReadViewCell::~ReadViewCell() { delete current_.load(std::memory_order_relaxed); }

ReadViewCell::Prepared ReadViewCell::Prepare(std::shared_ptr<const ReadView> view) {
  Prepared prepared(new Holder(std::move(view)));
  MutexLock lock(&mutex_);
  retired_.Reserve(3);  // the third for Close
  return prepared;
}

void ReadViewCell::Publish(Prepared prepared) {
  MutexLock lock(&mutex_);
  Exchange(prepared.release());
}

void ReadViewCell::Close() {
  MutexLock lock(&mutex_);
  Exchange(nullptr);
}

void ReadViewCell::Exchange(Holder* next) {
  // Sequentially consistent: a reader that enters its guard after the retirement below sees the new
  // view.
  Holder* old = current_.exchange(next, std::memory_order_seq_cst);
  if (old != nullptr) RetireHolder(old);
}

void ReadViewCell::Retire(Prepared view) {
  MutexLock lock(&mutex_);
  RetireHolder(view.release());
}

void ReadViewCell::RetireHolder(Holder* holder) {
  retired_.Retire(const_cast<std::shared_ptr<const ReadView>*>(holder), [](void* object) {
    delete static_cast<std::shared_ptr<const ReadView>*>(object);
  });
}

size_t ReadViewCell::Collect() {
  for (;;) {
    std::optional<RetireList::Entry> expired;
    {
      MutexLock lock(&mutex_);
      expired = retired_.TakeExpired();
      if (!expired) return retired_.size();
    }
    // Without the lock, because a publisher may wait for it: freeing a view may free tables, which
    // closes files.
    expired->free(expired->object);
  }
}

}  // namespace lsm
