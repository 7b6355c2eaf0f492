// A small store of one of several forms, which jobs damage.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/reliability/faults/disk.h"
#include "tests/reliability/workload/workload.h"

namespace reliability {

// Seeds that follow one another make stores of all forms.
inline constexpr uint64_t kStoreForms = 8;

// A store, and what it holds.
class Specimen {
 public:
  static constexpr char kPath[] = "/store";
  static constexpr char kLogsPath[] = "/logs";

  explicit Specimen(uint64_t seed)
      : seed_(seed),
        closed_(seed % 2 == 0),
        lz4_(seed / 2 % 2 == 0),
        logs_apart_(seed / 4 % 2),
        has_runs_(seed % 3 == 1) {}

  // The finding, or empty.  Makes tables in level 1, of one or of two runs, and in level 0, and two
  // logs with writes, all synced.
  std::string Make();

  lsm::Options OptionsOn(lsm::World& world) const;

  static std::string Key(int i) { return lsm::Concat("key number ", 100 + i); }

  const Image& image() const { return image_; }
  const Contents& contents() const { return contents_; }
  const History& history() const { return history_; }
  size_t in_tables() const { return in_tables_; }
  bool closed() const { return closed_; }

 private:
  // A record of several sectors, no two of them alike.
  void WriteLong(lsm::DB& db, absl::Status* status);

  const uint64_t seed_;
  const bool closed_, lz4_, logs_apart_, has_runs_;
  Image image_;
  Contents contents_;
  History history_;
  size_t in_tables_ = 0;
};

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_SPECIMEN_H_
