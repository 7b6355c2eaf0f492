// A pool that forwards every call to another one, for tests and benchmarks.  Base class of pools
// that count, change or delay some calls.
#ifndef TRELLIS_LSM_OBJECTS_FORWARDING_POOL_H_
#define TRELLIS_LSM_OBJECTS_FORWARDING_POOL_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/object_pool.h"

namespace lsm::inline TRELLIS_ABI {

// StartWrite and ReadMany execute their calls one after another, by Write and Read.  So a class
// that overrides only Write and Read changes all calls.  A class that measures calls in flight
// forwards StartWrite and ReadMany to pool() itself.
class ForwardingPool : public ObjectPool {
 public:
  // `pool` outlives it.
  explicit ForwardingPool(ObjectPool* pool) : pool_(*pool) {}

  std::string Identity() const override { return pool_.Identity(); }
  absl::Status Write(const std::string& object, const ObjectWrite& write) override {
    return pool_.Write(object, write);
  }
  absl::StatusOr<ObjectContents> Read(const std::string& object, const ObjectRead& read) override {
    return pool_.Read(object, read);
  }
  absl::Status List(const std::function<void(const std::string& object)>& visit) override {
    return pool_.List(visit);
  }
  absl::Status Lock(const std::string& object, const std::string& cookie,
                    uint64_t duration_nanos) override {
    return pool_.Lock(object, cookie, duration_nanos);
  }
  absl::Status Renew(const std::string& object, const std::string& cookie,
                     uint64_t duration_nanos) override {
    return pool_.Renew(object, cookie, duration_nanos);
  }
  absl::Status Unlock(const std::string& object, const std::string& cookie) override {
    return pool_.Unlock(object, cookie);
  }

 protected:
  ObjectPool& pool() const { return pool_; }

 private:
  ObjectPool& pool_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_FORWARDING_POOL_H_
