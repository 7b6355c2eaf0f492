// The parts of keyspaces_bench.  Each makes its stores in the run's directory and removes them.
// Each returns Cancelled soon after the run was interrupted.  All but `many` also measure RocksDB,
// if the options say so.
#ifndef TRELLIS_BENCH_KEYSPACES_PARTS_H_
#define TRELLIS_BENCH_KEYSPACES_PARTS_H_

#include "absl/status/statusor.h"
#include "bench/experiment/figures.h"
#include "bench/experiment/progress.h"
#include "bench/keyspaces/config.h"

namespace bench::keyspaces {

// The time of openings, and the heap that a keyspace takes.  A store with the same entries in
// "default" is subtracted.
absl::StatusOr<Part> MeasureOpen(const Config& config, Progress* progress);
// The most bytes of logs while one keyspace is written all the time, and the others rarely.
absl::StatusOr<Part> MeasureCold(const Config& config, Progress* progress);
// Puts and reads of one keyspace, alone in its store and beside cold ones, and of "default".
absl::StatusOr<Part> MeasureSpeed(const Config& config, Progress* progress);
// The drop of one large keyspace.
absl::StatusOr<Part> MeasureDrop(const Config& config, Progress* progress);
// Tables and bytes written, with many keyspaces.
absl::StatusOr<Part> MeasureMany(const Config& config, Progress* progress);

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_PARTS_H_
