#include "bench/filter_lab/experiment.h"

#include <utility>

#include "bench/filter_lab/filters/accuracy.h"
#include "bench/filter_lab/filters/bits_table.h"
#include "bench/filter_lab/filters/clickhouse.h"
#include "bench/filter_lab/filters/kinds.h"
#include "bench/filter_lab/filters/overfill.h"
#include "bench/filter_lab/filters/retouching.h"
#include "bench/filter_lab/filters/shifting_speed.h"
#include "bench/filter_lab/filters/spectral_error.h"
#include "bench/filter_lab/streams/distributions.h"
#include "bench/filter_lab/streams/stream_probes.h"
#include "bench/filter_lab/streams/streaming.h"
#include "bench/filter_lab/vectors/hdbf.h"
#include "bench/filter_lab/vectors/vectors.h"

namespace bench {
namespace {

template <auto kRun>
absl::StatusOr<Outcome> Show(const LabConfig& config, Steps steps) {
  TRELLIS_ASSIGN_OR_RETURN(const auto results, kRun(config, steps));
  Outcome outcome{ToJson(results), SectionsOf(results), {}};
  if constexpr (requires { ExcerptsOf(results); }) outcome.excerpts = ExcerptsOf(results);
  return outcome;
}

}  // namespace

const std::vector<LabExperiment>& LabExperiments() {
  static const auto* const experiments = new std::vector<LabExperiment>{
      {"accuracy", "every variant's rate and its prediction", &AccuracySeconds,
       &Show<&RunAccuracy>},
      {"kinds", "space, rate and speed of the kinds for files", &KindSeconds, &Show<&RunKinds>},
      {"bits-table", "the (m/n, k) table and the published one", &BitsTableSeconds,
       &Show<&RunBitsTable>},
      {"clickhouse", "a choice by that table and the optimum", &ChoiceSeconds, &Show<&RunChoice>},
      {"overfill", "more keys than planned", &OverfillSeconds, &Show<&RunOverfill>},
      {"retouching", "bits cleared, false positives removed, keys denied", &RetouchSeconds,
       &Show<&RunRetouch>},
      {"spectral", "wrong counts if a few keys are frequent", &SpectralSeconds,
       &Show<&RunSpectral>},
      {"shifting", "half the loads of a standard filter", &ShiftingSeconds, &Show<&RunShifting>},
      {"vectors", "filters of vectors: an older study's and the library's", &VectorSeconds,
       &Show<&RunVectors>},
      {"hdbf", "BF and HDBF by number of vectors and by target", &HdbfSeconds, &Show<&RunHdbf>},
      {"distributions", "the values of the streams", &DistributionSeconds,
       &Show<&RunDistributions>},
      {"streaming", "streams of rows that are queried and then added", &StreamingSeconds,
       &Show<&RunStreaming>},
      {"stream-probes", "the same streams, by number of probes", &StreamProbesSeconds,
       &Show<&RunStreamProbes>},
  };
  return *experiments;
}

}  // namespace bench
