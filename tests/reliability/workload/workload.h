// The workloads that jobs run on a store, and the history that the store's contents must match.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_WORKLOAD_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/db.h"

namespace reliability {

// Contents and effects have the keys of all keyspaces in one order.  A key of "default" stands for
// itself.  Behind these are, for each other keyspace, the entry of the keyspace itself, then its
// keys.  An effect on the entry of a keyspace creates or drops it, and is alone in its commit.
std::string EntryOf(std::string_view keyspace);
std::string KeyIn(std::string_view keyspace, std::string_view key);
struct Place {
  std::string_view keyspace;            // as OpenKeyspace takes it
  std::optional<std::string_view> key;  // nullopt: the keyspace itself
};
Place PlaceOf(std::string_view key);
inline constexpr char kIsThere[] = "is there";  // the value of the entry of a keyspace

// The entries of this keyspace have a time, because they expire after more years than a job takes.
inline constexpr char kTimedKeyspace[] = "timed";

// An effect of a write on one key or on a range of keys.
struct Effect {
  std::string key;                   // the first one, if it is a range
  std::optional<std::string> value;  // nullopt: deletes
  // Deletes all keys of a keyspace from `key` on, up to `to` without `to` itself.
  bool is_range = false;
  // nullopt: the range ends with the last key of its keyspace.
  std::optional<std::string> to = std::nullopt;
};
Effect DeletesRange(std::string from, std::optional<std::string> to);

// The effects of a write, in order.
using Commit = std::vector<Effect>;
using Contents = std::map<std::string, std::string>;

void Apply(const Commit& commit, Contents* contents);
// Leaves out effects in keyspaces that do not exist, creations of others and drops of these.  Empty
// if nothing is left.
Commit PossibleIn(const Contents& contents, Commit commit);
absl::Status WriteCommit(lsm::DB& db, const Commit& commit, bool sync);
std::string TextOf(const Commit& commit);

// All that iterators show.  InternalError if they do not show it in order.
absl::StatusOr<Contents> ReadStore(lsm::DB& db, bool backward = false);
// The same in `shown`, which also has what iterators show before they fail.
absl::Status ReadStore(lsm::DB& db, bool backward, Contents* shown);
// The keys of one keyspace, as its iterators show them.
Contents KeysOf(const Contents& contents, std::string_view keyspace);
// The value that the store has at a key of Contents; nullopt: none.
absl::StatusOr<std::optional<std::string>> LookUp(lsm::DB& db, std::string_view key);
// True if the store has the keyspace.
absl::StatusOr<bool> HasKeyspace(lsm::DB& db, std::string_view name);

struct Step {
  enum Kind : uint8_t {
    kWrite,
    kFlush,
    kCompact,
    kBackground,  // waits for what is due
    kReopen,      // closes the store and opens it
    kKill,        // the process ends as by SIGKILL; another one opens the store
    kCopy,        // a checkpoint, a backup or a restored store (copies.h)
    kVerify,      // DB::Verify, which finds nothing
  };
  Kind kind = kWrite;
  Commit commit;      // kWrite
  bool sync = false;  // kWrite
  // kCompact.  If this keyspace does not exist, "default" is compacted instead.
  std::string keyspace = {};

  // True if, once this step has succeeded, it and everything before it must survive a crash.
  bool MakesDurable() const { return sync || kind == kFlush || kind == kCompact; }
};
const char* NameOf(Step::Kind kind);
// Makes the one call of a kWrite, kFlush, kCompact or kBackground step.  InternalError for other
// kinds.
absl::Status Carry(const Step& step, lsm::DB& db);
std::string TextOf(const std::vector<Step>& steps);

struct WorkloadShape {
  size_t steps = 60;
  size_t keys = 10;
  size_t value_bytes = 40;       // the limit for most values
  size_t large_value_bytes = 0;  // the limit for one value in twelve
  bool copies = false;           // some steps are kCopy or kVerify
  bool wide = false;             // begins with several tables that a newer one overlaps
  bool ranges = false;           // some writes delete a range of keys
  bool keyspaces = false;        // some writes create or drop a keyspace, and others go to several
};

// No two writes leave the same contents, because each writes its number to the key "last".  The
// first step opens the store.
std::vector<Step> MakeWorkload(uint64_t seed, const WorkloadShape& shape);

// The commits in order, and the digest of the contents after each of them.
class History {
 public:
  History();
  void Add(const Commit& commit);
  size_t size() const { return digests_.size() - 1; }  // in commits
  // The largest number of commits after which the contents have this digest.  (There are two only
  // if a keyspace is created and dropped, and no write between these succeeds.)
  std::optional<size_t> CountOf(uint64_t contents_digest) const;
  // After `count` commits.
  uint64_t DigestAfter(size_t count) const { return digests_[count]; }
  const Contents& contents() const { return contents_; }
  const std::set<std::string>& keys() const { return keys_; }
  // Removes the commits from number `count` on.
  void Truncate(size_t count);

 private:
  std::vector<Commit> commits_;
  std::vector<uint64_t> digests_;  // of the contents after 0, 1, … commits
  std::unordered_map<uint64_t, size_t> counts_;
  Contents contents_;
  std::set<std::string> keys_;
};

// A digest of entries that does not depend on their order.
class ContentsDigest {
 public:
  void Add(std::string_view key, std::string_view value);
  uint64_t value() const { return sum_; }

 private:
  uint64_t sum_ = 0;
};
uint64_t DigestOf(const Contents& contents);

// Reads the whole store with iterators and with Get, and compares the two.  Returns the number of
// commits that leads to these contents, or an error that says what is wrong.
absl::StatusOr<size_t> CountCommits(lsm::DB& db, const History& history);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_WORKLOAD_H_
