#include "bench/filter_lab/streams/stream_filters.h"

#include <memory>
#include <utility>

#include "bench/filter_lab/streams/source_filters.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/filter.h"
#include "bloom/literature/shifting_double.h"
#include "bloom/literature/spatial.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/standard.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

constexpr double kAnyFpp = 0.01;  // stored with a filter whose shape was chosen

// With more areas, keys of one area pass less often (B(N) / s) but are denied more often, up to the
// mean of B over [0, N].  In the source's full experiment the first is less than a percent of the
// second from some hundred areas on.  A label of 255 areas still fits a byte.
constexpr uint32_t kStreamAreas = 255;

uint64_t Whole(double count) { return static_cast<uint64_t>(count + 0.5); }

// A filter that adds absent digests, a whole chunk at a time.
template <class Layout>
absl::StatusOr<StreamFilter> LayoutFilter(std::string name, uint64_t cells, uint32_t probes,
                                          uint64_t seed) {
  TRELLIS_ASSIGN_OR_RETURN(auto made,
                           bloom::Filter<Layout>::MakeOfShape({cells, probes}, kAnyFpp, seed));
  const auto filter = std::make_shared<bloom::Filter<Layout>>(std::move(made));
  StreamFilter result{std::move(name), false, probes, cells, filter->size_bits(), {}, {}, {}};
  result.run = [filter](const StreamChunk& chunk, std::span<bool> passes) {
    filter->AddDigestsIfAbsent(chunk.digests, passes);
    for (bool& pass : passes) pass = !pass;
  };
  result.passing = [filter](double distinct) { return filter->PredictedFpp(Whole(distinct)); };
  return result;
}

// A filter that is queried and extended row by row.
absl::StatusOr<StreamFilter> ShiftingDoubleStreamFilter(uint64_t cells, uint32_t probes,
                                                        uint64_t seed) {
  using Filter = bloom::ShiftingDoubleFilter;
  TRELLIS_ASSIGN_OR_RETURN(Filter made, Filter::MakeOfShape({cells, probes}, kAnyFpp, seed));
  const auto filter = std::make_shared<Filter>(std::move(made));
  StreamFilter result{std::string(Filter::kName), false, probes, cells,
                      filter->size_bits(),        {},    {},     {}};
  result.run = [filter](const StreamChunk& chunk, std::span<bool> passes) {
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (i + bloom::kAddsAhead < chunk.size())
        filter->Prefetch(chunk.digests[i + bloom::kAddsAhead]);
      passes[i] = filter->MayContainDigest(chunk.digests[i]);
      if (!passes[i]) filter->AddDigest(chunk.digests[i]);
    }
  };
  result.passing = [filter](double distinct) { return filter->PredictedFpp(Whole(distinct)); };
  return result;
}

// A row counts as seen if the area that is found is the row's own area, which follows from its
// digest.  With N rows spread over s areas, and B(n) the standard filter's rate:
//
//   a new row of area i passes with B(N_i) - B(N_(i+1)), on average over the areas B(N) / s;
//   an old row of area i is denied with B(N_(i+1)), the rate of the rows of higher areas alone.
absl::StatusOr<StreamFilter> SpatialStreamFilter(uint64_t cells, uint32_t probes, uint64_t seed) {
  using Filter = bloom::SpatialFilter;
  TRELLIS_ASSIGN_OR_RETURN(Filter made,
                           Filter::MakeOfShape({cells, probes, kStreamAreas}, kAnyFpp, seed));
  const auto filter = std::make_shared<Filter>(std::move(made));
  StreamFilter result{std::string(Filter::kName), false, probes, cells,
                      filter->size_bits(),        {},    {},     {}};
  result.run = [filter](const StreamChunk& chunk, std::span<bool> passes) {
    constexpr uint64_t kAreaSalt = 0x61726561;
    for (size_t i = 0; i < chunk.size(); ++i) {
      if (i + bloom::kAddsAhead < chunk.size())
        filter->Prefetch(chunk.digests[i + bloom::kAddsAhead]);
      const bloom::Digest digest = chunk.digests[i];
      const auto area = static_cast<uint32_t>(
          1 + bloom::ReduceRange(bloom::Remix(digest, kAreaSalt), kStreamAreas));
      const uint32_t found = filter->AreaOfDigest(digest);
      passes[i] = found == area;
      // If a higher area is found, no cell holds a lower one.
      if (found < area) (void)filter->AddDigest(digest, area);
    }
  };
  result.passing = [filter](double distinct) {
    return filter->PredictedFpp(Whole(distinct)) / kStreamAreas;
  };
  result.denying = [filter](double distinct) {
    double sum = 0;
    for (uint32_t above = 0; above < kStreamAreas; ++above)
      sum += filter->PredictedFpp(Whole(distinct * above / kStreamAreas));
    return sum / kStreamAreas;
  };
  return result;
}

template <class Source>
StreamFilter SourceFilter(std::string name, uint64_t cells, uint32_t probes, uint64_t size_bits,
                          Source source) {
  const auto filter = std::make_shared<Source>(std::move(source));
  StreamFilter result{std::move(name), true, probes, cells, size_bits, {}, {}, {}};
  result.run = [filter](const StreamChunk& chunk, std::span<bool> passes) {
    for (size_t i = 0; i < chunk.size(); ++i) passes[i] = filter->TestAndAdd(chunk.text(i));
  };
  return result;
}

}  // namespace

absl::StatusOr<StreamFilter> StandardStreamFilter(std::string name, uint64_t cells, uint32_t probes,
                                                  uint64_t seed) {
  return LayoutFilter<bloom::Standard>(std::move(name), cells, probes, seed);
}

absl::StatusOr<std::vector<StreamFilter>> SoundStreamFilters(uint64_t cells, uint32_t probes,
                                                             uint64_t seed) {
  std::vector<StreamFilter> filters;
  TRELLIS_ASSIGN_OR_RETURN(StreamFilter standard,
                           StandardStreamFilter("standard", cells, probes, seed));
  filters.push_back(std::move(standard));
  if (probes % 2 == 0) {
    TRELLIS_ASSIGN_OR_RETURN(StreamFilter shifting,
                             LayoutFilter<bloom::Shifting>("shifting", cells, probes, seed));
    filters.push_back(std::move(shifting));
    TRELLIS_ASSIGN_OR_RETURN(StreamFilter doubled, ShiftingDoubleStreamFilter(cells, probes, seed));
    filters.push_back(std::move(doubled));
  }
  TRELLIS_ASSIGN_OR_RETURN(StreamFilter spatial, SpatialStreamFilter(cells, probes, seed));
  filters.push_back(std::move(spatial));
  return filters;
}

std::vector<StreamFilter> SourceStreamFilters(uint64_t cells, uint32_t probes) {
  std::vector<StreamFilter> filters;
  filters.push_back(SourceFilter("standard", cells, probes, cells, SourceBloom(cells, probes)));
  filters.push_back(
      SourceFilter("shifting", cells, probes, cells, SourceShifting(cells, probes, false)));
  filters.push_back(SourceFilter("shifting-double", cells, probes, 2 * cells,
                                 SourceShifting(cells, probes, true)));
  filters.push_back(
      SourceFilter("spatial", cells, probes, 16 * cells, SourceSpatial(cells, probes)));
  filters[0].passing = [cells, probes](double distinct) {
    return bloom::StandardFpp(cells, probes, Whole(distinct));
  };
  return filters;
}

}  // namespace bench
