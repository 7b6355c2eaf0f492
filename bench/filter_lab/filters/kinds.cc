#include "bench/filter_lab/filters/kinds.h"

#include <cmath>
#include <memory>
#include <utility>

#include "bench/filter_lab/shaped.h"
#include "bench/filter_lab/stopwatch.h"
#include "bench/filter_lab/timing.h"
#include "bench/filter_lab/variants.h"
#include "bloom/catalog.h"
#include "bloom/filter_policy.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<KindRow> MeasureKind(const LabConfig& config, std::string_view kind, uint64_t keys,
                                    double target_fpp) {
  const int repeats = config.Choose(2, 5, 9);
  const int builds = keys > 1'000'000 ? 1 : config.Choose(1, 3, 5);
  TRELLIS_ASSIGN_OR_RETURN(const auto policy, bloom::PolicyFromName(kind));
  KindRow row;
  row.keys = keys;
  row.target_fpp = target_fpp;
  std::string encoded;
  absl::Status status;
  row.build_ns = BestNanos(builds, keys, [&] {
    const auto builder = policy->NewBuilder({.target_fpp = target_fpp, .seed = config.seed});
    for (uint64_t i = 0; i < keys; ++i) builder->Add(LabDigest(i, config.seed));
    absl::StatusOr<std::string> bytes = builder->Finish();
    status = bytes.status();
    if (bytes.ok()) encoded = *std::move(bytes);
  });
  TRELLIS_RETURN_IF_ERROR(status);
  TRELLIS_ASSIGN_OR_RETURN(const AlignedFilter filter, Align(encoded));
  encoded = std::string();  // frees the second copy of a large filter
  const bloom::FilterReader& reader = filter.reader;
  row.kind = reader.kind_name();  // "standard" if the kind would be no smaller
  row.bits_per_key = static_cast<double>(reader.size_bits()) / static_cast<double>(keys);
  row.rate.predicted = reader.predicted_fpp();
  row.nanos = TimeQueries(reader, keys, config.seed, repeats);
  const uint64_t queries =
      QueriesFor(target_fpp, config.Choose<uint64_t>(100'000, 20'000'000, 100'000'000));
  uint64_t passing = 0;
  for (uint64_t i = 0; i < queries; ++i)
    passing += reader.MayContain(LabDigest(keys + i, config.seed));
  row.rate.Add(passing, queries);
  return row;
}

struct Size {
  uint64_t keys;
  std::vector<double> targets;
};

std::vector<Size> SizesOf(const LabConfig& config) {
  if (config.effort == Effort::kQuick) return {{10'000, {0.01, 0.001}}};
  std::vector<Size> sizes = {{100'000, {0.1, 0.03, 0.01, 0.003, 0.001, 0.0001}},
                             {10'000'000, {0.01}}};
  if (config.effort == Effort::kFull) sizes[1].targets = {0.1, 0.01, 0.001};
  return sizes;
}

}  // namespace

double LimitBitsPerKey(double fpp) { return std::log2(1 / fpp); }

double KindRow::overhead_percent() const {
  return 100 * (bits_per_key / LimitBitsPerKey(rate.predicted.value_or(target_fpp)) - 1);
}

double KindSeconds(const LabConfig& config) { return config.Choose(0.5, 60.0, 200.0); }

absl::StatusOr<KindResults> RunKinds(const LabConfig& config, Steps steps) {
  std::vector<std::string> kinds;
  bloom::KeyedKinds::ForEach(
      [&kinds]<bloom::StaticKind K>(K) { kinds.push_back(std::string(K::kName)); });
  KindResults results;
  const std::vector<Size> sizes = SizesOf(config);
  steps.Plan(sizes.size() * kinds.size());
  for (const Size& size : sizes) {
    for (const std::string& kind : kinds) {
      TRELLIS_RETURN_IF_ERROR(
          steps.Begin(lsm::Concat(kind, ", ", Short(static_cast<double>(size.keys)), " keys")));
      for (const double target : size.targets) {
        TRELLIS_ASSIGN_OR_RETURN(KindRow row, MeasureKind(config, kind, size.keys, target));
        results.rows.push_back(std::move(row));
      }
      steps.Done();
    }
  }
  return results;
}

Json ToJson(const KindResults& results) {
  Json json = {{"rows", Json::array()}};
  for (const KindRow& row : results.rows) {
    Json item = {{"kind", row.kind},
                 {"keys", row.keys},
                 {"target_fpp", row.target_fpp},
                 {"bits_per_key", row.bits_per_key},
                 {"limit_bits_per_key", LimitBitsPerKey(row.rate.predicted.value_or(1))},
                 {"overhead_percent", row.overhead_percent()},
                 {"build_ns", row.build_ns}};
    AddNanos(row.nanos, &item);
    AddRate(row.rate, &item);
    json["rows"].push_back(std::move(item));
  }
  return json;
}

std::vector<Section> SectionsOf(const KindResults& results) {
  Table space{"kinds-space", "Bits per key and rates of the kinds for files", {}, {}};
  space.columns = {{"kind", "", false},
                   {"keys", "", true},
                   {"target", "target FPP", true},
                   {"bits/key", "", true},
                   {"over limit", "bits over the limit log2(1/e), %", true}};
  AddRateColumns(&space);
  Table speed{"kinds-speed", "Nanoseconds of the kinds for files", {}, {}};
  speed.columns = {{"kind", "", false},
                   {"keys", "", true},
                   {"target", "target FPP", true},
                   {"build", "build, ns per key", true},
                   {"absent", "absent key, ns", true},
                   {"present", "present key, ns", true},
                   {"absent, batch", "absent key in a batch, ns", true},
                   {"present, batch", "present key in a batch, ns", true}};
  for (const KindRow& row : results.rows) {
    if (&row != &results.rows.front() && row.kind != (&row - 1)->kind) {
      space.rows.emplace_back();
      speed.rows.emplace_back();
    }
    const std::vector<std::string> name = {row.kind, lsm::ReadableCount(row.keys),
                                           Plain(row.target_fpp)};
    space.rows.push_back(name);
    space.rows.back().push_back(Fixed(row.bits_per_key, 2));
    space.rows.back().push_back(Fixed(row.overhead_percent(), 1) + " %");
    AddRateCells(row.rate, &space.rows.back());
    speed.rows.push_back(name);
    for (const double nanos : {row.build_ns, row.nanos.absent, row.nanos.present,
                               row.nanos.batch_absent, row.nanos.batch_present})
      speed.rows.back().push_back(lsm::ReadableNumber(nanos));
  }
  return {{"Space, rate and speed",
           "The kinds that a file may hold. The line is the lower bound for any filter that is "
           "built once: log2(1/e) bits per key at rate e. Times are processor time of independent "
           "queries, of which a core has many in flight. A build ends by probing all keys.",
           "kinds",
           {std::move(space), std::move(speed)}}};
}

}  // namespace bench
