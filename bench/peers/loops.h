// One thread's loop over a store in one workload.  Each step makes some operations and checks every
// answer.
#ifndef TRELLIS_BENCH_PEERS_LOOPS_H_
#define TRELLIS_BENCH_PEERS_LOOPS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/peers/cell.h"
#include "bench/peers/data_set.h"
#include "bench/peers/peer.h"
#include "lsm/histogram.h"

namespace bench::peers {

// Nanoseconds; buckets are less than 0.8 % wide.
using Histogram = lsm::BasicHistogram<7>;

// The orders that all loops over stores of one size use.
struct Orders {
  Numbers random;   // each number once
  Numbers zipfian;  // draws
};

// Threads: one.
class Loop {
 public:
  virtual ~Loop() = default;

  // Makes some operations and returns how many.  0: all are done.
  virtual absl::StatusOr<uint64_t> Step() = 0;
};

// The place in the orders where a loop begins.  In one round all stores begin at the same place.
struct Start {
  uint64_t seed = 1;
  int thread = 0;
};

// The store that a loop uses.  `reader` and `contents` belong to it.
struct Subject {
  Peer* peer;
  Reader* reader;
  Contents* contents;
};

inline constexpr uint64_t kGroup = 64;  // operations between two readings of the clock
inline constexpr size_t kMultiGetKeys = 64;
inline constexpr int kNexts = 10;         // after a seek
inline constexpr int kYcsbScanMax = 100;  // keys; uniform from 1 (workload E)

// For tasks that read.
std::unique_ptr<Loop> NewReadLoop(const TaskInfo& task, const Subject& subject,
                                  const Orders& orders, const Start& start);

// Writes each number of `order` once: new ones, or once more.
std::unique_ptr<Loop> NewPutLoop(const Subject& subject, const Numbers& order);
// The same, `passes` times, recording the nanoseconds of each put.  Updates the subject's contents.
std::unique_ptr<Loop> NewTimedPutLoop(const Subject& subject, const Numbers& order, int passes,
                                      Histogram* nanos);
// Deletes the numbers of `order` that leave remainder `part` when divided by `parts`.
std::unique_ptr<Loop> NewDeleteLoop(const Subject& subject, const Numbers& order, uint64_t parts,
                                    uint64_t part);

// Gets while another thread writes; checks that each value is one that may be in the store.
std::unique_ptr<Loop> NewGetBesideWriterLoop(const Subject& subject, const Orders& orders,
                                             const Start& start);

// `operations` operations of YCSB's core workload with that letter:
//   A half reads, half updates     B 95 % reads, 5 % updates      C reads
//   D 95 % reads of recent keys, 5 % inserts     E 95 % scans, 5 % inserts
//   F half reads, half read-modify-write
// An update writes the whole value.
std::unique_ptr<Loop> NewYcsbLoop(char letter, const Subject& subject, const Orders& orders,
                                  const Start& start, uint64_t operations);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_LOOPS_H_
