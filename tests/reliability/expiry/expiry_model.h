// A model of a store whose entries expire.  It has the newest put of each key, and no older
// version, because none may ever be seen.
#ifndef TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_MODEL_H_
#define TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "lsm/options.h"
#include "tests/reliability/keyspaces/comparisons.h"

namespace reliability {

struct ExpiringPut {
  uint64_t number = 0;           // which its value begins with
  uint64_t size = 0;             // of the rest of the value
  std::optional<uint64_t> time;  // of its commit, in seconds; nullopt: from before the first limit
  // It had expired before this opening of the store.  So it may be left or not.
  bool may_be_gone = false;
  bool is_gone = false;  // as this opening has found

  std::string Value() const;
};

struct ExpiringKeyspace {
  uint64_t birth = 0;  // identifies the creation
  std::map<std::string, ExpiringPut> puts;
  lsm::KeyspaceOptions options;
  uint64_t cutoff = 0;  // what is older stays expired
  // As the log has it: time may pass until the change is visible.
  uint64_t logged_cutoff = 0;
  uint64_t timed_from = 0;  // when a limit was first set; 0: never
  // An opening under a clock that was set back has changed one of the two.
  bool is_clamped = false;

  // Puts of earlier times have expired for a reader of this time.
  uint64_t LiveFrom(uint64_t now) const;
  bool IsExpired(const ExpiringPut& put, uint64_t now) const;
  // These options are set.  False if they were set before.
  bool Change(const lsm::KeyspaceOptions& changes, uint64_t now);
  void DeleteRange(const std::string& from, const std::optional<std::string>& to);

  KeysAndValues SeenAt(uint64_t now) const;

  // The store was closed, or crashed, at this time.  Returns the number of puts that had expired.
  uint64_t NoteEnd(uint64_t now);
  // The store was opened at this time, and showed these keys.  Returns a finding, or an empty
  // string.  `seen_again` counts puts that had expired before.
  std::string NoteOpening(uint64_t now, const KeysAndValues& found, uint64_t* seen_again);
};

// As of one number of a write.
struct ExpiringStore {
  uint64_t sequence = 0;
  std::map<std::string, ExpiringKeyspace> keyspaces;  // by name
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_EXPIRY_EXPIRY_MODEL_H_
