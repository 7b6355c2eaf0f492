#include "bench/filter_lab/streams/streaming.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "bench/filter_lab/stopwatch.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

constexpr uint32_t kProbes = 10;

// The mean of a smooth function over [from, to].
double MeanOver(const std::function<double(double)>& f, double from, double to) {
  constexpr int kParts = 8;  // Simpson's rule
  double sum = f(from) + f(to);
  for (int i = 1; i < kParts; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(from + (to - from) * i / kParts);
  return sum / (3 * kParts);
}

// The expected number of wrong answers for a chunk's rows.
std::optional<double> ExpectedWrong(const StreamFilter& filter, const StreamChunk& chunk) {
  if (filter.passing == nullptr) return std::nullopt;
  const auto from = static_cast<double>(chunk.distinct_before);
  const auto to = static_cast<double>(chunk.distinct_after);
  double expected = (to - from) * MeanOver(filter.passing, from, to);
  if (filter.denying != nullptr) {
    const double old = static_cast<double>(chunk.size()) - (to - from);
    expected += old * MeanOver(filter.denying, from, to);
  }
  return expected;
}

// The source's uniform stream has as many possible values v as rows and cells.  The value of a row
// follows from the state of a generator.  The generator visits all s = 2^31 - 2 states before it
// repeats one, so the s / v states of each value are drawn without replacement.  After a share t of
// the rows, u = 1 - t v / s of the states are left.  Then u^(s / v) of the values have not occurred
// yet; with replacement it would be e^-t.  A row is new with probability u^(s / v) / u.  Returns
// the mean over t.
double TheoryOfSource(const StreamFilter& filter) {
  constexpr double kStatesPerValue = 2147483646.0 / static_cast<double>(kSourceRows);
  const auto wrong_at = [&filter](double t) {
    const double left = 1 - t / kStatesPerValue;
    const double is_new = std::pow(left, kStatesPerValue - 1);
    const double distinct = (1 - left * is_new) * static_cast<double>(filter.cells);
    return is_new * filter.passing(distinct) +
           (filter.denying == nullptr ? 0 : (1 - is_new) * filter.denying(distinct));
  };
  constexpr int kParts = 100;
  double sum = 0;
  for (int i = 0; i < kParts; ++i)
    sum += MeanOver(wrong_at, static_cast<double>(i) / kParts, (i + 1.0) / kParts);
  return sum / kParts;
}

void Count(const StreamChunk& chunk, std::span<const bool> passes, StreamTenth* so_far) {
  for (size_t i = 0; i < chunk.size(); ++i) {
    so_far->false_positives += passes[i] && chunk.seen[i] == 0;
    so_far->false_negatives += !passes[i] && chunk.seen[i] != 0;
  }
  so_far->rows += chunk.size();
  so_far->distinct = chunk.distinct_after;
}

}  // namespace

StreamSize StreamSizeOf(const LabConfig& config) {
  // The tenth of the stream that the usual run measures is the beginning of the whole stream, with
  // the same filters.  It ends where they hold the planned number of keys.
  return config.Choose<StreamSize>({50'000, 250'000}, {10'000'000, kSourceCells},
                                   {kSourceRows, kSourceCells});
}

std::optional<SourceFigures> FiguresOfSource(const std::string& filter) {
  if (filter == "standard") return SourceFigures{21.4, 105, 0.3731};
  if (filter == "shifting") return SourceFigures{17.1, 59, 0.3667};
  if (filter == "shifting-double") return SourceFigures{38.8, 75, 0.1496};
  if (filter == "spatial") return SourceFigures{96.9, 171, 0.1652};
  return std::nullopt;
}

std::optional<double> StreamRun::times_faster() const {
  const std::optional<SourceFigures> figures = FiguresOfSource(filter);
  if (!figures.has_value() || is_source || distribution != Distribution::kUniform ||
      probes != kProbes || cells != kSourceCells)
    return std::nullopt;
  return 1e9 * figures->seconds / static_cast<double>(kSourceRows) / nanos();
}

std::vector<StreamRun> RunStream(Distribution distribution, uint64_t rows, uint64_t seed,
                                 std::vector<StreamFilter> filters) {
  // Enough rows that filling the caches again takes only a small part of a filter's turn.  The
  // number divides a tenth of the stream.
  constexpr uint64_t kChunkRows = 1'000'000;
  const uint64_t tenth = rows / 10;
  const uint64_t chunk_rows = tenth / ((tenth + kChunkRows - 1) / kChunkRows);
  std::vector<StreamRun> runs;
  for (const StreamFilter& filter : filters) {
    runs.push_back({.distribution = distribution,
                    .filter = filter.name,
                    .is_source = filter.is_source,
                    .probes = filter.probes,
                    .cells = filter.cells,
                    .size_bits = filter.size_bits,
                    .tenths = std::vector<StreamTenth>(1)});
    if (filter.passing == nullptr) continue;
    runs.back().tenths[0].expected = 0;
    if (distribution == Distribution::kUniform && !filter.is_source)
      runs.back().theory_of_source = TheoryOfSource(filter);
  }
  RowStream stream(distribution, seed);
  const std::unique_ptr<bool[]> buffer(new bool[chunk_rows]);
  for (uint64_t done = 0; done < rows;) {
    const size_t size = std::min(chunk_rows, tenth - done % tenth);
    const StreamChunk& chunk = stream.Next(size);
    const std::span<bool> passes(buffer.get(), size);
    done += size;
    for (size_t i = 0; i < filters.size(); ++i) {
      StreamRun& run = runs[i];
      {
        const Timed timed(&run.filter_seconds);
        filters[i].run(chunk, passes);
      }
      Count(chunk, passes, &run.tenths.back());
      if (const auto expected = ExpectedWrong(filters[i], chunk); expected.has_value())
        *run.tenths.back().expected += *expected;
      if (done % tenth == 0 && done < rows) run.tenths.push_back(run.tenths.back());
    }
  }
  for (StreamRun& run : runs) {
    run.row_seconds = stream.seconds().draw + (run.is_source ? 0 : stream.seconds().hash);
  }
  return runs;
}

double StreamingSeconds(const LabConfig& config) { return config.Choose(0.3, 70.0, 700.0); }

absl::StatusOr<StreamingResults> RunStreaming(const LabConfig& config, Steps steps) {
  const StreamSize size = StreamSizeOf(config);
  StreamingResults results;
  results.is_full = size.rows == kSourceRows;
  steps.Plan(std::size(kDistributions));
  for (const Distribution distribution : kDistributions) {
    TRELLIS_RETURN_IF_ERROR(steps.Begin(lsm::Concat("stream: ", NameOf(distribution))));
    TRELLIS_ASSIGN_OR_RETURN(std::vector<StreamFilter> filters,
                             SoundStreamFilters(size.cells, kProbes, config.seed));
    if (distribution == Distribution::kUniform) {
      TRELLIS_ASSIGN_OR_RETURN(
          StreamFilter larger,
          StandardStreamFilter("standard, 2 m", 2 * size.cells, kProbes, config.seed));
      filters.push_back(std::move(larger));
      for (StreamFilter& filter : SourceStreamFilters(size.cells, kProbes))
        filters.push_back(std::move(filter));
    }
    for (StreamRun& run : RunStream(distribution, size.rows, config.seed, std::move(filters)))
      results.runs.push_back(std::move(run));
    steps.Done();
  }
  return results;
}

}  // namespace bench
