// A copy of some keyspaces of a store, compared with what they hold.
#ifndef TRELLIS_TESTS_RELIABILITY_KEYSPACES_COPIES_OF_SOME_H_
#define TRELLIS_TESTS_RELIABILITY_KEYSPACES_COPIES_OF_SOME_H_

#include <cstddef>
#include <map>
#include <string>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/options.h"
#include "tests/support/dice.h"

namespace reliability {

// The copies of one store.  Each backup has the last one as its base.
class CopiesOfSome {
 public:
  explicit CopiesOfSome(uint64_t seed) : dice_(seed) {}

  // Copies some of the keyspaces, perhaps repairs the copy, opens it, and creates others there
  // again.  The copy must have what `content` says by name, also after its compactions.  Returns
  // what is wrong, or an empty string.  `options` are the store's.
  std::string Make(lsm::DB& db, const std::map<std::string, lsm::Keyspace>& handles,
                   const std::map<std::string, std::map<std::string, std::string>>& content,
                   const lsm::Options& options);
  // Whether it is time for a copy.
  bool AreDue() { return dice_.OneIn(40); }

 private:
  testing_support::Dice dice_;
  size_t count_ = 0;
  std::string base_;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_KEYSPACES_COPIES_OF_SOME_H_
