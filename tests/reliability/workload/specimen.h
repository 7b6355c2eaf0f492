// A small store that jobs damage.  The seed selects one of several forms.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/disk.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

// This many successive seeds make stores of all forms.
inline constexpr uint64_t kStoreForms = 8;

// A store and its expected contents.
class Specimen {
 public:
  static constexpr char kPath[] = "/store";
  static constexpr char kLogsPath[] = "/logs";

  // A third of the seeds make a store with range deletes, in level 0 and in a log.  Another third
  // makes one with these keyspaces, and with range deletes in the first two:
  //
  //   timed     in the common tree; its entries have times, and a log changes its options
  //   own       a tree of its own, and entries in the common tree that it has left there
  //   gone      was dropped, but its entries are in the common tree
  //   dropped   the same; only a log has the drop
  //   again     a log has a drop, and then another keyspace of this name
  explicit Specimen(uint64_t seed)
      : seed_(seed),
        closed_(seed % 2 == 0),
        lz4_(seed / 2 % 2 == 0),
        logs_apart_(seed / 4 % 2),
        has_runs_(seed % 3 == 1),
        has_ranges_(seed % 3 == 2),
        has_keyspaces_(seed % 3 == 0) {}

  // Makes the store: tables in level 1 (one run or two), tables in level 0, and two logs with
  // writes, all synced.  Returns what went wrong, or an empty string.
  std::string Make();

  lsm::Options OptionsOn(lsm::World& world) const;

  static std::string Key(int i) { return lsm::Concat("key number ", 100 + i); }
  // All that it may hold besides "last", and some keys next to these.
  std::vector<std::string> KeysToLookUp() const;

  const Image& image() const { return image_; }
  const Contents& contents() const { return contents_; }
  const History& history() const { return history_; }
  size_t in_tables() const { return in_tables_; }
  bool closed() const { return closed_; }
  bool has_keyspaces() const { return has_keyspaces_; }
  // No read needs a block whose keys are all deleted by a range, or are of no keyspace any more.
  bool has_dead_blocks() const { return has_ranges_ || has_keyspaces_; }

 private:
  // Makes the store with its keyspaces, closed.
  absl::Status MakeKeyspaces(lsm::World& world, const lsm::Options& options);
  // Drops and changes keyspaces in a log.
  void ChangeKeyspaces(lsm::DB& db, absl::Status* status);
  // Deletes the keys of a range in each keyspace that has range deletes.
  void Remove(lsm::DB& db, int from, std::optional<int> to, absl::Status* status);
  void Write(lsm::DB& db, const Commit& commit, absl::Status* status);
  // Writes a record of several sectors, no two of them equal.
  void WriteLong(lsm::DB& db, absl::Status* status);

  const uint64_t seed_;
  const bool closed_, lz4_, logs_apart_, has_runs_, has_ranges_, has_keyspaces_;
  Image image_;
  Contents contents_;
  History history_;
  size_t in_tables_ = 0;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_
