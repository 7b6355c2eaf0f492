// A keyspace is a named set of keys within a store.  DB::OpenKeyspace returns it.
//
//   absl::StatusOr<lsm::Keyspace> users = db->OpenKeyspace("users");
//   absl::Status status = users->Put("key", "value");
//   lsm::WriteBatch batch;
//   batch.Put(*users, "other", "value");  // a batch may have entries of several keyspaces
//
// All keyspaces of a store share its log, its memory and its threads, and their writes have one
// order.  The calls of DB itself read and write the keyspace "default".
//
// DB::OpenKeyspace (lsm/db.h) says what a keyspace costs, and which limits a store with
// keyspaces has.
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

// A handle.  Copying it copies two shared pointers.  Thread-safe, except for assignment to the
// handle.
//
// A handle and a batch that names it belong to one opening of the store.  After you open the store
// again, call OpenKeyspace again, and fill batches again: the new DB returns InvalidArgument for an
// old batch.  A handle may outlive the DB, but not its file system and clock (lsm/environment.h).
// After DB::Close its calls fail as those of DB do.  After DB::DropKeyspace they return
// FailedPrecondition, and NewIterator returns an iterator with that status.  ApproximateBytes
// returns 0, GetStatistics zeros, and name() its value.  The same holds for a follower's handle
// once its view shows the drop (DB::OpenKeyspace).
class TRELLIS_API Keyspace {
 public:
  // A handle that belongs to no store.  Every call returns FailedPrecondition.
  Keyspace() = default;

  const std::string& name() const;  // empty without a store

  // Each call does in this keyspace what the call of DB with its name does in "default", with the
  // same errors.  A snapshot is of the whole store, so it serves reads of any keyspace.  There is
  // no Flush: DB::Flush writes the entries of all keyspaces.

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

  // Describes the tables of the keyspace, and its entries in memtables.  Without a store, and after
  // DB::Close, returns zeros.
  KeyspaceStatistics GetStatistics() const;

 private:
  friend class DB;
  friend class Engine;
  friend class WriteBatch;

  Keyspace(std::shared_ptr<Engine> engine, std::shared_ptr<const KeyspaceState> state)
      : engine_(std::move(engine)), state_(std::move(state)) {}

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const KeyspaceState> state_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_KEYSPACE_H_
