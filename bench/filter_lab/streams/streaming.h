// Streams whose rows are queried and then added, in filters that are too small for them: the
// experiment of a public comparison of filters (the source), with sound hashes and with the
// source's hash.
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

// Given figures: the source's own program on its uniform stream of 10^8 rows with 10^8 cells and 10
// probes, compiled with -O2 on the reference machine, and its authors' published figures.
struct SourceFigures {
  double seconds = 0;
  double authors_seconds = 0;
  double wrong_share = 0;
};
inline constexpr uint64_t kSourceRows = 100'000'000;
inline constexpr uint64_t kSourceCells = 100'000'000;
// Null for a filter that the source does not have.
std::optional<SourceFigures> FiguresOfSource(const std::string& filter);

// Cumulative from the first row on.
struct StreamTenth {
  uint64_t rows = 0;
  uint64_t distinct = 0;
  uint64_t false_positives = 0;    // new rows reported as seen
  uint64_t false_negatives = 0;    // seen rows reported as new; spatial filters only
  std::optional<double> expected;  // wrong answers in theory, both kinds

  // The share of wrong answers among all rows so far.
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
  // Theory for the source's full experiment, independent of the rows measured here: the share of
  // its rows that this filter, with a sound hash, answers wrongly.  Uniform stream only.
  std::optional<double> theory_of_source = std::nullopt;
  double filter_seconds =
      0;                   // querying and adding, without digests; a baseline's own hash included
  double row_seconds = 0;  // drawing the rows, their texts, their digests

  const StreamTenth& all() const { return tenths.back(); }
  // Per row, everything included.
  double nanos() const {
    return 1e9 * (filter_seconds + row_seconds) / static_cast<double>(all().rows);
  }
  // How many times faster a row is than in the source's program.  Null if the source has no figure:
  // for other streams than the uniform one, for baselines, for other probes than 10 or other cells
  // than 10^8.
  std::optional<double> times_faster() const;
};

struct StreamingResults {
  std::vector<StreamRun> runs;  // by distribution
  // True if rows and cells are those of the source's full experiment.
  bool is_full = false;
};

struct StreamSize {
  uint64_t rows;
  uint64_t cells;
};
StreamSize StreamSizeOf(const LabConfig& config);

// Runs all filters over one stream; `rows` is a multiple of 10.
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
