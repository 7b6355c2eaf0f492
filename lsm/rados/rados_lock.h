// Requests of Ceph's object class "lock".
//
// librados has functions for it, but they wait without a bound, and rados_lock_exclusive makes a
// missing object.  As a part of a write operation the class checks first that the object exists.
#ifndef TRELLIS_LSM_RADOS_RADOS_LOCK_H_
#define TRELLIS_LSM_RADOS_RADOS_LOCK_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr const char* kRadosLockClass = "lock";
inline constexpr const char* kRadosLockName = "trellis";
// The attribute in which the class keeps the lock.
inline constexpr std::string_view kRadosLockAttribute = "lock.trellis";

// For the method "lock": an exclusive lock.  `description` is shown by `rados lock info`.
std::string RadosLockRequest(std::string_view cookie, std::string_view description,
                             uint64_t duration_nanos, bool must_renew);
// For the method "unlock".
std::string RadosUnlockRequest(std::string_view cookie);

}  // namespace lsm

#endif  // TRELLIS_LSM_RADOS_RADOS_LOCK_H_
