// The keyspaces of a store that is repaired, as far as its files tell (design/repair.md).
//
//   a manifest                     all that were created below its next id.  Those that it does not
//                                  list were dropped
//   names in the common tree       name, options and place; a tombstone: it was dropped
//   logs                           creations, drops and changes of options
//   tables of an id's own tree     that it has this tree
//   entries                        only that the id was given
//
// If two statements differ, the one with the higher sequence counts.  A name or a log says nothing
// about the place and the existence of a keyspace that the manifest knows, except that a log may
// drop it.
//
// Used by one thread.  Throws std::bad_alloc.
#ifndef TRELLIS_LSM_REPAIR_FOUND_KEYSPACES_H_
#define TRELLIS_LSM_REPAIR_FOUND_KEYSPACES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/version/keyspace_records.h"

namespace lsm::inline TRELLIS_ABI {

class FoundKeyspaces {
 public:
  // Receives what the report should say.
  using Say = std::function<void(std::string)>;

  // Takes over the keyspaces of a reliable manifest with this last sequence.  REQUIRES: only
  // AdvanceTo was called before.
  void StartWith(const KeyspaceRecords& manifest, Sequence last_sequence);
  // All ids below this one were given.
  void AdvanceTo(uint64_t next_id);

  // A table of this tree.
  void AddTable(KeyspaceId tree);
  // The common tree has an entry of this keyspace.
  void AddEntry(KeyspaceId id);
  // Entries of this keyspace have times.
  void AddTimed(KeyspaceId id);
  // An entry among the names.  It need not be the newest one.
  void AddName(const KeyspaceRecord& record, Sequence sequence);
  void AddDroppedName(KeyspaceId id, Sequence sequence);
  // A record of a log.  If it is no sound batch, returns the error, and ignores the record.
  absl::Status AddBatch(std::string_view encoded, const Say& say);

  // Whether it was dropped, as far as is known by now.
  bool IsDropped(KeyspaceId id) const;
  // The tree that has its entries, or gets them.
  KeyspaceId TreeOf(KeyspaceId id) const;
  // Whether a statement says that it left the common tree: its entries there are dead.  If it has a
  // tree without such a statement, a crash may have cut off the leaving.
  bool HasLeft(KeyspaceId id) const;

  // Whether its puts have times, as far as is known so far.
  bool IsTimed(KeyspaceId id) const;

  // All that were not dropped.  Each has a name of its own: see design/repair.md.
  KeyspaceRecords Records(const Say& say) const;

 private:
  struct Found {
    std::string name;  // empty: unknown
    KeyspaceOptions options;
    ExpiryMarks marks;
    Sequence sequence = 0;          // of the newest statement about its existence
    Sequence options_sequence = 0;  // and about its options
    bool has_own_tree = false;
    bool has_left = false;
    bool is_dropped = false;
    bool has_timed = false;  // entries that have a time
  };

  bool IsKnown(KeyspaceId id) const { return id < known_below_; }
  // Null for an id that the manifest knows as dropped, and for the common tree's.
  Found* FindOrMake(KeyspaceId id);
  void AddDrop(KeyspaceId id, Sequence sequence);
  void AddChange(const KeyspaceChange& change, Sequence sequence, const Say& say);

  std::map<KeyspaceId, Found> found_;
  uint64_t next_id_ = kOtherKeyspaceMin;
  uint64_t known_below_ = 0;  // the manifest's next id; 0: there is no manifest
};

}  // namespace lsm

#endif  // TRELLIS_LSM_REPAIR_FOUND_KEYSPACES_H_
