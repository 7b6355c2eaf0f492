// Gives keyspaces trees of their own without the data for which a flush would do so.
#ifndef TRELLIS_TESTS_LSM_KEYSPACES_OWN_TREES_H_
#define TRELLIS_TESTS_LSM_KEYSPACES_OWN_TREES_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/manifest.h"

namespace lsm {

// Writes a new manifest of a closed store, in which the keyspaces that `chosen` names have trees of
// their own.  REQUIRES: no table has entries of them.
inline absl::Status GiveOwnTrees(FileSystem& files, const std::string& directory_path,
                                 const std::function<bool(const std::string& name)>& chosen) {
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory,
                           files.OpenDirectory(directory_path, /*create=*/false));
  TRELLIS_ASSIGN_OR_RETURN(ManifestContents contents, ReadManifest(*directory));
  const KeyspaceRecords before = contents.state.keyspaces;
  for (const auto& [id, record] : before.all()) {
    if (!chosen(record.name)) continue;
    KeyspaceRecord own = record;
    own.has_own_tree = true;
    if (const std::string problem = contents.state.keyspaces.Put(std::move(own)); !problem.empty())
      return absl::InternalError(problem);
  }
  const uint64_t number = contents.state.next_file_number++;
  TRELLIS_ASSIGN_OR_RETURN(
      const std::unique_ptr<ManifestWriter> manifest,
      ManifestWriter::Create(*directory, number, /*file_id=*/number, contents.state.ToSnapshot(),
                             contents.current_bytes));
  return manifest->Close();
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_KEYSPACES_OWN_TREES_H_
