// Writes of objects, whose errors the engine understands.
#ifndef TRELLIS_LSM_OBJECTS_OBJECT_WRITES_H_
#define TRELLIS_LSM_OBJECTS_OBJECT_WRITES_H_

#include <string>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/bytes/status.h"
#include "lsm/object_pool.h"

namespace lsm::inline TRELLIS_ABI {

// The status of a write.  A pool that is full is a full disk (IsDiskFull).
inline absl::Status WriteStatus(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? DiskFull(MessageOf(status)) : status;
}

inline absl::Status WriteObject(ObjectPool& pool, const std::string& object,
                                const ObjectWrite& write) {
  return WriteStatus(pool.Write(object, write));
}

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_OBJECT_WRITES_H_
