#include "lsm/threads/repeating_thread.h"

#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "lsm/bytes/status.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A type of this file alone.  With another one, programs that link the library would export the
// code that std::thread makes for it.
struct ThreadBody {
  std::function<void()> run;
  void operator()() const { run(); }
};

}  // namespace

class RepeatingThread::Loop {
 public:
  Loop(uint64_t pause_nanos, std::function<void()> call)
      : pause_nanos_(pause_nanos), call_(std::move(call)) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    {
      MutexLock lock(&mutex_);
      is_ending_ = true;
      ending_.Signal();
    }
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Begin() {
    try {
      thread_ = std::thread(ThreadBody{[this] { Run(); }});
    } catch (const std::system_error& error) {
      return absl::ResourceExhaustedError(Concat("a thread cannot be started: ", error.what()));
    }
    return absl::OkStatus();
  }

 private:
  void Run() {
    MutexLock lock(&mutex_);
    while (!is_ending_) {
      // An early return makes one pause shorter.
      ending_.WaitAtMost(&mutex_, pause_nanos_);
      if (is_ending_) return;
      mutex_.Unlock();
      call_();
      mutex_.Lock();
    }
  }

  const uint64_t pause_nanos_;
  const std::function<void()> call_;
  std::thread thread_;
  Mutex mutex_;
  CondVar ending_;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<RepeatingThread>> RepeatingThread::Start(
    uint64_t pause_nanos, std::function<void()> call) {
  auto loop = std::make_unique<Loop>(pause_nanos, std::move(call));
  TRELLIS_RETURN_IF_ERROR(loop->Begin());
  return std::unique_ptr<RepeatingThread>(new RepeatingThread(std::move(loop)));
}

RepeatingThread::RepeatingThread(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

RepeatingThread::~RepeatingThread() {
  // A thread of the parent may hold the mutex or wait for the condition, and cannot be joined here.
  if (!process_.IsThisOne()) static_cast<void>(loop_.release());
}

}  // namespace lsm
