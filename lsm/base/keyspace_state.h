// Keyspaces in memory, and what logs say about them: their options and how they change
// (lsm/design/keyspaces.md).
#ifndef TRELLIS_LSM_BASE_KEYSPACE_STATE_H_
#define TRELLIS_LSM_BASE_KEYSPACE_STATE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/options.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr std::string_view kDefaultKeyspaceName = "default";

// A keyspace of an open store.  Handles and batches share it with the store.
struct KeyspaceState {
  KeyspaceState(KeyspaceId its_id, std::string_view its_name, uint64_t its_opening)
      : id(its_id), name(its_name), opening(its_opening) {}

  const KeyspaceId id;
  const std::string name;
  // Identifies the opening of the store.  The number is unique in the process.  The engine's
  // address is not, since a later engine may have it again.
  const uint64_t opening;
  // Set once, when the entry of the drop is in the log; the tables go later.  A follower sets it
  // before it publishes a view without the keyspace.  Relaxed: a reader loads the view first, which
  // acquires.  So if it finds the flag unset, its view has the keyspace's tables.
  std::atomic<bool> dropped{false};
  // All guarded by the engine's mutex.
  KeyspaceOptions options;       // those that were set
  bool has_own_tree = false;     // or else its entries in tables are in the common tree
  bool stays_in_common = false;  // an attempt to give it a tree of its own has failed
};

// The id of the keyspace that a call names; null: the default one.
inline KeyspaceId KeyspaceIdOf(const KeyspaceState* keyspace) {
  return keyspace == nullptr ? kDefaultKeyspace : keyspace->id;
}

// Null: the default one, which is never dropped.
inline bool IsDropped(const KeyspaceState* keyspace) {
  return keyspace != nullptr && keyspace->dropped.load(std::memory_order_relaxed);
}
// The error of calls after the drop.
absl::Status DroppedKeyspace(const KeyspaceState& keyspace);
inline absl::Status CheckNotDropped(const KeyspaceState* keyspace) {
  return IsDropped(keyspace) ? DroppedKeyspace(*keyspace) : absl::OkStatus();
}

// An entry of a log that changes the set of keyspaces.
struct KeyspaceChange {
  // The kinds of their entries in a batch (BatchKind).
  enum class Kind : uint8_t { kCreated = 5, kDropped = 6, kOptions = 7 };

  Kind kind = Kind::kCreated;
  KeyspaceId id = kDefaultKeyspace;
  std::string name = {};         // kCreated
  KeyspaceOptions options = {};  // kCreated and kOptions: all that are set

  bool operator==(const KeyspaceChange&) const = default;
};

// The error of a handle that belongs to no store.
absl::Status NoKeyspace();

// --- options ---

// `options`, with the values that `changes` sets.
KeyspaceOptions Merged(KeyspaceOptions options, const KeyspaceOptions& changes);
// Whether an option is set that replaces one of the store's.
bool ReplacesAny(const KeyspaceOptions& options);
// The store's options, with the values that the keyspace sets.
Options EffectiveOptions(const Options& store, const KeyspaceOptions& keyspace);
// The effective options of those keyspaces that replace any of the store's.
using OwnOptions = std::map<KeyspaceId, std::shared_ptr<const Options>>;

// InvalidArgument and Unimplemented as DB::OpenKeyspace returns them for this name and these
// options.
absl::Status ValidateKeyspace(std::string_view name, const KeyspaceOptions& options,
                              const Options& store);
// Unimplemented if a store with these options cannot have keyspaces besides the default one.
absl::Status CheckMayHaveKeyspaces(const Options& store);

// The encoding in logs and manifests (lsm/FORMAT.md, "Options of a keyspace").
std::string EncodeKeyspaceOptions(const KeyspaceOptions& options);
// DataLoss; or Unimplemented for an option or a kind of filter that this release does not know.
// The message names no file and no offset: the caller adds them.
absl::Status DecodeKeyspaceOptions(std::string_view bytes, KeyspaceOptions* options);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEYSPACE_STATE_H_
