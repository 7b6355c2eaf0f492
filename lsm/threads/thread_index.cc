#include "lsm/threads/thread_index.h"

#include <functional>
#include <limits>
#include <new>
#include <queue>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Assigns the lowest free number.
class Numbers {
 public:
  size_t Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (free_.empty()) return next_++;
    const size_t lowest = free_.top();
    free_.pop();
    return lowest;
  }
  void Return(size_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    try {
      free_.push(number);
    } catch (const std::bad_alloc&) {  // at the end of a thread: loses one number
    }
  }

 private:
  Mutex mutex_;
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> free_ ABSL_GUARDED_BY(mutex_);
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Never destroyed: threads may end after main has returned.
Numbers& AllNumbers() {
  // Not on the heap, so that counting cannot fail.
  alignas(Numbers) static char storage[sizeof(Numbers)];
  static Numbers& numbers = *new (storage) Numbers;
  return numbers;
}

// Trivial, so that reading it needs no check whether it was constructed.
constinit thread_local size_t this_thread_number = kNone;

struct ReturnNumberAtThreadEnd {
  ~ReturnNumberAtThreadEnd() {
    // If a later destructor of this thread counts, it takes another number, which is never
    // returned: losing a number is better than two threads with the same one.
    AllNumbers().Return(this_thread_number);
    this_thread_number = kNone;
  }
};

[[gnu::noinline]] size_t TakeNumber() {
  this_thread_number = AllNumbers().Take();
  thread_local ReturnNumberAtThreadEnd return_at_thread_end;
  static_cast<void>(return_at_thread_end);
  return this_thread_number;
}

}  // namespace

size_t ThreadIndex() {
  const size_t number = this_thread_number;
  if (number != kNone) [[likely]]
    return number;
  return TakeNumber();
}

}  // namespace lsm
