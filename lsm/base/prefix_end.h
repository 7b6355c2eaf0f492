// Where the keys that begin with a prefix end.
#ifndef TRELLIS_LSM_BASE_PREFIX_END_H_
#define TRELLIS_LSM_BASE_PREFIX_END_H_

#include <optional>
#include <string>
#include <string_view>

namespace lsm {

// The smallest key that is greater than all keys with the prefix: for the upper bound of a scan,
// and for DB::CompactRange and DB::ApproximateBytes.  nullopt if there is no such key: the prefix
// is empty, or all its bytes are 0xff.
//
//   auto iterator = db.NewIterator({.lower_bound = prefix, .upper_bound = PrefixEnd(prefix)});
//
// ReadOptions only points to its bounds; NewIterator copies them.  So the result may be a temporary
// in the call itself, but must be a variable where the ReadOptions is one.
std::optional<std::string> PrefixEnd(std::string_view prefix);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_PREFIX_END_H_
