// The figures that a table states about itself, for tools, statistics and compaction.  These are
// claims: a store compares them with everything else that states the same (table_claims.h), and
// blocks with them.
//
// Encoded as a list, sorted by name: length-prefixed name, u8 type (1 varint64, 2 fixed64 bits of a
// double, 3 bytes), value (bytes are length-prefixed).  Readers keep names that they do not know in
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

namespace lsm::inline TRELLIS_ABI {

struct TableProperties {
  uint64_t entries = 0;  // puts and deletes
  uint64_t deletions = 0;
  uint64_t distinct_keys = 0;  // user keys
  std::string smallest_key;    // user keys
  std::string largest_key;
  uint64_t smallest_sequence = 0;
  uint64_t largest_sequence = 0;
  // User keys and values as they were given, before prefixes and compression.
  uint64_t raw_key_bytes = 0;
  uint64_t raw_value_bytes = 0;
  uint64_t data_bytes = 0;  // data blocks as stored, trailers included
  uint64_t uncompressed_data_bytes = 0;
  uint64_t data_blocks = 0;
  uint64_t index_bytes = 0;   // as stored, without the trailer
  uint64_t filter_bytes = 0;  // as stored, without the trailer; 0: no filter
  // Those that filter and index are cut into, whose sums the two then are; 0, and then not in the
  // file, where they are whole.
  uint64_t partitions = 0;
  std::string filter_kind;  // "blocked", …; "none"
  double target_fpp = 0;    // 0: no filter
  double expected_fpp = 0;  // what the filter's layout promises with its size
  // Why that kind and target, or why none: "share: its share of 10 bits a key".  Empty, and then
  // not in the file, where the store had no Options::filter_goal.
  std::string filter_reason;
  // Keys are hashed with it for the filter; the other two stand in files only if the hash is not
  // "xxh3", and mean it where they do not stand.
  uint64_t digest_seed = 0;
  std::string digest_hash = "xxh3";  // or "siphash-2-4"
  uint64_t digest_seed_high = 0;     // of a seed of 128 bits
  std::string compression;           // "lz4", "none": what was asked for
  uint64_t block_bytes = 0;          // target
  uint64_t restart_interval = 0;
  int level = 0;                // that it was made for
  uint64_t created_micros = 0;  // since 1970
  std::string created_by;       // "trellis 0.1.0"

  std::map<std::string, std::string> others;  // unknown names, values as text
  std::vector<std::string_view> missing;      // known names that the file does not have

  // False of a known name that the file does not have.
  bool IsStated(std::string_view name) const;

  // The three together; nothing if the hash is one of a later release.
  std::optional<bloom::DigestSeed> digest_seed_and_hash() const;
  void set_digest_seed(const bloom::DigestSeed& seed);

  std::string Encode() const;
  static absl::StatusOr<TableProperties> Decode(std::string_view bytes, std::string_view file,
                                                uint64_t offset);

  // name -> value as text, for tools; without what is missing.
  std::map<std::string, std::string> ToMap() const;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_PROPERTIES_H_
