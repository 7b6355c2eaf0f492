#include "bench/filter_lab/vectors/vectors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "bench/filter_lab/stopwatch.h"
#include "bench/filter_lab/vectors/vector_subjects.h"
#include "bench/sift_like.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;
using Vector = std::span<const int32_t>;

constexpr double kVectorTarget = 0.01;

std::string_view BytesOf(Vector vector) {
  return {reinterpret_cast<const char*>(vector.data()), vector.size_bytes()};
}

// Adds the `candidates` that are neither stored nor among the queries yet.
class QueryCollector {
 public:
  explicit QueryCollector(VectorSet* set) : set_(set) {
    for (size_t i = 0; i < set->base.size(); ++i) known_.emplace(BytesOf(set->base[i]));
  }
  void Add(Vector vector) {
    if (known_.emplace(BytesOf(vector)).second) {
      set_->queries.Add(vector);
    } else {
      ++set_->left_out;
    }
  }

 private:
  VectorSet* const set_;
  std::unordered_set<std::string> known_;
};

absl::StatusOr<bloom::VectorList<int32_t>> ReadWholeNumbers(const std::string& path) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(path));
  const absl::StatusOr<bloom::VectorList<float>> floats = bloom::ParseVectors<float>(bytes);
  if (!floats.ok()) return lsm::WithContext(floats.status(), path);
  bloom::VectorList<int32_t> whole(floats->dimension());
  whole.Reserve(floats->size());
  std::vector<int32_t> vector(floats->dimension());
  for (size_t i = 0; i < floats->size(); ++i) {
    const std::span<const float> from = (*floats)[i];
    for (size_t j = 0; j < vector.size(); ++j) {
      if (!(std::abs(from[j]) <= 1e9f) || from[j] != std::trunc(from[j])) {
        return absl::InvalidArgumentError(
            lsm::Concat(path, ": vector ", i, ": component ", j,
                        " is not a whole number, unlike SIFT's components"));
      }
      vector[j] = static_cast<int32_t>(from[j]);
    }
    whole.Add(vector);
  }
  return whole;
}

absl::StatusOr<VectorRow> Measure(const LabConfig& config, const VectorSet& set,
                                  VectorSubject* subject) {
  VectorRow row;
  row.filter = subject->name;
  row.dimension = set.base.dimension();
  row.origin = set.origin;
  row.keys = set.base.size();
  row.memory_bytes = (subject->size_bits + 7) / 8;
  row.left_out = set.left_out;
  row.rate.predicted = subject->predicted;
  TRELLIS_RETURN_IF_ERROR(AddAll(set.base, subject));
  row.rate.Add(subject->count_passing(set.queries, set.queries.size()), set.queries.size());
  const size_t most = std::min<size_t>(set.queries.size(), config.Choose(2000, 20'000, 20'000));
  for (const size_t part : {20, 10, 4, 2, 1}) {
    const size_t count = most / part;
    uint64_t passing = 0;
    const double nanos = BestNanos(config.Choose(1, 3, 5), count, [&] {
      passing += subject->count_passing(set.queries, count);
      asm volatile("" : "+r"(passing));
    });
    row.latency.push_back({count, nanos * static_cast<double>(count) / 1e6});
  }
  return row;
}

struct VectorSize {
  uint32_t dimension;
  uint64_t queries;
};

std::vector<VectorSize> VectorSizesOf(const LabConfig& config) {
  if (config.effort == Effort::kQuick) return {{16, 5000}, {128, 5000}};
  const uint64_t few = config.Choose<uint64_t>(0, 200'000, 1'000'000);
  return {{16, few}, {128, 1'000'000}, {960, few / 4}};
}

}  // namespace

VectorSet MakeUpVectors(uint32_t dimension, uint64_t base_count, uint64_t query_count,
                        uint64_t seed) {
  const SiftLike source(base_count, seed, dimension);
  VectorSet set(dimension);
  set.origin = "made up";
  std::vector<uint8_t> vector(dimension);
  for (uint64_t i = 0; i < base_count; ++i) {
    source.Base(i, vector);
    set.base.Add(ComponentsAs<int32_t>(vector));
  }
  QueryCollector collector(&set);
  for (uint64_t i = 0; i < query_count; ++i) {
    source.Query(i, vector);
    collector.Add(ComponentsAs<int32_t>(vector));
  }
  return set;
}

absl::StatusOr<VectorSet> ReadSift(const std::string& folder) {
  TRELLIS_ASSIGN_OR_RETURN(bloom::VectorList<int32_t> base,
                           ReadWholeNumbers(folder + "/siftsmall_base.fvecs"));
  VectorSet set(base.dimension());
  set.origin = folder;
  set.base = std::move(base);
  QueryCollector collector(&set);
  for (const char* name : {"/siftsmall_learn.fvecs", "/siftsmall_query.fvecs"}) {
    TRELLIS_ASSIGN_OR_RETURN(const bloom::VectorList<int32_t> queries,
                             ReadWholeNumbers(folder + name));
    if (queries.dimension() != set.base.dimension()) {
      return absl::InvalidArgumentError(lsm::Concat(folder, name, ": dimension ",
                                                    queries.dimension(), ", but the base's is ",
                                                    set.base.dimension()));
    }
    for (size_t i = 0; i < queries.size(); ++i) collector.Add(queries[i]);
  }
  return set;
}

double VectorSeconds(const LabConfig& config) { return config.Choose(0.5, 40.0, 150.0); }

absl::StatusOr<VectorResults> RunVectors(const LabConfig& config, Steps steps) {
  VectorResults results;
  results.target_fpp = kVectorTarget;
  const uint64_t keys = config.Choose<uint64_t>(2000, 10'000, 10'000);
  const std::vector<VectorSize> sizes = VectorSizesOf(config);
  const bool with_files = !config.sift.empty();
  steps.Plan(sizes.size() + with_files);
  const auto measure = [&](const VectorSet& set) -> absl::Status {
    TRELLIS_ASSIGN_OR_RETURN(
        std::vector<VectorSubject> subjects,
        VectorSubjects(set.base.size(), kVectorTarget, set.base.dimension(), config.seed));
    for (VectorSubject& subject : subjects) {
      TRELLIS_ASSIGN_OR_RETURN(VectorRow row, Measure(config, set, &subject));
      results.rows.push_back(std::move(row));
    }
    steps.Done();
    return absl::OkStatus();
  };
  for (const VectorSize& size : sizes) {
    TRELLIS_RETURN_IF_ERROR(steps.Begin(lsm::Concat("vectors of dimension ", size.dimension)));
    TRELLIS_RETURN_IF_ERROR(
        measure(MakeUpVectors(size.dimension, keys, size.queries, config.seed)));
  }
  if (with_files) {
    TRELLIS_RETURN_IF_ERROR(steps.Begin("vectors of " + config.sift));
    TRELLIS_ASSIGN_OR_RETURN(const VectorSet set, ReadSift(config.sift));
    TRELLIS_RETURN_IF_ERROR(measure(set));
  }
  return results;
}

Json ToJson(const VectorResults& results) {
  Json json = {{"target_fpp", results.target_fpp}, {"rows", Json::array()}};
  for (const VectorRow& row : results.rows) {
    Json item = {{"filter", row.filter},
                 {"dimension", row.dimension},
                 {"origin", row.origin},
                 {"keys", row.keys},
                 {"left_out", row.left_out},
                 {"memory_bytes", row.memory_bytes},
                 {"ns_per_query", row.nanos_per_query()},
                 {"latency", Json::array()}};
    for (const VectorLatency& latency : row.latency) {
      item["latency"].push_back(
          {{"queries", latency.queries}, {"milliseconds", latency.milliseconds}});
    }
    AddRate(row.rate, &item);
    json["rows"].push_back(std::move(item));
  }
  return json;
}

std::vector<Section> SectionsOf(const VectorResults& results) {
  Table rates{"vectors", "Filters of vectors", {}, {}};
  rates.columns = {{"d", "dimension", true},
                   {"vectors", "", false},
                   {"filter", "", false},
                   {"memory", "of the filter itself", true},
                   {"ns", "a query, ns", true}};
  AddRateColumns(&rates);
  Table latency{"vectors-latency", "Milliseconds of all queries", {}, {}};
  latency.columns = {{"d", "dimension", true},
                     {"vectors", "", false},
                     {"filter", "", false},
                     {"queries", "", true},
                     {"ms", "milliseconds", true}};
  for (const VectorRow& row : results.rows) {
    const bool is_new = &row != &results.rows.front() && (row.dimension != (&row - 1)->dimension ||
                                                          row.origin != (&row - 1)->origin);
    if (is_new) {
      rates.rows.emplace_back();
      latency.rows.emplace_back();
    }
    rates.rows.push_back({std::to_string(row.dimension), row.origin, row.filter,
                          lsm::ReadableBytes(row.memory_bytes),
                          lsm::ReadableNumber(row.nanos_per_query())});
    AddRateCells(row.rate, &rates.rows.back());
    for (const VectorLatency& point : row.latency) {
      latency.rows.push_back({std::to_string(row.dimension), row.origin, row.filter,
                              lsm::ReadableCount(point.queries),
                              lsm::ReadableNumber(point.milliseconds)});
    }
  }
  return {
      {"Vectors: BF and HDBF",
       lsm::Concat("Vectors of int32 that resemble SIFT's, in filters for a target of ",
                   Plain(results.target_fpp),
                   ". The study's BF hashes the bytes of a vector (shift, add, xor), its HDBF the "
                   "components; that is its whole gain in speed. Both use the one hash for all k "
                   "probes, so the rate is that of one probe for any k. The other filters are the "
                   "same hashes from k initial values, and the library's, which hash a vector "
                   "once, by XXH3. The third of these counts, as the published HDBF did."),
       "vectors",
       {std::move(rates), std::move(latency)}}};
}

}  // namespace bench
