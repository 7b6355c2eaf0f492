#include "lsm/rados/rados_call.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <utility>

namespace lsm::inline TRELLIS_ABI {

struct RadosCall::State {
  std::shared_ptr<RadosOutput> output;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::mutex mutex;
  std::condition_variable finished;
  std::optional<int> result;
};

// librados calls it once, on a thread of its own.
void RadosCall::Finished(rados_completion_t completion, void* argument) {
  const std::unique_ptr<std::shared_ptr<State>> state(
      static_cast<std::shared_ptr<State>*>(argument));
  const int result = rados_aio_get_return_value(completion);
  const std::lock_guard<std::mutex> lock((*state)->mutex);
  (*state)->result = result;
  (*state)->finished.notify_all();
}

RadosCall::RadosCall(const RadosClient& client, std::shared_ptr<RadosOutput> output,
                     const Submit& submit)
    : client_(client), state_(std::make_shared<State>()) {
  state_->output = std::move(output);
  auto argument = std::make_unique<std::shared_ptr<State>>(state_);
  int error = rados_aio_create_completion2(argument.get(), &RadosCall::Finished, &completion_);
  if (error == 0) error = submit(completion_);
  if (error == 0) {
    static_cast<void>(argument.release());  // Finished has it
  } else {
    // The call was not sent, so librados does not finish it.
    is_over_ = true;
    result_ = error;
  }
}

RadosCall::~RadosCall() {
  if (!client_.process().IsThisOne()) {
    // Threads of the parent may hold the mutex, so the state must not be destroyed.
    static_cast<void>(new (std::nothrow) std::shared_ptr<State>(std::move(state_)));
    return;
  }
  Wait();
  if (completion_ != nullptr) rados_aio_release(completion_);
}

std::optional<int> RadosCall::Wait() {
  if (is_over_) return result_;
  is_over_ = true;
  const auto has_finished = [this] { return state_->result.has_value(); };
  std::unique_lock<std::mutex> lock(state_->mutex);
  if (client_.give_up_after_millis() == 0) {
    state_->finished.wait(lock, has_finished);
  } else if (!state_->finished.wait_until(
                 lock, state_->started + std::chrono::milliseconds(client_.give_up_after_millis()),
                 has_finished)) {
    lock.unlock();
    // Otherwise librados would send it again after a failure of its OSD, and would never finish it
    // if the client is destroyed first.  This finishes it; Finished locks the mutex.
    rados_aio_cancel(client_.io(), completion_);
    return result_;
  }
  result_ = state_->result;
  return result_;
}

}  // namespace lsm
