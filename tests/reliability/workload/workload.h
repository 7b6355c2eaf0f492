// The workloads that jobs run on a store, and the history that the store's contents must match.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_WORKLOAD_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/db.h"

namespace reliability {

// An effect of a write on one key or on a range of keys.
struct Effect {
  std::string key;                   // the first one, if it is a range
  std::optional<std::string> value;  // nullopt: deletes
  // Deletes all keys from `key` on, up to `to` without `to` itself.
  bool is_range = false;
  std::optional<std::string> to = std::nullopt;  // nullopt: the range has no end
};
Effect DeletesRange(std::string from, std::optional<std::string> to);

// The effects of a write, in order.
using Commit = std::vector<Effect>;
using Contents = std::map<std::string, std::string>;

void Apply(const Commit& commit, Contents* contents);
absl::Status WriteCommit(lsm::DB& db, const Commit& commit, bool sync);
std::string TextOf(const Commit& commit);

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
  // The number of commits after which the contents have this digest.
  std::optional<size_t> CountOf(uint64_t contents_digest) const;
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

// Reads the whole store with an iterator and with Get, and compares the two.  Returns the number of
// commits that leads to these contents, or an error that says what is wrong.
absl::StatusOr<size_t> CountCommits(lsm::DB& db, const History& history);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_WORKLOAD_H_
