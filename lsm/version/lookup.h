// A point lookup on its way through memtables and tables: the key, what the lookup may skip, and
// the result.
#ifndef TRELLIS_LSM_VERSION_LOOKUP_H_
#define TRELLIS_LSM_VERSION_LOOKUP_H_

#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/explanation.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

// The answer of a point lookup in a memtable or a table.  An answer of a memtable has no pin.
struct LookupResult : TableHit {
  TableAnswer answer = TableAnswer::kAbsent;
};

// The range deletes of the memtables, which are above all tables.
class RangesAbove {
 public:
  // The newest sequence up to the lookup's that covers its key; 0 if there is none.
  virtual Sequence NewestAt(const LookupKey& key) const = 0;

 protected:
  ~RangesAbove() = default;
};

// A key that is looked up, alone or with others.
struct KeyLookup {
  KeyLookup(std::string_view user_key, Sequence sequence, const bloom::DigestSeed& seed)
      : key(user_key, sequence, seed) {}
  // For the common tree.
  KeyLookup(KeyspaceId keyspace, std::string_view user_key, Sequence sequence,
            const bloom::DigestSeed& seed)
      : key(keyspace, user_key, sequence, seed) {}
  KeyLookup(KeyLookup&&) = default;
  // Inlined, since each lookup ends with it, and compilers leave it a call.
  [[gnu::always_inline]] ~KeyLookup() = default;

  LookupKey key;
  // Searches tables even if their filters say "no".  If such a table has the key, it answers, and
  // the false negative is counted.
  bool doubt_filters = false;
  // The lookup asks it before it reads a table.  Null: the memtables have no range deletes.
  const RangesAbove* ranges_above = nullptr;
  Explanation* explanation = nullptr;  // receives each step; null: not wanted

  // The result.
  absl::Status status;
  LookupResult result;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_LOOKUP_H_
