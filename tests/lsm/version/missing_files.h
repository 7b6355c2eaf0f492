// A store with little more than a manifest, for tests that bound the cost of small malicious files.
#ifndef TRELLIS_TESTS_LSM_VERSION_MISSING_FILES_H_
#define TRELLIS_TESTS_LSM_VERSION_MISSING_FILES_H_

#include <cstdint>

#include "lsm/base/internal_key.h"
#include "lsm/file_system.h"
#include "lsm/version/manifest.h"
#include "tests/support/status_matchers.h"

namespace lsm {

// Makes CURRENT and a manifest that names this many tables and synced logs.  None of these files
// exists.  A log takes at most ten bytes of the manifest.
inline void MakeStoreOfMissingFiles(Directory& directory, uint64_t tables, uint64_t logs) {
  const auto internal_key = [](std::string_view user_key, Sequence sequence) {
    std::string key;
    AppendInternalKey(&key, user_key, sequence, EntryKind::kPut);
    return key;
  };
  constexpr uint64_t kManifest = 1, kFirst = 2;
  VersionEdit edit;
  edit.is_snapshot = true;
  edit.digest_seed = 1;
  edit.last_sequence = 10;
  edit.next_file_number = kFirst + tables + logs;
  edit.oldest_log = kFirst + tables;
  for (uint64_t i = 0; i < tables; ++i) {
    const TableMeta table{.number = kFirst + i,
                          .file_id = i,
                          .file_bytes = 1000,
                          .entries = 1,
                          .smallest = internal_key("a", 2),
                          .largest = internal_key("b", 1),
                          .dead = {},
                          .ranges = {}};
    edit.added.push_back({0, table});
  }
  for (uint64_t i = 0; i < logs; ++i) edit.synced_logs.push_back(kFirst + tables + i);
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<ManifestWriter> manifest,
      ManifestWriter::Create(directory, kManifest, /*file_id=*/7, edit, std::nullopt, nullptr));
  ASSERT_OK(manifest->Close());
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_VERSION_MISSING_FILES_H_
