// A store that is asked only for ids that may exist: a guard against lookups of ids that do not, by
// the million, for which no cache holds anything.
//
// Grammar: (Get | Put)* Close.  Thread-safe, but for Close.
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

  // The filter first, then the store, then the acknowledgement.  An id in the filter that is not in
  // the store costs a lookup; one in the store that is not in the filter is denied.  The other way
  // round it would be, to whoever asks before the filter follows; and for longer where the write
  // fails after it took effect, or where the process ends and the filter lives in another one.
  absl::Status Put(std::string_view id, std::string_view value) {
    {
      const std::unique_lock lock(mutex_);
      // One that is written again is counted once.
      if (!ids_.filter.MayContain(id)) ids_.filter.Add(id);
    }
    return db_->Put(KeyOf(id), value, {.sync = true});
  }

  // Keeps the filter for the next start.  Nothing may follow; to be left out after an error.
  absl::Status Close() { return SaveIdsFilter(*db_, ids_); }

  lsm::DB& db() { return *db_; }

 private:
  const std::unique_ptr<lsm::DB> db_;
  std::shared_mutex mutex_;
  TakenFilter ids_;
};

}  // namespace examples

#endif  // TRELLIS_LSM_EXAMPLES_GUARDED_STORE_H_
