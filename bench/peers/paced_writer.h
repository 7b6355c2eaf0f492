// Writes beside a measurement, at the same pace whatever the store: a faster one is not to be
// punished by more writes.
#ifndef TRELLIS_BENCH_PEERS_PACED_WRITER_H_
#define TRELLIS_BENCH_PEERS_PACED_WRITER_H_

#include <atomic>
#include <cstdint>
#include <thread>

#include "absl/status/status.h"
#include "bench/peers/data_set.h"
#include "bench/peers/loops.h"

namespace bench::peers {

class PacedWriter {
 public:
  // Begins at once: overwrites the numbers of `order`, which are there, over and over.
  PacedWriter(const Subject& subject, const Numbers& order, double puts_per_second);
  ~PacedWriter();
  PacedWriter(const PacedWriter&) = delete;
  PacedWriter& operator=(const PacedWriter&) = delete;

  // Of fewer puts it is not said that a store is too slow: the scheduler of a busy machine may be.
  static constexpr uint64_t kPutsToJudge = 1000;

  // The first error; ResourceExhausted if the store could not keep the pace by half.
  absl::Status Stop();

 private:
  absl::Status Write();

  const Subject subject_;
  const Numbers& order_;
  const double puts_per_second_;
  std::atomic<bool> stopping_{false};
  absl::Status status_;  // of the thread, until it is joined
  std::thread thread_;
};

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_PACED_WRITER_H_
