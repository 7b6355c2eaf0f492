#include "lsm/threads/process_mark.h"

#include <pthread.h>

#include <atomic>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Number of forks between the first process and this one.  Relaxed everywhere: it changes only in a
// child, before fork returns, when no other thread exists there.
std::atomic<uint32_t> forks{0};
void CountFork() { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

// If there was no memory to register for forks, a child is taken for its parent.
ProcessMark::ProcessMark() : forks_(forks.load(std::memory_order_relaxed)) {
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, &CountFork);
}

bool ProcessMark::IsThisOne() const { return forks.load(std::memory_order_relaxed) == forks_; }

absl::Status ProcessMark::Check(std::string_view path) const {
  if (IsThisOne()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      Concat(path, ": was opened by another process, of which this one is a forked child"));
}

}  // namespace lsm
