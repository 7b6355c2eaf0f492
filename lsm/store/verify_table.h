// Verifies one table of a store from its file, for DB::Verify, scrubbing and backups.
#ifndef TRELLIS_LSM_STORE_VERIFY_TABLE_H_
#define TRELLIS_LSM_STORE_VERIFY_TABLE_H_

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/reports.h"
#include "lsm/store/pacer.h"
#include "lsm/table/table_claims.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

// Opens the file again, so that footer, index, properties and filter are read too.  Counts the
// entries, and compares the counts with the properties and with the manifest's record of the table
// (`meta` and `place`).  Adds its findings to the report.  Returns only the pacer's errors, and
// ResourceExhausted if there is no descriptor for the file or no memory for one of its blocks.
absl::Status VerifyTable(Directory& directory, const TableMeta& meta, const TablePlace& place,
                         ReadMode mode, const bloom::DigestSeed& digest_seed, Pacer* pacer,
                         VerifyReport* report);

// As above for a table whose file is open, and may have lost its name.
absl::Status VerifyOpenTable(const ReadFile& file, const TableMeta& meta, const TablePlace& place,
                             const bloom::DigestSeed& digest_seed, Pacer* pacer,
                             VerifyReport* report);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_VERIFY_TABLE_H_
