// A set of keys of its own within a store, with a name.  DB::OpenKeyspace makes it, or finds it.
//
//   absl::StatusOr<lsm::Keyspace> users = db->OpenKeyspace("users");
//   absl::Status status = users->Put("key", "value");
//   lsm::WriteBatch batch;
//   batch.Put(*users, "other", "value");  // a batch may have entries of several keyspaces
//
// All keyspaces of a store share its log, the order of its writes, its memory and its threads.  The
// keys that DB's own calls read and write are those of the keyspace "default".
#ifndef TRELLIS_LSM_KEYSPACE_H_
#define TRELLIS_LSM_KEYSPACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/explanation.h"
#include "lsm/iterator.h"
#include "lsm/options.h"
#include "lsm/pinned_value.h"
#include "lsm/statistics.h"

namespace lsm::inline TRELLIS_ABI {

class Engine;
struct KeyspaceState;  // lsm/base/keyspace_state.h

// A handle, as cheap to copy as two shared pointers.  It may outlive the DB: after DB::Close its
// calls return what those of DB return.  Thread-safe, except for assignment to the handle itself.
class TRELLIS_API Keyspace {
 public:
  // A handle of no store: every call returns FailedPrecondition.
  Keyspace() = default;

  const std::string& name() const;  // empty without a store

  // Each call is the one of DB with the same name and the same errors, in this keyspace.  Snapshots
  // are of the whole store.

  absl::Status Put(std::string_view key, std::string_view value, const WriteOptions& options = {});
  absl::Status Delete(std::string_view key, const WriteOptions& options = {});
  absl::Status DeleteRange(std::string_view from, std::optional<std::string_view> to,
                           const WriteOptions& options = {});

  absl::StatusOr<std::optional<std::string>> Get(std::string_view key,
                                                 const ReadOptions& options = {}) const;
  absl::StatusOr<bool> Get(std::string_view key, std::string* value,
                           const ReadOptions& options = {}) const;
  absl::StatusOr<bool> Get(std::string_view key, PinnedValue* value,
                           const ReadOptions& options = {}) const;
  std::vector<absl::StatusOr<std::optional<std::string>>> MultiGet(
      std::span<const std::string_view> keys, const ReadOptions& options = {}) const;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options = {}) const;

  absl::Status CompactRange(std::optional<std::string_view> from = std::nullopt,
                            std::optional<std::string_view> to = std::nullopt);
  // 0 without a store.
  uint64_t ApproximateBytes(std::optional<std::string_view> from = std::nullopt,
                            std::optional<std::string_view> to = std::nullopt) const;
  absl::StatusOr<Explanation> Explain(std::string_view key, const ReadOptions& options = {}) const;

  // Its tables; nothing without a store, and after DB::Close.
  KeyspaceStatistics GetStatistics() const;

 private:
  friend class DB;
  friend class WriteBatch;

  Keyspace(std::shared_ptr<Engine> engine, std::shared_ptr<const KeyspaceState> state)
      : engine_(std::move(engine)), state_(std::move(state)) {}

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const KeyspaceState> state_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_KEYSPACE_H_
