// Distinguishes a file that is too short from a file that could not be read to its end.
#ifndef TRELLIS_LSM_REPAIR_WHOLE_READS_H_
#define TRELLIS_LSM_REPAIR_WHOLE_READS_H_

#include <memory>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

// Forwards every call to `directory`.  A read that ends before the end of the file returns
// Unavailable: the file was truncated while it was open, or the file system failed.  A repair
// leaves out bytes that do not exist, but must not leave out bytes that were only not read.
std::unique_ptr<Directory> WithWholeReads(std::unique_ptr<Directory> directory);

}  // namespace lsm

#endif  // TRELLIS_LSM_REPAIR_WHOLE_READS_H_
