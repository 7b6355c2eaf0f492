#include "bench/level_filters/skew.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <utility>

#include "bench/experiment/progress.h"
#include "lsm/bytes/status.h"

namespace bench::level_filters {
namespace {

class SkewExperiment {
 public:
  SkewExperiment(const Config& config, const StoreShape& shape, Progress* progress)
      : config_(config),
        shape_(shape),
        values_(static_cast<size_t>(config.value_bytes)),
        directory_(config.out + "/stores/skew"),
        progress_(progress) {
    store_config_.name = "skew";
    store_config_.filter_kind = "standard";
    store_config_.filter_goal = lsm::FilterGoal::BitsPerKey(config.bits_per_key);
  }

  absl::Status Load() {
    progress_->Announce("loading the store for skewed lookups");
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Store> store,
                             MakeTrellis(directory_, store_config_, shape_, config_.seed));
    for (uint64_t i = 0; i < config_.keys; ++i) {
      TRELLIS_RETURN_IF_ERROR(Write(store.get(), i, 1));
      if ((i + 1) % shape_.entries_per_flush != 0 && i + 1 != config_.keys) continue;
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      TRELLIS_RETURN_IF_ERROR(store->Settle());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<SkewResult> Measure(const RangeWorkload& workload) {
    SkewResult result{workload.name(), workload.how(), workload.best(), {}};
    result.rounds.resize(static_cast<size_t>(config_.rounds));
    for (const bool forgets : {false, true})
      TRELLIS_RETURN_IF_ERROR(Run(workload, forgets, &result));
    return result;
  }

 private:
  absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& directory) const {
    return OpenTrellis(directory, store_config_, shape_, config_.seed);
  }

  // Runs all rounds on a copy of the store.
  absl::Status Run(const RangeWorkload& workload, bool forgets, SkewResult* result) {
    const std::string name =
        lsm::Concat(directory_, "-", workload.name(), forgets ? "-forgetful" : "-learning");
    progress_->Announce(
        lsm::Concat("asking unevenly: ", workload.name(), forgets ? ", forgetful" : ", learning"));
    std::error_code error;
    std::filesystem::remove_all(name, error);
    std::filesystem::copy(directory_, name, std::filesystem::copy_options::recursive, error);
    if (error) return absl::UnavailableError(name + ": " + error.message());
    TRELLIS_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Open(name));
    SplitMix lookups(config_.seed + 7), writes(config_.seed + 8);
    const size_t rounds = result->rounds.size();
    for (size_t round = 0; round < rounds; ++round) {
      TRELLIS_RETURN_IF_ERROR(config_.CheckStop());
      progress_->Show(lsm::Concat("round ", round));
      SkewRound& row = result->rounds[round];
      row.written = static_cast<double>(round) * config_.written_a_round;
      TRELLIS_ASSIGN_OR_RETURN((forgets ? row.forgetful : row.learning),
                               Ask(store.get(), workload, round >= rounds / 2, &lookups));
      // The lookups may have triggered a compaction of level 0.
      TRELLIS_RETURN_IF_ERROR(store->Settle());
      TRELLIS_ASSIGN_OR_RETURN((forgets ? row.forgetful_bits : row.learning_bits),
                               BitsPerKey(store.get()));
      if (forgets) {
        store.reset();
        TRELLIS_ASSIGN_OR_RETURN(store, Open(name));
      }
      TRELLIS_RETURN_IF_ERROR(WriteRound(store.get(), &writes, round + 2));
    }
    return absl::OkStatus();
  }

  absl::Status Write(Store* store, uint64_t number, uint64_t version) {
    const std::string key = SyntheticKey(number, config_.seed);
    values_.Make(key, &value_, version);
    return store->Write(key, value_);
  }

  absl::Status WriteRound(Store* store, SplitMix* random, uint64_t version) {
    const auto count =
        static_cast<uint64_t>(config_.written_a_round * static_cast<double>(config_.keys));
    for (uint64_t i = 0; i < count; ++i) {
      TRELLIS_RETURN_IF_ERROR(Write(store, random->Below(config_.keys), version));
      if ((i + 1) % shape_.entries_per_flush == 0) TRELLIS_RETURN_IF_ERROR(store->Settle());
    }
    return store->Settle();
  }

  absl::StatusOr<double> Ask(Store* store, const RangeWorkload& workload, bool moved,
                             SplitMix* random) const {
    const uint64_t before = store->wasted_reads();
    std::string value;
    for (uint64_t i = 0; i < config_.skewed_lookups; ++i) {
      const std::string key = workload.Draw(random, moved);
      TRELLIS_ASSIGN_OR_RETURN(const bool found, store->Get(key, &value));
      if (found) return absl::InternalError("key " + key + " was found, but never stored");
    }
    return static_cast<double>(store->wasted_reads() - before) /
           static_cast<double>(config_.skewed_lookups);
  }

  static absl::StatusOr<double> BitsPerKey(Store* store) {
    TRELLIS_ASSIGN_OR_RETURN(const std::vector<LevelRow> levels, store->Levels());
    double keys = 0, bytes = 0;
    for (const LevelRow& level : levels) {
      keys += static_cast<double>(level.keys);
      bytes += static_cast<double>(level.filter_bytes);
    }
    return keys == 0 ? 0 : 8 * bytes / keys;
  }

  const Config& config_;
  const StoreShape& shape_;
  const ValueMaker values_;
  const std::string directory_;
  ComparedStore store_config_;
  std::string value_;
  Progress* const progress_;
};

}  // namespace

RangeWorkload::RangeWorkload(std::string name, std::string how, const std::vector<double>& weights)
    : name_(std::move(name)), how_(std::move(how)) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double up_to_here = 0;
  for (const double weight : weights) {
    shares_.push_back(weight / sum);
    cumulative_.push_back(up_to_here += weight / sum);
  }
}

double RangeWorkload::best() const {
  double divergence = 0;
  const double keys = 1 / static_cast<double>(shares_.size());
  for (const double share : shares_) divergence += keys * std::log(keys / share);
  return std::exp(divergence);
}

std::string RangeWorkload::Draw(SplitMix* random, bool moved) const {
  const auto at = std::lower_bound(cumulative_.begin(), cumulative_.end(), random->Fraction());
  const size_t count = cumulative_.size();
  size_t range = std::min(count - 1, static_cast<size_t>(at - cumulative_.begin()));
  if (moved) range = (range + count / 2) % count;
  const double fraction =
      (static_cast<double>(range) + random->Fraction()) / static_cast<double>(count);
  // The top 32 bits are the position, the others random: a stored key only with probability 10^-13.
  const auto top = static_cast<uint64_t>(fraction * 0x1p32);
  return HexKey((std::min<uint64_t>(top, 0xffffffff) << 32) | (random->Next() >> 32));
}

std::vector<RangeWorkload> RangeWorkloads(uint64_t seed) {
  std::vector<double> even(RangeWorkload::kRanges, 1), tenth(RangeWorkload::kRanges, 0.1 / 90),
      zipf(RangeWorkload::kRanges);
  for (size_t i = 20; i < 30; ++i) tenth[i] = 0.9 / 10;
  const std::vector<uint64_t> ranks = Shuffled(RangeWorkload::kRanges, seed);
  for (size_t i = 0; i < zipf.size(); ++i) zipf[i] = 1 / static_cast<double>(1 + ranks[i]);
  return {{"even", "all ranges alike", even},
          {"90-10", "90 % of the lookups in a tenth of the keys", tenth},
          {"zipf", "100 ranges, the i-th most popular 1/i times as often as the first", zipf}};
}

absl::Status MeasureSkew(const Config& config, const StoreShape& shape, Progress* progress,
                         std::vector<SkewResult>* results) {
  SkewExperiment experiment(config, shape, progress);
  TRELLIS_RETURN_IF_ERROR(experiment.Load());
  for (const RangeWorkload& workload : RangeWorkloads(config.seed)) {
    TRELLIS_ASSIGN_OR_RETURN(SkewResult result, experiment.Measure(workload));
    results->push_back(std::move(result));
    progress->Advance(1);
  }
  return absl::OkStatus();
}

}  // namespace bench::level_filters
