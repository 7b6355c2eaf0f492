#include "bench/filter_lab/filters/retouching.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/filter_lab/variants.h"
#include "bloom/literature/retouched.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"

namespace bench {
namespace {

using bloom::Digest;
using Json = nlohmann::ordered_json;

constexpr double kTarget = 0.01;

struct Scheme {
  const char* name;
  bloom::ClearingScheme scheme;
};
constexpr Scheme kSchemes[] = {{"random bit", bloom::ClearingScheme::kRandom},
                               {"fewest keys", bloom::ClearingScheme::kMinimumFn},
                               {"most false positives", bloom::ClearingScheme::kMaximumFp},
                               {"ratio", bloom::ClearingScheme::kRatio}};

// A filter with its keys, and absent keys that pass.
struct Subject {
  bloom::RetouchedFilter filter;
  std::vector<Digest> false_positives;
  double ones = 0;
};

absl::StatusOr<Subject> MakeSubject(uint64_t keys, uint64_t queries, uint64_t seed) {
  TRELLIS_ASSIGN_OR_RETURN(bloom::RetouchedFilter filter,
                           bloom::RetouchedFilter::Make(keys, kTarget, seed));
  for (uint64_t i = 0; i < keys; ++i) filter.AddDigest(LabDigest(i, seed));
  Subject subject{std::move(filter), {}, 0};
  for (uint64_t i = 0; i < queries; ++i) {
    const Digest digest = LabDigest(keys + i, seed);
    if (subject.filter.MayContainDigest(digest)) subject.false_positives.push_back(digest);
  }
  const bloom::Shape& shape = subject.filter.shape();
  subject.ones =
      static_cast<double>(shape.size) * std::pow(subject.filter.CurrentFpp(), 1.0 / shape.probes);
  return subject;
}

// Counts the filter's losses after `cleared` of its bits were cleared.
void Count(const Subject& subject, uint64_t keys, uint64_t seed, RetouchRow* row) {
  uint64_t removed = 0, denied = 0;
  for (const Digest digest : subject.false_positives)
    removed += !subject.filter.MayContainDigest(digest);
  for (uint64_t i = 0; i < keys; ++i)
    denied += !subject.filter.MayContainDigest(LabDigest(i, seed));
  row->removed.Add(removed, subject.false_positives.size());
  row->denied.Add(denied, keys);
}

}  // namespace

double RetouchSeconds(const LabConfig& config) { return config.Choose(0.3, 6.0, 20.0); }

absl::StatusOr<RetouchResults> RunRetouch(const LabConfig& config, Steps steps) {
  RetouchResults results;
  results.keys = config.Choose<uint64_t>(10'000, 100'000, 100'000);
  results.target_fpp = kTarget;
  const uint64_t queries = config.Choose<uint64_t>(100'000, 1'000'000, 4'000'000);
  const std::vector<double> shares = {0.005, 0.01, 0.02, 0.05, 0.1};
  const std::vector<double> known = {0.05, 0.1, 0.2, 0.4,
                                     0.8};  // as a share of all false positives
  steps.Plan(shares.size() + std::size(kSchemes) * known.size());
  for (const double share : shares) {
    TRELLIS_RETURN_IF_ERROR(steps.Begin("retouching: any ones"));
    TRELLIS_ASSIGN_OR_RETURN(Subject subject, MakeSubject(results.keys, queries, config.seed));
    results.false_positives = subject.false_positives.size();
    RetouchRow row;
    row.scheme = "any ones";
    TRELLIS_ASSIGN_OR_RETURN(row.cleared, subject.filter.RandomClearing(share, config.seed));
    const double lost = 1 - std::pow(1 - static_cast<double>(row.cleared) / subject.ones,
                                     subject.filter.shape().probes);
    row.removed.predicted = row.denied.predicted = lost;
    Count(subject, results.keys, config.seed, &row);
    results.rows.push_back(std::move(row));
    steps.Done();
  }
  for (const Scheme& scheme : kSchemes) {
    for (const double share : known) {
      TRELLIS_RETURN_IF_ERROR(steps.Begin(lsm::Concat("retouching: ", scheme.name)));
      TRELLIS_ASSIGN_OR_RETURN(Subject subject, MakeSubject(results.keys, queries, config.seed));
      RetouchRow row;
      row.scheme = scheme.name;
      row.known =
          static_cast<uint64_t>(share * static_cast<double>(subject.false_positives.size()));
      for (uint64_t i = 0; i < row.known; ++i) {
        TRELLIS_RETURN_IF_ERROR(
            subject.filter.AddFalsePositiveDigest(subject.false_positives[i]).status());
      }
      TRELLIS_ASSIGN_OR_RETURN(row.cleared, subject.filter.ClearKnownFalsePositives(scheme.scheme));
      if (scheme.scheme == bloom::ClearingScheme::kRandom) {
        // The cleared bits are as likely as any others to belong to a key; the known false
        // positives are removed in any case.
        const double lost = 1 - std::pow(1 - static_cast<double>(row.cleared) / subject.ones,
                                         subject.filter.shape().probes);
        const double part =
            static_cast<double>(row.known) / static_cast<double>(subject.false_positives.size());
        row.denied.predicted = lost;
        row.removed.predicted = part + (1 - part) * lost;
      }
      Count(subject, results.keys, config.seed, &row);
      results.rows.push_back(std::move(row));
      steps.Done();
    }
  }
  return results;
}

Json ToJson(const RetouchResults& results) {
  Json json = {{"keys", results.keys},
               {"target_fpp", results.target_fpp},
               {"false_positives", results.false_positives},
               {"rows", Json::array()}};
  for (const RetouchRow& row : results.rows) {
    Json item = {{"scheme", row.scheme},
                 {"known", row.known},
                 {"cleared", row.cleared},
                 {"chi", row.chi().has_value() ? Json(*row.chi()) : Json()}};
    AddRate(row.removed, &(item["removed"] = Json::object()));
    AddRate(row.denied, &(item["denied"] = Json::object()));
    json["rows"].push_back(std::move(item));
  }
  return json;
}

std::vector<Section> SectionsOf(const RetouchResults& results) {
  Table table{"retouching", "False positives removed, and keys denied for it", {}, {}};
  table.columns = {{"bits cleared", "choice of the cleared bits", false},
                   {"known", "known false positives", true},
                   {"bits", "bits cleared", true},
                   {"removed", "false positives removed", true},
                   {"predicted", "false positives removed, predicted", true},
                   {"denied", "keys denied", true},
                   {"predicted", "keys denied, predicted", true},
                   {"off by", "keys denied: deviation, % of the prediction", true},
                   {"+-", "keys denied: standard error, % of the prediction", true},
                   {"chi", "removed / denied", true}};
  for (const RetouchRow& row : results.rows) {
    if (&row != &results.rows.front() && row.scheme != (&row - 1)->scheme)
      table.rows.emplace_back();
    std::vector<std::string> denied;
    AddRateCells(row.denied, &denied);
    table.rows.push_back({row.scheme, row.known > 0 ? lsm::ReadableCount(row.known) : "-",
                          lsm::ReadableCount(row.cleared), PercentText(row.removed.measured()),
                          PercentText(row.removed.predicted), denied[0], denied[1], denied[2],
                          denied[3], row.chi().has_value() ? Fixed(*row.chi(), 2) : "-"});
  }
  return {{"Retouched filters: the trade-off",
           lsm::Concat("A filter of ", lsm::ReadableCount(results.keys), " keys at ",
                       Plain(results.target_fpp), ", and the ",
                       lsm::ReadableCount(results.false_positives),
                       " absent keys that passed. Clearing random ones removes equal shares of the "
                       "false positives and of the keys (chi = 1). Clearing one bit of each known "
                       "false positive gains something, and more if the bit is chosen better."),
           "retouching",
           {std::move(table)}}};
}

}  // namespace bench
