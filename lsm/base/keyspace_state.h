// Keyspaces in memory, and what logs say about them: their options and how they change
// (lsm/design/keyspaces.md).
#ifndef TRELLIS_LSM_BASE_KEYSPACE_STATE_H_
#define TRELLIS_LSM_BASE_KEYSPACE_STATE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/options.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr std::string_view kDefaultKeyspaceName = "default";

// --- expiry (lsm/design/expiry.md); times are seconds since 1970 ---

// The facts about a keyspace's expiry that a store keeps besides the option.
struct ExpiryMarks {
  // Entries of earlier times stay expired, whatever the option says now.
  uint32_t cutoff = 0;
  // When KeyspaceOptions::expire_after was first set.  From then on each put has a time, for good.
  // A put without one counts as written at this time.  0: never, and no put has a time.
  uint32_t timed_from = 0;

  bool are_timed() const { return timed_from != 0; }
  bool operator==(const ExpiryMarks&) const = default;
};

// The limit of a keyspace: its entries live for `seconds`; 0: for ever.
struct ExpiryLimit {
  uint32_t seconds = 0;
  ExpiryMarks marks;

  static ExpiryLimit Of(const KeyspaceOptions& options, const ExpiryMarks& marks) {
    return {options.expire_after.value_or(0), marks};
  }
  // The limit in a store that is opened at `now`.  If the clock was set back, new entries must not
  // be older than the cutoff.
  static ExpiryLimit AtOpening(const KeyspaceOptions& options, const ExpiryMarks& marks,
                               uint32_t now) {
    // timed_from may be later than `now`.  Then puts without times only live longer.
    return Of(options, {std::min(marks.cutoff, now), marks.timed_from});
  }
  // For a reader whose time is `now`.
  ExpiryView At(uint32_t now) const {
    if (!marks.are_timed()) return {};
    const uint32_t by_age = seconds == 0 ? 0 : now - std::min(now, seconds);
    // A follower's clock may be earlier than the cutoff.
    return {std::max(std::min(marks.cutoff, now), by_age), marks.timed_from};
  }
  bool operator==(const ExpiryLimit&) const = default;
};

// The limits of all keyspaces whose puts have times, as of one moment.
class LimitTable {
 public:
  using Row = std::pair<KeyspaceId, ExpiryLimit>;

  // REQUIRES: ids ascend.  If an id occurs more than once, the mildest of its limits counts.
  explicit LimitTable(std::vector<Row> rows) : rows_(std::move(rows)) {}

  const std::vector<Row>& rows() const { return rows_; }
  // Replaces the keyspace's limit; allocates memory only if there is none.  REQUIRES: no other
  // thread has this object.
  void Set(KeyspaceId keyspace, const ExpiryLimit& limit) {
    const auto at = rows_.begin() + (First(keyspace) - rows_.cbegin());
    if (at != rows_.end() && at->first == keyspace) {
      at->second = limit;
    } else {
      rows_.insert(at, {keyspace, limit});
    }
  }
  bool Has(KeyspaceId keyspace) const {
    const auto row = First(keyspace);
    return row != rows_.end() && row->first == keyspace;
  }
  // For a reader whose time is `now`.
  ExpiryView At(KeyspaceId keyspace, uint32_t now) const;

 private:
  std::vector<Row>::const_iterator First(KeyspaceId keyspace) const {
    return std::lower_bound(rows_.begin(), rows_.end(), keyspace,
                            [](const Row& row, KeyspaceId id) { return row.first < id; });
  }

  std::vector<Row> rows_;
};

// The time of a reader, and the limits at that moment; null: no keyspace has times.
struct ReadTime {
  uint32_t seconds = 0;
  std::shared_ptr<const LimitTable> limits;

  ExpiryView Of(KeyspaceId keyspace) const {
    return limits == nullptr ? ExpiryView() : limits->At(keyspace, seconds);
  }
};

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
  // The limit, for readers without the mutex: seconds and cutoff in one number, so that a reader
  // gets both as of one moment.  0: nothing expires.  Stored with release after timed_from, which
  // is set once.
  std::atomic<uint64_t> limit{0};
  std::atomic<uint32_t> timed_from{0};
  // REQUIRES: the engine's mutex, or no other thread has this object.
  void TakeLimit(const ExpiryLimit& now) {
    timed_from.store(now.marks.timed_from, std::memory_order_relaxed);
    limit.store(uint64_t{now.seconds} << 32 | now.marks.cutoff, std::memory_order_release);
  }
  ExpiryLimit GetLimit() const {
    const uint64_t both = limit.load(std::memory_order_acquire);
    return {static_cast<uint32_t>(both >> 32),
            {static_cast<uint32_t>(both), timed_from.load(std::memory_order_relaxed)}};
  }

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
  ExpiryMarks marks = {};        // likewise

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

// The encoding in logs and manifests (lsm/FORMAT.md, "Options of a keyspace").
std::string EncodeKeyspaceOptions(const KeyspaceOptions& options, const ExpiryMarks& marks);
// DataLoss; or Unimplemented for an option or a kind of filter that this release does not know.
// The message names no file and no offset: the caller adds them.
absl::Status DecodeKeyspaceOptions(std::string_view bytes, KeyspaceOptions* options,
                                   ExpiryMarks* marks);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_KEYSPACE_STATE_H_
