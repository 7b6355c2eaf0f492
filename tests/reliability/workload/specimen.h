// A small store that jobs damage.  The seed selects one of several forms.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_

#include <cstddef>
#include <cstdint>
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

  // `has_ranges`: with range deletes in level 0 and in a log.  `has_keyspaces`: some keys are in a
  // keyspace whose entries have times, and a log has a drop.
  explicit Specimen(uint64_t seed, bool has_ranges = false, bool has_keyspaces = false)
      : seed_(seed),
        closed_(seed % 2 == 0),
        lz4_(seed / 2 % 2 == 0),
        logs_apart_(seed / 4 % 2),
        has_runs_(seed % 3 == 1),
        has_ranges_(has_ranges),
        has_keyspaces_(has_keyspaces) {}

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
  bool has_ranges() const { return has_ranges_; }

 private:
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
