// The loop of one thread over a store in one workload, some operations at a time, with every answer
// checked.
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

// The orders from which all loops over stores of one size draw.
struct Orders {
  Numbers random;   // all, each once
  Numbers zipfian;  // draws
};

// Threads: one.
class Loop {
 public:
  virtual ~Loop() = default;

  // Makes some operations, and returns how many.  0: all are done.
  virtual absl::StatusOr<uint64_t> Step() = 0;
};

// The place in the orders where a loop begins: in one round all stores begin at the same place.
struct Start {
  uint64_t seed = 1;
  int thread = 0;
};

// The store that a loop works on.  `reader` and `contents` belong to the store.
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
// The same so many times over, with the nanoseconds of each put.  What it wrote, it tells the
// subject's contents.
std::unique_ptr<Loop> NewTimedPutLoop(const Subject& subject, const Numbers& order, int passes,
                                      Histogram* nanos);
// Deletes the numbers of `order` whose remainder by `parts` is `part`.
std::unique_ptr<Loop> NewDeleteLoop(const Subject& subject, const Numbers& order, uint64_t parts,
                                    uint64_t part);

// Gets while another thread writes; checks that values are none but those that may be there.
std::unique_ptr<Loop> NewGetBesideWriterLoop(const Subject& subject, const Orders& orders,
                                             const Start& start);

// YCSB's core workload of that letter, `operations` of it:
//   A half reads, half updates     B 95 % reads, 5 % updates      C reads
//   D 95 % reads of what is new, 5 % inserts     E 95 % scans, 5 % inserts
//   F half reads, half read-modify-write
// An update writes the whole value.
std::unique_ptr<Loop> NewYcsbLoop(char letter, const Subject& subject, const Orders& orders,
                                  const Start& start, uint64_t operations);

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_LOOPS_H_
