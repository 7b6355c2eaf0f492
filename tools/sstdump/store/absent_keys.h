// Keys that a table does not hold but that lie within its range, to measure its filter with: what
// lies outside is turned away before any filter is asked, and would flatter it.
//
// Such a key lies strictly between two neighbours of the table's own keys, so it is certain to be
// absent, with no set of keys in memory.  Only a few bytes of it are random, so that a long key
// costs no more than to copy it.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_ABSENT_KEYS_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_ABSENT_KEYS_H_

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace tools {

class AbsentKeys {
 public:
  // The same seed makes the same keys.
  explicit AbsentKeys(uint64_t seed) : random_(seed) {}

  // A key of the same length as `below`, strictly between the two; false if a few tries find none.
  // REQUIRES, here and in Extend: below < above.
  bool Mutate(std::string_view below, std::string_view above, std::string* key);

  // `below` with random bytes behind, strictly between the two, a new one each time; false if a few
  // tries find none.
  bool Extend(std::string_view below, std::string_view above, std::string* key);

 private:
  char Byte(uint8_t least, uint8_t most);

  std::mt19937_64 random_;
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_ABSENT_KEYS_H_
