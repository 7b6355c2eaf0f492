// One table of a store, from its file: what DB::Verify, scrubbing and backups look through.
#ifndef TRELLIS_LSM_ENGINE_VERIFY_TABLE_H_
#define TRELLIS_LSM_ENGINE_VERIFY_TABLE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "lsm/base/verify_report.h"
#include "lsm/engine/pacer.h"
#include "lsm/fs/file_system.h"
#include "lsm/version/version_edit.h"

namespace lsm {

// Opens the file anew, so that footer, index, properties and filter are read too, and holds
// everything in it against itself and against the manifest (CheckTable).  What it finds is added to
// the report; an error is the pacer's, or ResourceExhausted without descriptors to open the file.
absl::Status VerifyTable(Directory& directory, const TableMeta& meta, ReadMode mode,
                         const bloom::DigestSeed& digest_seed, Pacer* pacer, VerifyReport* report);

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_VERIFY_TABLE_H_
