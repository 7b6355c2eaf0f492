// Streams whose rows are asked for and then added, in filters that are too small for them: the
// experiment of a public comparison of filters, with sound hashes, and with its own.
#ifndef TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAMING_H_
#define TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAMING_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/filter_lab/config.h"
#include "bench/filter_lab/rate.h"
#include "bench/filter_lab/steps.h"
#include "bench/filter_lab/streams/stream.h"
#include "bench/filter_lab/streams/stream_filters.h"
#include "bench/report/page.h"

namespace bench {

// Given facts: what the source's own program did on the uniform stream of 10^8 rows with 10^8 cells
// and 10 probes, compiled with -O2 on the reference machine, and what its authors saw on theirs.
struct SourceFigures {
  double seconds = 0;
  double authors_seconds = 0;
  double wrong_share = 0;
};
inline constexpr uint64_t kSourceRows = 100'000'000;
inline constexpr uint64_t kSourceCells = 100'000'000;
// Null for a filter that it does not have.
std::optional<SourceFigures> FiguresOfSource(const std::string& filter);

// From the first row on.
struct StreamTenth {
  uint64_t rows = 0;
  uint64_t distinct = 0;
  uint64_t false_positives = 0;    // new, and said to be there
  uint64_t false_negatives = 0;    // there, and said to be new: spatial filters alone
  std::optional<double> expected;  // both together, by theory

  // Of all rows so far, the share that was answered wrongly.
  Rate wrong() const { return {false_positives + false_negatives, rows, predicted()}; }
  std::optional<double> predicted() const {
    if (!expected.has_value()) return std::nullopt;
    return *expected / static_cast<double>(rows);
  }
};

struct StreamRun {
  Distribution distribution = Distribution::kUniform;
  std::string filter;
  bool is_source = false;
  uint32_t probes = 0;
  uint64_t cells = 0;
  uint64_t size_bits = 0;
  std::vector<StreamTenth> tenths;
  // What theory says of the source's experiment in full, however many rows there were here: the
  // share of its rows that this filter, with a sound hash, answers wrongly.  Of the uniform stream.
  std::optional<double> theory_of_source = std::nullopt;
  double filter_seconds = 0;  // asking and adding, digests given; a baseline's own hash included
  double row_seconds = 0;     // drawing the rows, their text, their digests

  const StreamTenth& all() const { return tenths.back(); }
  // Of one row, all included.
  double nanos() const {
    return 1e9 * (filter_seconds + row_seconds) / static_cast<double>(all().rows);
  }
  // By how much all of it is quicker than the source's program, row by row.  Null where that is
  // not known: for other streams than the uniform one, for baselines, for other probes than 10 or
  // other cells than 10^8.
  std::optional<double> times_faster() const;
};

struct StreamingResults {
  std::vector<StreamRun> runs;  // by distribution
  // Whether it is the source's experiment in full: as many rows and cells.
  bool is_full = false;
};

struct StreamSize {
  uint64_t rows;
  uint64_t cells;
};
StreamSize StreamSizeOf(const LabConfig& config);

// All filters over one stream; `rows` is a multiple of 10.
std::vector<StreamRun> RunStream(Distribution distribution, uint64_t rows, uint64_t seed,
                                 std::vector<StreamFilter> filters);

nlohmann::ordered_json ToJson(const StreamRun& run);

double StreamingSeconds(const LabConfig& config);
absl::StatusOr<StreamingResults> RunStreaming(const LabConfig& config, Steps steps);
nlohmann::ordered_json ToJson(const StreamingResults& results);
std::vector<Section> SectionsOf(const StreamingResults& results);
// "streams" and "stream-times", for bench/README.md.
std::vector<std::pair<std::string, std::vector<Table>>> ExcerptsOf(const StreamingResults& results);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_STREAMS_STREAMING_H_
