// Keyspaces in memory, and what logs say about them: their options and how they change
// (lsm/design/keyspaces.md).
#ifndef TRELLIS_LSM_BASE_KEYSPACE_STATE_H_
#define TRELLIS_LSM_BASE_KEYSPACE_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

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
  // The opening of the store that made it, by a number that is unique in the process.  An engine at
  // the same address as an earlier one has another number.
  const uint64_t opening;
  KeyspaceOptions options;  // those that were set; guarded by the engine's mutex
};

// An entry of a log that changes the set of keyspaces.
struct KeyspaceChange {
  enum class Kind : uint8_t { kCreated, kDropped, kOptions };

  Kind kind = Kind::kCreated;
  KeyspaceId id = kDefaultKeyspace;
  std::string name = {};         // kCreated
  KeyspaceOptions options = {};  // kCreated and kOptions: all that are set

  bool operator==(const KeyspaceChange&) const = default;
};

// The error of a handle of no store.
absl::Status NoKeyspace();

// --- options ---

// `options`, with those that `changes` sets.
KeyspaceOptions Merged(KeyspaceOptions options, const KeyspaceOptions& changes);
// Whether one of the options is set that replace options of the store.
bool ReplacesAny(const KeyspaceOptions& options);
// The store's options, with those that the keyspace replaces.
Options EffectiveOptions(const Options& store, const KeyspaceOptions& keyspace);
// The options of keyspaces that replace any of the store's, as EffectiveOptions makes them.
using OwnOptions = std::map<KeyspaceId, std::shared_ptr<const Options>>;

// InvalidArgument as DB::OpenKeyspace returns it for this name and these options.
absl::Status ValidateKeyspace(std::string_view name, const KeyspaceOptions& options,
                              const Options& store);

// The encoding in logs and manifests.  lsm/FORMAT.md, section "Options of a keyspace", has it.
std::string EncodeKeyspaceOptions(const KeyspaceOptions& options);
// Errors are only a text, without a place: DataLoss, or Unimplemented for an option, or the kind of
// a filter, that this release does not know.
absl::Status DecodeKeyspaceOptions(std::string_view bytes, KeyspaceOptions* options);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEYSPACE_STATE_H_
