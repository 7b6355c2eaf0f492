// The keyspaces of a store, according to its manifest, or to its manifest and the logs after it.
//
// Thread-compatible.  The functions that change the records return what is wrong with the change,
// or an empty string.  After a problem the records are undefined.
#ifndef TRELLIS_LSM_VERSION_KEYSPACE_RECORDS_H_
#define TRELLIS_LSM_VERSION_KEYSPACE_RECORDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"

namespace lsm::inline TRELLIS_ABI {

// A manifest's record of a keyspace.  For the default one, only the options count.
struct KeyspaceRecord {
  KeyspaceId id = kDefaultKeyspace;
  bool has_own_tree = true;  // false: its keys are in the common tree
  KeyspaceOptions options = {};
  std::string name = std::string(kDefaultKeyspaceName);
  ExpiryMarks marks = {};

  bool operator==(const KeyspaceRecord&) const = default;
};

class KeyspaceRecords {
 public:
  // Above every id.
  static constexpr uint64_t kIdEnd = uint64_t{1} << 32;

  // All keyspaces except the default one, which is here only if it has options.
  const std::map<KeyspaceId, KeyspaceRecord>& all() const { return all_; }
  // Above the id of every keyspace so far; kIdEnd: all are used up.
  uint64_t next_id() const { return next_id_; }
  bool Has(KeyspaceId id) const { return id == kDefaultKeyspace || all_.contains(id); }
  // Whether the keyspace with this id has this name.
  bool Has(KeyspaceId id, std::string_view name) const;
  // Whether there may be tables of the tree with this id: the default tree, the common one, or one
  // that belongs to a keyspace.
  bool HasTree(KeyspaceId id) const;
  // The ids in the common tree, ascending.
  std::vector<KeyspaceId> InCommonTree() const;
  // Whether the puts of this keyspace have times.
  bool AreTimed(KeyspaceId id) const {
    if (all_.empty()) return false;
    const auto found = all_.find(id);
    return found != all_.end() && found->second.marks.are_timed();
  }
  // Whether the store has or had keyspaces other than the default one, or options of that one.
  // Then older releases refuse it.
  bool any() const { return next_id_ != kOtherKeyspaceMin || !all_.empty(); }

  // --- edits of a manifest: first all of Advance, then all of Drop, then all of Put ---

  // The next id never decreases.
  std::string Advance(uint64_t next_id);
  std::string Drop(KeyspaceId id);
  // A new keyspace has an id below the next one, and a name that no other has.  A known keyspace
  // keeps its name.  Once it has a tree of its own, it does not return to the common tree.
  std::string Put(KeyspaceRecord record);

  // --- entries of a log ---

  // The manifest may be newer than the entry.  So a creation of an id below the next one changes
  // nothing, and neither does a change of a keyspace that was dropped.  But if the keyspace exists,
  // a creation must have its name.  A new keyspace is in the common tree.
  std::string Replay(const KeyspaceChange& change);

  bool operator==(const KeyspaceRecords&) const = default;

 private:
  std::map<KeyspaceId, KeyspaceRecord> all_;
  std::map<std::string, KeyspaceId> ids_;  // by name
  uint64_t next_id_ = kOtherKeyspaceMin;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_KEYSPACE_RECORDS_H_
