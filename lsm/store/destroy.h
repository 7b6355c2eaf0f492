// Removes a store.
#ifndef TRELLIS_LSM_STORE_DESTROY_H_
#define TRELLIS_LSM_STORE_DESTROY_H_

#include <string>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/options.h"

namespace lsm::inline TRELLIS_ABI {

// See DB::Destroy.
absl::Status DestroyStore(const std::string& path, const Options& options);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_DESTROY_H_
