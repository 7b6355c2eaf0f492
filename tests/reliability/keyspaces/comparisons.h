// Compares the answers of a keyspace with a map.  Each function returns a finding, or an empty
// string.
#ifndef TRELLIS_TESTS_RELIABILITY_KEYSPACES_COMPARISONS_H_
#define TRELLIS_TESTS_RELIABILITY_KEYSPACES_COMPARISONS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lsm/iterator.h"
#include "lsm/keyspace.h"
#include "lsm/options.h"
#include "tests/support/dice.h"

namespace reliability {

using KeysAndValues = std::map<std::string, std::string>;

// Gets each key alone, into pinned memory, and together with the others.  Explains some.
// `answers` counts them.
std::string CompareLookups(const lsm::Keyspace& keyspace, const std::vector<std::string>& keys,
                           const lsm::ReadOptions& options, const KeysAndValues& expected,
                           uint64_t* answers);

// Moves it over all entries, forward and then backward.  `what` is for the finding; `moves` counts
// the moves.
std::string CompareWhole(const std::string& what, lsm::Iterator& iterator,
                         const KeysAndValues& expected, uint64_t* moves);
// Moves it to and fro.
std::string CompareWalk(const std::string& what, lsm::Iterator& iterator,
                        const KeysAndValues& expected, testing_support::Dice& dice,
                        const std::function<std::string()>& some_key, uint64_t* moves);

// All that an iterator over the keyspace shows.
std::string ReadKeyspace(const lsm::Keyspace& keyspace, const lsm::ReadOptions& options,
                         KeysAndValues* found);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_KEYSPACES_COMPARISONS_H_
