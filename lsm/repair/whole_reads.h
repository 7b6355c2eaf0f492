// Reads that tell a file that is too short from one that could not be read to its end.
#ifndef TRELLIS_LSM_REPAIR_WHOLE_READS_H_
#define TRELLIS_LSM_REPAIR_WHOLE_READS_H_

#include <memory>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

// Passes every call on to `directory`.  A read that ends before the file does is Unavailable there:
// the file was cut while it was open, or the file system failed.  For a repair, which gives up the
// bytes that are not there, and must not give up those that were only not read.
std::unique_ptr<Directory> WithWholeReads(std::unique_ptr<Directory> directory);

}  // namespace lsm

#endif  // TRELLIS_LSM_REPAIR_WHOLE_READS_H_
