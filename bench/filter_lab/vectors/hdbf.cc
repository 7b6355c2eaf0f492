#include "bench/filter_lab/vectors/hdbf.h"

#include <algorithm>
#include <utility>

#include "bench/filter_lab/stopwatch.h"
#include "bench/filter_lab/vectors/vector_subjects.h"
#include "bench/filter_lab/vectors/vectors.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kDimension = 128;  // of SIFT
constexpr double kHdbfFppOverKeys = 0.01;
constexpr uint64_t kKeysOverTargets = 10'000;

std::vector<uint64_t> KeyCounts(const LabConfig& config) {
  if (config.effort == Effort::kQuick) return {1000, 3000};
  return {1000, 2000, 5000, 10'000, 20'000, 50'000, 100'000};
}

std::vector<double> Targets(const LabConfig& config) {
  if (config.effort == Effort::kQuick) return {0.1, 0.01};
  return {0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};
}

absl::StatusOr<HdbfRow> Measure(const LabConfig& config, const VectorSet& set, double target_fpp,
                                VectorSubject* subject) {
  const uint64_t keys = set.base.size(), queries = set.queries.size();
  HdbfRow row{subject->name,
              keys,
              target_fpp,
              subject->probes,
              (subject->size_bits + 7) / 8,
              0,
              0,
              Rate{0, 0, subject->predicted}};
  // Adding the vectors again sets no new bit, so the filter does not change.
  TRELLIS_RETURN_IF_ERROR(AddAll(set.base, subject));
  row.rate.Add(subject->count_passing(set.queries, queries), queries);
  const int repeats = config.Choose(1, 3, 5);
  const uint64_t timed = std::min<uint64_t>(queries, 20'000);
  uint64_t passing = 0;
  row.absent_ns = BestNanos(repeats, timed, [&] {
    passing += subject->count_passing(set.queries, timed);
    asm volatile("" : "+r"(passing));
  });
  const uint64_t added = std::min<uint64_t>(keys, 20'000);
  row.add_ns = BestNanos(repeats, added, [&] {
    for (uint64_t i = 0; i < added; ++i) subject->add(set.base[i]);
  });
  return row;
}

absl::Status MeasureAll(const LabConfig& config, uint64_t keys, double target_fpp,
                        std::vector<HdbfRow>* rows) {
  // Different vectors for each number of keys and target, so that rows do not share the same
  // chance.
  const uint64_t seed = config.seed + keys + static_cast<uint64_t>(1 / target_fpp);
  const VectorSet set =
      MakeUpVectors(kDimension, keys, config.Choose<uint64_t>(5000, 100'000, 200'000), seed);
  TRELLIS_ASSIGN_OR_RETURN(std::vector<VectorSubject> subjects,
                           VectorSubjects(keys, target_fpp, kDimension, seed));
  for (VectorSubject& subject : subjects) {
    TRELLIS_ASSIGN_OR_RETURN(HdbfRow row, Measure(config, set, target_fpp, &subject));
    rows->push_back(std::move(row));
  }
  return absl::OkStatus();
}

Json RowsJson(const std::vector<HdbfRow>& rows) {
  Json json = Json::array();
  for (const HdbfRow& row : rows) {
    Json item = {{"filter", row.filter},
                 {"keys", row.keys},
                 {"target_fpp", row.target_fpp},
                 {"probes", row.probes},
                 {"memory_bytes", row.memory_bytes},
                 {"add_ns", row.add_ns},
                 {"absent_ns", row.absent_ns}};
    AddRate(row.rate, &item);
    json.push_back(std::move(item));
  }
  return json;
}

Table RowsTable(std::string id, std::string title, const std::vector<HdbfRow>& rows) {
  Table table{std::move(id), std::move(title), {}, {}};
  table.columns = {{"keys", "", true},
                   {"target", "target FPP", true},
                   {"filter", "", false},
                   {"k", "probes", true},
                   {"memory", "of the filter itself", true},
                   {"add", "adding a vector, ns", true},
                   {"ask", "querying an absent vector, ns", true}};
  AddRateColumns(&table);
  for (const HdbfRow& row : rows) {
    const bool is_new = &row != &rows.front() &&
                        (row.keys != (&row - 1)->keys || row.target_fpp != (&row - 1)->target_fpp);
    if (is_new) table.rows.emplace_back();
    table.rows.push_back({lsm::ReadableCount(row.keys), Plain(row.target_fpp), row.filter,
                          std::to_string(row.probes), lsm::ReadableBytes(row.memory_bytes),
                          lsm::ReadableNumber(row.add_ns), lsm::ReadableNumber(row.absent_ns)});
    AddRateCells(row.rate, &table.rows.back());
  }
  return table;
}

}  // namespace

double HdbfSeconds(const LabConfig& config) { return config.Choose(0.5, 30.0, 150.0); }

absl::StatusOr<HdbfResults> RunHdbf(const LabConfig& config, Steps steps) {
  HdbfResults results;
  results.dimension = kDimension;
  const std::vector<uint64_t> counts = KeyCounts(config);
  const std::vector<double> targets = Targets(config);
  steps.Plan(counts.size() + targets.size());
  for (const uint64_t keys : counts) {
    TRELLIS_RETURN_IF_ERROR(
        steps.Begin(lsm::Concat("BF and HDBF, ", lsm::ReadableCount(keys), " vectors")));
    TRELLIS_RETURN_IF_ERROR(MeasureAll(config, keys, kHdbfFppOverKeys, &results.over_keys));
    steps.Done();
  }
  for (const double target : targets) {
    TRELLIS_RETURN_IF_ERROR(steps.Begin("BF and HDBF, target " + Plain(target)));
    TRELLIS_RETURN_IF_ERROR(
        MeasureAll(config, config.Choose<uint64_t>(2000, kKeysOverTargets, kKeysOverTargets),
                   target, &results.over_targets));
    steps.Done();
  }
  return results;
}

Json ToJson(const HdbfResults& results) {
  return {{"dimension", results.dimension},
          {"over_keys", RowsJson(results.over_keys)},
          {"over_targets", RowsJson(results.over_targets)}};
}

std::vector<Section> SectionsOf(const HdbfResults& results) {
  const std::string vectors =
      lsm::Concat("Vectors of ", results.dimension, " components of int32. ");
  return {{"BF and HDBF by number of keys",
           vectors + "The target is 0.01, so only the memory should grow with the keys. HDBF takes "
                     "a quarter of BF's steps. Both filters of the study have the rate of a single "
                     "probe, ten times the target.",
           "hdbf_keys",
           {RowsTable("hdbf-keys", "BF and HDBF, by number of keys", results.over_keys)}},
          {"BF and HDBF by target",
           vectors + "A lower target means more probes. The study's filters make all probes at one "
                     "position, so their rate hardly falls. The sound ones hash the vector once "
                     "more for each probe, the library's once for all probes.",
           "hdbf_targets",
           {RowsTable("hdbf-targets", "BF and HDBF, by target", results.over_targets)}}};
}

}  // namespace bench
