// The filters of the streaming experiment behind one interface: each gets row after row, and says
// which rows it has seen before.
#ifndef TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_FILTERS_H_
#define TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_FILTERS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/streams/stream.h"

namespace bench {

struct StreamFilter {
  std::string name;  // of the variant
  bool is_source;    // with the source's hash: a known-bad baseline
  uint32_t probes = 0;
  uint64_t cells = 0;
  uint64_t size_bits = 0;
  // For one row after the other: asks, answers, adds.
  std::function<void(const StreamChunk& chunk, std::span<bool> passes)> run;
  // The chance that a new row passes, and that an old one is denied (null: never), with so many
  // distinct rows in.  Of a known-bad baseline: of the same filter with a sound hash.
  std::function<double(double distinct)> passing;
  std::function<double(double distinct)> denying;
};

// Those of the experiment, all of `cells` cells and `probes` probes; the shifting ones only where
// the number of probes is even.
absl::StatusOr<std::vector<StreamFilter>> SoundStreamFilters(uint64_t cells, uint32_t probes,
                                                             uint64_t seed);
// A standard filter of more cells, for comparisons at equal memory.
absl::StatusOr<StreamFilter> StandardStreamFilter(std::string name, uint64_t cells, uint32_t probes,
                                                  uint64_t seed);
// The same as the first, with the source's hash.
std::vector<StreamFilter> SourceStreamFilters(uint64_t cells, uint32_t probes);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_FILTERS_H_
