// Ways to forge a store: every checksum is right, but two parts of the store contradict each other.
#ifndef TRELLIS_TESTS_RELIABILITY_FAULTS_FORGERIES_H_
#define TRELLIS_TESTS_RELIABILITY_FAULTS_FORGERIES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lsm/version/manifest.h"
#include "tests/lsm/store/store_forger.h"

namespace reliability {

// The behaviour of a store that is opened without repair.
enum class Trace : uint8_t {
  // The store does not open, or DB::Verify names the contradiction.  No read is wrong.
  kNamed,
  // The same, but a lookup may miss a key, because only entries that it does not read contradict.
  kVerified,
  // No read is wrong.
  kHarmless,
  // Reads may return older values, because only the order of sequences among levels is wrong.
  kNone,
};

struct Forgery {
  std::string what;
  Trace trace = Trace::kNamed;
  std::function<void(lsm::StoreForger*)> apply;
};

// Forgeries of every field of every table, of the table's record in the manifest, of the manifest,
// and of the names of keyspaces.
std::vector<Forgery> ForgeriesOf(const lsm::ManifestState& state);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_FORGERIES_H_
