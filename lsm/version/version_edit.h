// A change of the set of tables, and its encoding: one record of the manifest's log is one edit, a
// list of tagged fields.  lsm/FORMAT.md, section "Manifests", has their tags and contents, and says
// how often each may occur.
#ifndef TRELLIS_LSM_VERSION_VERSION_EDIT_H_
#define TRELLIS_LSM_VERSION_VERSION_EDIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"
#include "lsm/table/dead_entries.h"
#include "lsm/table/range_record.h"
#include "lsm/table/table_claims.h"
#include "lsm/table/write_times.h"
#include "lsm/version/keyspace_records.h"

namespace lsm::inline TRELLIS_ABI {

// The manifest's record of a table.  A table is made for a run, and keeps the run's number when it
// moves (lsm/version/tree.h).
struct TableMeta {
  uint64_t number = 0;
  uint64_t file_id = 0;
  uint64_t file_bytes = 0;
  uint64_t entries = 0;
  std::string smallest;  // internal keys; empty if there are no entries
  std::string largest;
  uint32_t run = 0;                        // always 0 in level 0, where each table is a run
  DeadEntries dead;                        // nothing for a table of an older release
  RangeRecord ranges;                      // nothing for a table without range deletes
  KeyspaceId keyspace = kDefaultKeyspace;  // whose tree has the table
  WriteTimes times = {};                   // nothing for a table without timed puts

  // False for a table of range deletes alone.
  bool has_entries() const { return !smallest.empty(); }
  // The user keys that the table is asked for: the hull of its entries and its ranges, a view of
  // its keys.  All that compares tables with keys, or with each other, uses it.
  KeySpan span() const {
    if (ranges.empty()) return span_of_entries();
    if (!has_entries()) return ranges.hull();
    return HullOf(span_of_entries(), ranges.hull());
  }
  // Without the ranges, for lookups that need none of them.  REQUIRES: has_entries() or no ranges.
  KeySpan span_of_entries() const { return KeySpan::OfKeys(first_key(), last_key()); }
  // span().EndsBy(user_key), in one comparison if there are no ranges: each seek asks it.
  bool EndsBy(std::string_view user_key) const {
    if (ranges.empty()) [[likely]]
      return CompareUserKeys(last_key(), user_key) < 0;
    return span().EndsBy(user_key);
  }
  // The user keys of its first and last entry, to show and to check.  Empty if there is none.
  std::string_view first_key() const { return has_entries() ? UserKeyOf(smallest) : ""; }
  std::string_view last_key() const { return has_entries() ? UserKeyOf(largest) : ""; }

  bool operator==(const TableMeta&) const = default;
};

// The figures with which the table's properties must agree.  Refers to `meta`.
inline TableRecord RecordOf(const TableMeta& meta) {
  return {meta.entries, meta.first_key(), meta.last_key(), meta.dead,
          meta.ranges,  meta.keyspace,    meta.times};
}

struct VersionEdit {
  struct Added {
    int level = 0;
    TableMeta table;
    bool operator==(const Added&) const = default;
  };
  struct Removed {
    int level = 0;
    uint64_t number = 0;
    bool operator==(const Removed&) const = default;
  };

  bool is_snapshot = false;
  std::optional<uint64_t> next_file_number;
  std::optional<uint64_t> last_sequence;
  std::optional<uint64_t> oldest_log;
  std::optional<bloom::DigestSeed> digest_seed;
  std::optional<uint64_t> log_seed;
  std::optional<std::string> log_directory;  // nullopt: the logs are with the tables
  std::vector<uint64_t> synced_logs;
  std::map<uint64_t, uint64_t> closed_logs;  // number: file bytes
  std::vector<Added> added;
  std::vector<Removed> removed;
  // Apply before the tables: the next id, then dropped keyspaces, with all their tables, then new
  // and changed ones.
  std::optional<uint64_t> next_keyspace_id;
  std::vector<KeyspaceId> dropped_keyspaces;
  std::vector<KeyspaceRecord> keyspaces;

  bool operator==(const VersionEdit&) const = default;

  std::string Encode() const;
  // DataLoss with `file` and `offset` (of the record).  Unimplemented for an unknown format, tag or
  // option, and names it.  Checks everything that does not depend on other edits: levels, form of
  // keys and of bounds, smallest <= largest.
  static absl::StatusOr<VersionEdit> Decode(std::string_view bytes, std::string_view file,
                                            uint64_t offset);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_VERSION_EDIT_H_
