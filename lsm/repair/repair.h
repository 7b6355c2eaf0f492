// Makes a store openable again from the parts of its files that pass verification.
#ifndef TRELLIS_LSM_REPAIR_REPAIR_H_
#define TRELLIS_LSM_REPAIR_REPAIR_H_

#include <string>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/options.h"
#include "lsm/reports.h"

namespace lsm::inline TRELLIS_ABI {

// See DB::Repair.
absl::StatusOr<RepairReport> RepairStore(const std::string& path, const Options& options);

}  // namespace lsm

#endif  // TRELLIS_LSM_REPAIR_REPAIR_H_
