// Absent keys within a table's range, to measure its filter.  Keys outside the range never reach a
// filter, so they would make it look better.
//
// Each key lies strictly between two neighbouring keys of the table, so it is certainly absent, and
// no set of keys is needed in memory.  Only a few bytes are random, so a long key costs little more
// than a copy.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_ABSENT_KEYS_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_ABSENT_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "lsm/bytes/split_mix.h"

namespace tools {

class AbsentKeys {
 public:
  // The same seed gives the same keys.
  explicit AbsentKeys(uint64_t seed) : random_(seed) {}

  // Makes a key as long as `below`, strictly between the two.  False if a few tries find none.
  // REQUIRES (also of Extend): below < above.
  bool Mutate(std::string_view below, std::string_view above, std::string* key);

  // Appends random bytes to `below`, different each time, strictly between the two.  False if a few
  // tries find none.
  bool Extend(std::string_view below, std::string_view above, std::string* key);

 private:
  char Byte(uint8_t least, uint8_t most);

  lsm::SplitMix random_;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_ABSENT_KEYS_H_
