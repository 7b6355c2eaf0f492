// Ways to forge a store: every checksum is right, and one thing contradicts another.
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
  kNamed,     // it does not open, or DB::Verify names the contradiction; no read is wrong
  kVerified,  // the same, but a lookup may miss a key: only entries that it does not read tell
  kHarmless,  // no read is wrong
  kNone,      // it may give older values: only the order of sequences among levels is wrong
};

struct Forgery {
  std::string what;
  Trace trace = Trace::kNamed;
  std::function<void(lsm::StoreForger*)> apply;
};

// Every field of every table, of its record in the manifest, and of the manifest itself.
std::vector<Forgery> ForgeriesOf(const lsm::ManifestState& state);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_FAULTS_FORGERIES_H_
