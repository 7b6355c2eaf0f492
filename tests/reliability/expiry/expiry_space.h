// Checks that a store whose entries expire frees their space (lsm/design/expiry.md).
#ifndef TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_SPACE_H_
#define TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_SPACE_H_

#include <cstdint>
#include <string>

#include "lsm/file_system.h"
#include "tests/reliability/expiry/expiry_model.h"

namespace reliability {

// The store is at kStorePath.  Both return a finding, or an empty string.

// Half of the timed puts have expired at this time, and no work is left.
std::string CheckHalfIsFreed(lsm::FileSystem& files, const ExpiringStore& model, uint64_t now);
// All have.
std::string CheckAllIsFreed(lsm::FileSystem& files, const ExpiringStore& model, uint64_t now);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_SPACE_H_
