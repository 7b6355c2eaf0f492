// Makes a store openable again from what of its files can be verified.
#ifndef TRELLIS_LSM_ENGINE_REPAIR_H_
#define TRELLIS_LSM_ENGINE_REPAIR_H_

#include <string>

#include "absl/status/statusor.h"
#include "lsm/base/options.h"
#include "lsm/base/repair_report.h"

namespace lsm {

// See DB::Repair.
absl::StatusOr<RepairReport> RepairStore(const std::string& path, const Options& options);

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_REPAIR_H_
