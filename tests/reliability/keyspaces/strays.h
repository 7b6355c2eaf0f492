// Whether the common tree of a store has nothing left of keyspaces that are not in it any more.
#ifndef TRELLIS_TESTS_RELIABILITY_KEYSPACES_STRAYS_H_
#define TRELLIS_TESTS_RELIABILITY_KEYSPACES_STRAYS_H_

#include <string>

#include "lsm/memory_file_system.h"

namespace reliability {

// Reads the tables that the manifest names.  Returns a finding, or an empty string.
std::string ProblemOfStrays(lsm::MemoryFileSystem& files, const std::string& path);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_KEYSPACES_STRAYS_H_
