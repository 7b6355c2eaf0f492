// Workloads that delete: what a delete costs, and what it leaves.  N is the number of keys of the
// settings, 1 million by default; values have 100 bytes.
//
//   delete all               N keys; then each, in random order
//   delete 10M               the same with 10 N keys
//   large values deleted     256 values of N to 16 N bytes; then each
//   queue, 1k alive          append at one end, pop at the other: iterator, seek, delete
//   queue, 1M alive          the same with N keys alive
//   sliding window           N keys alive; append, and delete the oldest by its key, 4 N times
//   seek past deletes        2 N keys, the half in the middle deleted; then idle until 60 % of the
//                            bytes are left
//   ... held by a snapshot   the same with a snapshot taken before the deletes, and without idling
//   delete a range           20 N keys; then 90 % of them, by one call
//   seek past a range        2 N keys, the half in the middle deleted by one call
//   get beside 10k ranges    2 N keys; then 10,000 ranges of 10 keys each
//
// The last three need range deletes, which LevelDB lacks.
//
// After deletes of everything the store gets nothing to do for an idle time, while its directory is
// measured twice a second.  Trellis's file RESERVE, which keeps room for a full disk, does not
// count.
#ifndef TRELLIS_BENCH_PEERS_DELETIONS_H_
#define TRELLIS_BENCH_PEERS_DELETIONS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/peers/peer.h"

namespace bench::peers {

enum class Deletion : uint8_t {
  kAll,
  kAllOfMany,
  kLargeValues,
  kShortQueue,
  kLongQueue,
  kWindow,
  kSeek,
  kSeekHeld,
  kRange,
  kSeekRange,
  kGetBesideRanges,
};

struct DeletionInfo {
  Deletion deletion;
  const char* name;
  bool is_by_default;

  bool needs_ranges() const { return deletion >= Deletion::kRange; }
};

// In the order of measurement.
inline constexpr std::array kDeletions = {
    DeletionInfo{Deletion::kAll, "delete all", true},
    DeletionInfo{Deletion::kAllOfMany, "delete 10M", false},
    DeletionInfo{Deletion::kLargeValues, "large values deleted", true},
    DeletionInfo{Deletion::kShortQueue, "queue, 1k alive", true},
    DeletionInfo{Deletion::kLongQueue, "queue, 1M alive", true},
    DeletionInfo{Deletion::kWindow, "sliding window", true},
    DeletionInfo{Deletion::kSeek, "seek past deletes", true},
    DeletionInfo{Deletion::kSeekHeld, "seek past deletes, held by a snapshot", true},
    DeletionInfo{Deletion::kRange, "delete a range", true},
    DeletionInfo{Deletion::kSeekRange, "seek past a range", true},
    DeletionInfo{Deletion::kGetBesideRanges, "get beside 10k ranges", true},
};

struct DeletionSettings {
  uint64_t keys = 1'000'000;
  double idle_seconds = 60;
  double queue_seconds = 15;  // a queue ends after this time, or after 4 pops of each key
};

// One figure of a workload.
struct DeletionFigure {
  const char* name = "";             // "us/get"
  double value = 0;                  // infinity: did not happen
  std::optional<double> goal;        // the first store's value may be at most this
  std::optional<double> share_goal;  // and at most this part of the best other store's
};

// Runs the workload on a new store in `directory`, and closes the store.  `tick` is called about
// once a second at least; an error that it returns ends the run.
absl::StatusOr<std::vector<DeletionFigure>> MeasureDeletion(
    Deletion deletion, const DeletionSettings& settings, const PeerSettings& peer_settings,
    uint64_t seed, const std::string& directory, Peer* peer,
    const std::function<absl::Status()>& tick);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_DELETIONS_H_
