// A connection to a pool of a Ceph cluster.
#ifndef TRELLIS_LSM_RADOS_RADOS_CLIENT_H_
#define TRELLIS_LSM_RADOS_RADOS_CLIENT_H_

#include <rados/librados.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/rados.h"

namespace lsm::inline TRELLIS_ABI {

// The process that made this object, as opposed to its forked children.
class RadosProcess {
 public:
  RadosProcess();
  bool IsThisOne() const;
  // "host NAME, process PID"
  static std::string Name();

 private:
  const uint32_t forks_;
};

class RadosClient {
 public:
  static absl::StatusOr<std::unique_ptr<RadosClient>> Connect(const RadosOptions& options);
  // Calls in flight are forgotten.
  ~RadosClient();
  RadosClient(const RadosClient&) = delete;
  RadosClient& operator=(const RadosClient&) = delete;

  rados_ioctx_t io() const { return io_; }
  const RadosProcess& process() const { return process_; }
  uint64_t give_up_after_millis() const { return give_up_after_millis_; }
  // The cluster and the pool, whatever the client's configuration and user are.
  const std::string& pool_identity() const { return pool_identity_; }

 private:
  explicit RadosClient(uint64_t give_up_after_millis)
      : give_up_after_millis_(give_up_after_millis) {}

  absl::Status Configure(const RadosOptions& options);
  // Empty if librados does not tell.
  std::string IdentityOfPool() const;

  const uint64_t give_up_after_millis_;
  const RadosProcess process_;
  rados_t cluster_ = nullptr;
  rados_ioctx_t io_ = nullptr;
  std::string pool_identity_;
};

// The text of an errno value.
std::string RadosErrorText(int error);

}  // namespace lsm

#endif  // TRELLIS_LSM_RADOS_RADOS_CLIENT_H_
