// The statements of a table about itself, for tools, statistics and compaction.  These are claims:
// a store checks them against all other sources (table_claims.h), and checks blocks against them.
//
// lsm/FORMAT.md, section "Properties block", has their encoding.  Readers keep unknown names in
// `others`.
#ifndef TRELLIS_LSM_TABLE_PROPERTIES_H_
#define TRELLIS_LSM_TABLE_PROPERTIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/table/dead_entries.h"
#include "lsm/table/write_times.h"

namespace lsm::inline TRELLIS_ABI {

struct TableProperties {
  uint64_t entries = 0;  // puts and deletes
  uint64_t deletions = 0;
  // As in DeadEntries.  The first is in files only if there are dead entries, the other two only if
  // there are deletions or range deletes.
  uint64_t dead_bytes = 0;
  uint64_t covered_bytes = 0;
  uint64_t oldest_tombstone = 0;
  // Stretches of range deletes that are no gaps, and the size of their block as stored, without the
  // trailer.  In files only if there are any.
  uint64_t range_deletes = 0;
  uint64_t range_bytes = 0;
  uint64_t distinct_keys = 0;  // user keys
  std::string smallest_key;    // user keys; those of range deletes do not count, here and below
  std::string largest_key;
  uint64_t smallest_sequence = 0;
  uint64_t largest_sequence = 0;
  // Size of user keys and values before prefix compression and LZ4.
  uint64_t raw_key_bytes = 0;
  uint64_t raw_value_bytes = 0;
  uint64_t data_bytes = 0;  // stored data blocks, trailers included
  uint64_t uncompressed_data_bytes = 0;
  uint64_t data_blocks = 0;
  uint64_t index_bytes = 0;   // stored, without the trailer
  uint64_t filter_bytes = 0;  // stored, without the trailer; 0: no filter
  // Number of partitions.  The two sizes above are then sums over them. 0, and not in the file, if
  // filter and index are whole.
  uint64_t partitions = 0;
  std::string filter_kind;  // "blocked", …; "none"
  double target_fpp = 0;    // 0: no filter
  double expected_fpp = 0;  // predicted by the filter's layout and size
  // Why that kind and target, or why no filter, e.g. "share: its share of 10 bits a key".  Empty,
  // and not in the file, if the store had no Options::filter_goal.
  std::string filter_reason;
  // Seed of the digests of keys.  The next two are in files only if the hash is not "xxh3";
  // otherwise they have these values.
  uint64_t digest_seed = 0;
  std::string digest_hash = "xxh3";  // or "siphash-2-4"
  uint64_t digest_seed_high = 0;     // second half of a seed of 128 bits
  std::string compression;           // requested: "lz4", "none"
  uint64_t block_bytes = 0;          // target
  uint64_t restart_interval = 0;
  // As in WriteTimes.  In files only if there are timed entries.
  uint64_t timed_entries = 0;
  uint64_t oldest_write_seconds = 0;
  uint64_t newest_write_seconds = 0;
  uint64_t fifth_write_seconds = 0;
  uint64_t keyspace = 0;        // the id; 0, and not in the file: the default one
  int level = 0;                // for which it was made
  uint64_t created_micros = 0;  // since 1970
  std::string created_by;       // "trellis 0.1.0"

  std::map<std::string, std::string> others;  // unknown names, values as text
  std::vector<std::string_view> missing;      // known names that the file does not have

  // False for a known name that the file lacks.
  bool IsStated(std::string_view name) const;
  // False for a table of an older release that has dead entries.
  bool states_dead_entries() const;
  // The stated figures of its dead entries; nothing if there are none.
  DeadEntries dead_entries() const;
  // The same; for a table of an older release, an estimate: each tombstone covers `bytes_per_key`,
  // and the oldest one is as old as the table.  `table_entries`: of the table, as its footer says.
  DeadEntries EstimateDeadEntries(uint64_t table_entries, double bytes_per_key) const;
  // The stated times of its puts.
  WriteTimes write_times() const;

  // The three combined; nullopt if the hash belongs to a later release.
  std::optional<bloom::DigestSeed> digest_seed_and_hash() const;
  void set_digest_seed(const bloom::DigestSeed& seed);

  std::string Encode() const;
  static absl::StatusOr<TableProperties> Decode(std::string_view bytes, std::string_view file,
                                                uint64_t offset);

  // All present properties as text, for tools.
  std::map<std::string, std::string> ToMap() const;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_PROPERTIES_H_
