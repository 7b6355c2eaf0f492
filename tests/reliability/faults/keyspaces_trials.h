// Compares the keyspaces of a store with a model.  Calls create keyspaces, change their options,
// and write batches over several.  Flushes, compactions, openings, Resume and crashes come in
// between.  In some calls the log cannot be written, or memory runs out.  After each opening, the
// store has the names, options and keys that the calls up to some moment have made.  At the end it
// is repaired, with its manifest or without it, and again without it.  It must have all of them.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_KEYSPACES_TRIALS_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_KEYSPACES_TRIALS_H_

#include <cstdint>
#include <string>

namespace reliability {

struct KeyspacesReport {
  uint64_t calls = 0;      // that changed something
  uint64_t keyspaces = 0;  // made
  uint64_t options = 0;    // changes of options
  uint64_t crashes = 0;
  uint64_t resumed = 0;        // times
  uint64_t out_of_memory = 0;  // calls of OpenKeyspace
  uint64_t compared = 0;       // states of the store
  uint64_t repairs = 0;
  std::string finding;
};

// About `amount` calls, in trials with this seed and the following ones.
KeyspacesReport CheckKeyspaces(uint64_t seed, uint64_t amount);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_KEYSPACES_TRIALS_H_
