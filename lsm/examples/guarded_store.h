// A store behind a filter of its ids.  It protects against large numbers of lookups of ids that do
// not exist, for which no cache helps.  Usage: (Get | Put)* Close.  Thread-safe, except Close.
#ifndef TRELLIS_LSM_EXAMPLES_GUARDED_STORE_H_
#define TRELLIS_LSM_EXAMPLES_GUARDED_STORE_H_

#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ids_filter.h"
#include "lsm/db.h"

namespace examples {

class GuardedStore {
 public:
  GuardedStore(std::unique_ptr<lsm::DB> db, TakenFilter ids)
      : db_(std::move(db)), ids_(std::move(ids)) {}

  absl::StatusOr<std::optional<std::string>> Get(std::string_view id) {
    {
      const std::shared_lock lock(mutex_);
      if (!ids_.filter.MayContain(id)) return std::nullopt;
    }
    return db_->Get(KeyOf(id));
  }

  // Order: filter, store, acknowledgement.  An id that is only in the filter costs a lookup.  An id
  // that is only in the store would be denied.  With the reverse order that would happen between
  // the two steps; and permanently if the write fails after it took effect, or if the process ends
  // and another one has the filter.
  absl::Status Put(std::string_view id, std::string_view value) {
    {
      const std::unique_lock lock(mutex_);
      // Counts an id once, however often it is written.
      if (!ids_.filter.MayContain(id)) ids_.filter.Add(id);
    }
    return db_->Put(KeyOf(id), value, {.sync = true});
  }

  // Saves the filter for the next start.  Must be the last call.  Do not call it after an error.
  absl::Status Close() { return SaveIdsFilter(*db_, ids_); }

  lsm::DB& db() { return *db_; }

 private:
  const std::unique_ptr<lsm::DB> db_;
  std::shared_mutex mutex_;
  TakenFilter ids_;
};

}  // namespace examples

#endif  // TRELLIS_LSM_EXAMPLES_GUARDED_STORE_H_
