// A measured rate and its prediction.
#ifndef TRELLIS_BENCH_FILTER_LAB_RATE_H_
#define TRELLIS_BENCH_FILTER_LAB_RATE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/table.h"

namespace bench {

struct Rate {
  uint64_t hits = 0;
  uint64_t queries = 0;
  std::optional<double> predicted;  // null if no theory is known

  double measured() const;
  // Standard error from the number of queries alone: sqrt(p (1 - p) / queries).  p is the predicted
  // rate, or the measured one without a prediction.  The variation between filters comes on top.
  double standard_error() const;
  // measured / predicted - 1, in per cent.  Null without a prediction, or if fewer than three hits
  // were expected.
  std::optional<double> deviation_percent() const;

  // Adds queries of another filter with the same prediction.
  void Add(uint64_t more_hits, uint64_t more_queries) {
    hits += more_hits;
    queries += more_queries;
  }
};

// Appends measured, predicted, queries and standard_error to a row.
void AddRate(const Rate& rate, nlohmann::ordered_json* row);

// The columns of a rate, and its cells.
void AddRateColumns(Table* table);
void AddRateCells(const Rate& rate, std::vector<std::string>* row);

// "+1.2"; a dash for null.
std::string SignedPercent(std::optional<double> percent);
// lsm::ReadablePercent; a dash for null.
std::string PercentText(std::optional<double> probability);
// "%.2f" and the like.
std::string Fixed(double value, int decimals);
// A probability without its noise: "0.01", "1e-05".
std::string Plain(double value);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_RATE_H_
