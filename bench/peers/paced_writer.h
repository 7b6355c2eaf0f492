// Writes during a measurement, at the same pace for every store: a faster store must not be
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
  // Begins at once: overwrites the numbers of `order`, which are present, in a loop.
  PacedWriter(const Subject& subject, const Numbers& order, double puts_per_second);
  ~PacedWriter();
  PacedWriter(const PacedWriter&) = delete;
  PacedWriter& operator=(const PacedWriter&) = delete;

  // With fewer puts a store is not called too slow, because a busy machine's scheduler may be the
  // cause.
  static constexpr uint64_t kPutsToJudge = 1000;

  // The first error; ResourceExhausted if the store reached less than half of the pace.
  absl::Status Stop();

 private:
  absl::Status Write();

  const Subject subject_;
  const Numbers& order_;
  const double puts_per_second_;
  std::atomic<bool> stopping_{false};
  absl::Status status_;  // written by the thread; read after it is joined
  std::thread thread_;
};

}  // namespace bench::peers

#endif  // TRELLIS_BENCH_PEERS_PACED_WRITER_H_
