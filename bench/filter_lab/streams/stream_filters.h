// The filters of the streaming experiment behind one interface.  Each receives row after row and
// says which rows it has seen before.
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
  // For each row in order: queries, answers, adds.
  std::function<void(const StreamChunk& chunk, std::span<bool> passes)> run;
  // With `distinct` distinct rows in the filter: the probability that a new row passes, and that an
  // old row is denied (null: never).  For a known-bad baseline: that of the same filter with a
  // sound hash.
  std::function<double(double distinct)> passing;
  std::function<double(double distinct)> denying;
};

// The filters of the experiment, all with `cells` cells and `probes` probes; shifting filters only
// if the number of probes is even.
absl::StatusOr<std::vector<StreamFilter>> SoundStreamFilters(uint64_t cells, uint32_t probes,
                                                             uint64_t seed);
// A standard filter of more cells, for comparisons at equal memory.
absl::StatusOr<StreamFilter> StandardStreamFilter(std::string name, uint64_t cells, uint32_t probes,
                                                  uint64_t seed);
// The filters of SoundStreamFilters with the source's hash.
std::vector<StreamFilter> SourceStreamFilters(uint64_t cells, uint32_t probes);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAM_FILTERS_H_
