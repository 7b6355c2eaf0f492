// Repairs a store with keyspaces.
#ifndef TRELLIS_TESTS_RELIABILITY_KEYSPACES_REPAIR_STORE_H_
#define TRELLIS_TESTS_RELIABILITY_KEYSPACES_REPAIR_STORE_H_

#include <string>

#include "lsm/file_system.h"
#include "lsm/options.h"

namespace reliability {

// Repairs the store, which lost no write that it should have.  All keyspaces must come back as they
// were.  Without its manifest, obsolete files are removed first, because they may bring deleted
// keys back.  A keyspace that was dropped may then come back under another name: it is dropped
// again.  Returns a finding, or an empty string.
std::string RepairStoreWithKeyspaces(lsm::FileSystem* files, const std::string& path,
                                     const lsm::Options& options, bool has_manifest);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_KEYSPACES_REPAIR_STORE_H_
