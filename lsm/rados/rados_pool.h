// A pool of Ceph RADOS as an ObjectPool: each call is one operation on one object.
#ifndef TRELLIS_LSM_RADOS_RADOS_POOL_H_
#define TRELLIS_LSM_RADOS_RADOS_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/object_pool.h"
#include "lsm/rados.h"
#include "lsm/rados/rados_client.h"

namespace lsm::inline TRELLIS_ABI {

// Besides the contract of ObjectPool:
//
//   * Names contain no zero byte (InvalidArgument).
//   * Cookies of another client are never this one's.
//   * A full pool still takes overwrites, attributes, entries, locks and removals.  Only new
//     objects and objects that grow are refused.
class RadosPool final : public ObjectPool {
 public:
  // As OpenRados.
  static absl::StatusOr<std::unique_ptr<RadosPool>> Connect(const RadosOptions& options);

  std::string Identity() const override { return client_->pool_identity(); }
  absl::Status Write(const std::string& object, const ObjectWrite& write) override;
  absl::StatusOr<ObjectContents> Read(const std::string& object, const ObjectRead& read) override;
  std::unique_ptr<PendingObjectWrite> StartWrite(const std::string& object,
                                                 const ObjectWrite& write) override;
  void ReadMany(std::span<ObjectReadRequest> requests) override;
  absl::Status Lock(const std::string& object, const std::string& cookie,
                    uint64_t duration_nanos) override;
  absl::Status Renew(const std::string& object, const std::string& cookie,
                     uint64_t duration_nanos) override;
  absl::Status Unlock(const std::string& object, const std::string& cookie) override;
  // Waits as long as the cluster takes.
  absl::Status List(const std::function<void(const std::string& object)>& visit) override;

 private:
  explicit RadosPool(std::unique_ptr<RadosClient> client) : client_(std::move(client)) {}

  // Calls a method of the class "lock" on an object that exists.  The error of librados is in
  // `*error`, 0 if there is none.
  absl::Status CallLockClass(const std::string& object, const char* method,
                             const std::string& request, int* error);

  const std::unique_ptr<RadosClient> client_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RADOS_RADOS_POOL_H_
