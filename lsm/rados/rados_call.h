// A call in flight, and a bounded wait for it.
#ifndef TRELLIS_LSM_RADOS_RADOS_CALL_H_
#define TRELLIS_LSM_RADOS_RADOS_CALL_H_

#include <rados/librados.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "bloom/core/abi.h"
#include "lsm/rados/rados_client.h"

namespace lsm::inline TRELLIS_ABI {

// Everything that librados writes to while a call is in flight.  It lives until librados has told
// that the call is over, even if the caller no longer waits for it.
struct RadosOutput {
  virtual ~RadosOutput() = default;
};

class RadosCall {
 public:
  using Submit = std::function<int(rados_completion_t)>;

  // Starts the call.
  RadosCall(const RadosClient& client, std::shared_ptr<RadosOutput> output, const Submit& submit);
  // Waits.  In a forked child it does nothing.
  ~RadosCall();
  RadosCall(const RadosCall&) = delete;
  RadosCall& operator=(const RadosCall&) = delete;

  // The result of librados; nullopt if the call took longer than the client's
  // give_up_after_millis.  Then librados will not send it again, but it may be applied later.
  std::optional<int> Wait();

 private:
  struct State;
  static void Finished(rados_completion_t completion, void* argument);

  const RadosClient& client_;
  std::shared_ptr<State> state_;
  rados_completion_t completion_ = nullptr;
  std::optional<int> result_;
  bool is_over_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RADOS_RADOS_CALL_H_
