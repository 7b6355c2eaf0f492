// The keyspaces of a store: their names, and the one whose keys a command shows.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_KEYSPACES_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_KEYSPACES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "lsm/base/internal_key.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/version_edit.h"

namespace tools {

class Session;
struct Request;
struct StoreFiles;
struct Target;

// By id, also those of dropped keyspaces.
using KeyspaceNames = std::map<uint64_t, std::string>;

struct Keyspaces {
  KeyspaceNames names;        // those that files have named so far
  lsm::KeyspaceRecord shown;  // the one that the request names; without a name, the default one
  lsm::ExpiryView expired;    // its entries that `get` hides in single files

  // Whether its entries in tables are in the common tree, with its id before each key.
  bool is_common() const { return !shown.has_own_tree; }
  lsm::KeyspaceId tree() const { return is_common() ? lsm::kCommonTree : shown.id; }
  // A key of the shown keyspace as its tables have it.
  std::string KeyInTree(std::string_view key) const;
  // Whether the table may hold keys of the shown keyspace.
  bool MayBeIn(const lsm::TableMeta& table) const;
};

// The keyspaces that an opening would find: those of the manifest, with the changes in the logs up
// to the first fault.  REQUIRES files.has_state().
lsm::KeyspaceRecords RecordsWithLogs(const StoreFiles& files);

// The entries of a keyspace that have expired for a reader, if the store is opened and read at the
// request's time.
lsm::ExpiryView ExpiredIn(lsm::KeyspaceId keyspace, const lsm::KeyspaceRecords& records,
                          const Request& request);

// NotFound, with a name that is similar, or else all names, if there is no keyspace of the
// requested name.  An opening would find it in the manifest, or in the logs; the logs are read only
// for a name, and only up to the first fault.  REQUIRES files.has_state().
absl::StatusOr<Keyspaces> FindKeyspaces(const StoreFiles& files, const Request& request);

// The names that are known for a file; a file by itself has none.
const KeyspaceNames& NamesFor(const Target& target);

// "2 users", or "2" if the name is unknown.  On a terminal a long name is cut.
std::string KeyspaceText(uint64_t keyspace, const KeyspaceNames& names, const Session& session);
// The owner of a tree: "keyspace default", "the common tree", or "keyspace 2 users".
std::string TreeText(uint64_t tree, const KeyspaceNames& names, const Session& session);
// In JSON: "keyspace" and "keyspace_name"; the name only if it is known.  Nothing for the default
// keyspace.
void WriteKeyspace(uint64_t keyspace, const KeyspaceNames& names, Session* session);
// In JSON: "tree" ("own" or "common"), and for an own one the members above.  Nothing for the
// default keyspace.
void WriteTree(uint64_t tree, const KeyspaceNames& names, Session* session);
// Both of the keyspace that is shown.
void WriteShown(const Keyspaces& keyspaces, Session* session);
// In JSON: the members of a record.
void WriteRecord(const lsm::KeyspaceRecord& record, Session* session);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_KEYSPACES_H_
