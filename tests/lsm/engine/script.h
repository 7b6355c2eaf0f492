// A scripted workload for tests of crashes and failing calls, and the ledger in which it notes what
// the store has promised so far.
#ifndef TRELLIS_TESTS_LSM_ENGINE_SCRIPT_H_
#define TRELLIS_TESTS_LSM_ENGINE_SCRIPT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"

namespace lsm {

// What a write does to each of its keys; no value: it is deleted.
using Commit = std::vector<std::pair<std::string, std::optional<std::string>>>;

struct Step {
  enum Kind { kWrite, kFlush, kCompact, kBackground, kReopen } kind = kWrite;
  Commit commit;      // kWrite
  bool sync = false;  // kWrite
};

// Puts, deletes and batches, synced or not, around flushes, compactions, logs that are full before
// the one before is flushed, and reopenings.  Every write leaves contents that no other leaves.
std::vector<Step> MakeScript(uint64_t seed, size_t steps);

// The options with which scripts run: a tree of several levels out of little data.  With
// `logs_apart` the logs have a directory of their own, so that no sync of the tables' names saves
// theirs.
Options ScriptOptions(World& world, bool logs_apart = false);

void Apply(const Commit& commit, Contents* contents);

// What the store has been asked and has promised, in numbers of commits.
struct Ledger {
  std::vector<Commit> commits;  // those that were tried, in order
  size_t acknowledged = 0;      // Write returned OK for that many
  size_t durable = 0;           // and these survive a crash of the machine

  // The number of commits that `contents` is the outcome of, if it is one from `least` on.
  std::optional<size_t> Match(const Contents& contents, size_t least) const;

  // All that the commits touch.
  std::set<std::string> Keys() const;
};

// Runs steps until one fails, as after a crash of the machine.
class ScriptRunner {
 public:
  ScriptRunner(World* world, Options options) : world_(world), options_(std::move(options)) {}

  // False if a step failed; then no later one is made.
  bool Run(const std::vector<Step>& steps);

  // Ends the process: closes the store.
  void Close();

  const Ledger& ledger() const { return ledger_; }

 private:
  absl::Status Make(const Step& step);
  absl::Status Open();

  World* const world_;
  const Options options_;
  std::unique_ptr<DB> db_;
  Ledger ledger_;
};

absl::Status WriteCommit(DB& db, const Commit& commit, bool sync);

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_SCRIPT_H_
