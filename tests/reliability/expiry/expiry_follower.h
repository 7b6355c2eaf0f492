// A follower of a store in which entries expire.
#ifndef TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_FOLLOWER_H_
#define TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_FOLLOWER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "lsm/db.h"
#include "lsm/options.h"
#include "lsm/snapshot.h"
#include "tests/reliability/expiry/expiry_model.h"
#include "tests/reliability/keyspaces/comparisons.h"
#include "tests/support/deterministic_environment.h"

namespace reliability {

// Each function returns a finding, or an empty string.
class ExpiryFollower {
 public:
  // `options`: of the writer.
  std::string Open(const std::string& path, lsm::Options options);

  // Refreshes the view, and compares it with the writer's store.  `clock`: what the clock shows.
  // `writer_now`: the writer's time.  What has expired for the writer alone may be gone.  The
  // snapshot of the first call shows for ever what it showed then.
  std::string Follow(const ExpiringStore& writer, uint64_t clock, uint64_t writer_now);

 private:
  std::string CheckSnapshot() const;

  testing_support::SingleThreadScheduler scheduler_;
  std::unique_ptr<lsm::DB> db_;
  uint64_t now_ = 0;  // its time does not run back either
  std::unique_ptr<const lsm::Snapshot> snapshot_;
  std::map<std::string, KeysAndValues> shown_;  // by its keyspaces that are never dropped
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_FOLLOWER_H_
