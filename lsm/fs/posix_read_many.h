// Reads many ranges at once: from the page cache if they are cached, the rest by io_uring
// (posix_ring.h) if available, otherwise one by one.
#ifndef TRELLIS_LSM_FS_POSIX_READ_MANY_H_
#define TRELLIS_LSM_FS_POSIX_READ_MANY_H_

#include <cstddef>
#include <functional>
#include <span>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

// FileSystem::ReadMany.  Ranges that are not completely in the page cache go through the ring.
// ReadAt handles those that the ring does not complete (errors, ends of files, other file systems),
// so the outcomes are the same either way.  Any number of threads may call it.  A forked child uses
// rings of its own.
void PosixReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_READ_MANY_H_
