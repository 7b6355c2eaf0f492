// Many reads at once: what is in the page cache from there, the rest through a ring shared with the
// kernel where there is one (posix_ring.h), one after the other where not.
#ifndef TRELLIS_LSM_FS_POSIX_READ_MANY_H_
#define TRELLIS_LSM_FS_POSIX_READ_MANY_H_

#include <cstddef>
#include <functional>
#include <span>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

// FileSystem::ReadMany.  Whatever the page cache does not have in full goes through the ring; what
// a ring does not read in full (errors, ends of files, files of other file systems) is left to
// ReadAt, so that outcomes are the same either way.  Threads: any number at once; a child that the
// process forks uses rings of its own.
void PosixReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done);

}  // namespace lsm

#endif  // TRELLIS_LSM_FS_POSIX_READ_MANY_H_
