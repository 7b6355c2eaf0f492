// Removes a store.
#ifndef TRELLIS_LSM_ENGINE_DESTROY_H_
#define TRELLIS_LSM_ENGINE_DESTROY_H_

#include <string>

#include "absl/status/status.h"
#include "lsm/base/options.h"

namespace lsm {

// See DB::Destroy.
absl::Status DestroyStore(const std::string& path, const Options& options);

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_DESTROY_H_
