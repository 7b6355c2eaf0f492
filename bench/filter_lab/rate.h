// A rate that was measured, beside the one that was predicted.
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
  std::optional<double> predicted;  // null where no theory is known

  double measured() const;
  // Of the measured rate, from the number of queries alone: sqrt(p (1 - p) / queries), with the
  // predicted rate as p, or the measured one where there is none.  Filters differ among each other
  // besides.
  double standard_error() const;
  // measured / predicted - 1, in per cent.  Null if nothing was predicted, or so little that fewer
  // than three hits were to be expected.
  std::optional<double> deviation_percent() const;

  // Adds queries that were made of another filter with the same prediction.
  void Add(uint64_t more_hits, uint64_t more_queries) {
    hits += more_hits;
    queries += more_queries;
  }
};

// Puts measured, predicted, queries and standard_error behind the members of a row.
void AddRate(const Rate& rate, nlohmann::ordered_json* row);

// The columns of a rate, and its cells.
void AddRateColumns(Table* table);
void AddRateCells(const Rate& rate, std::vector<std::string>* row);

// "+1.2"; a dash for null.
std::string SignedPercent(std::optional<double> percent);
// For people: "0.982 %", "0.0000123 %"; a dash for null.
std::string PercentText(std::optional<double> probability);
// "%.2f" and the like.
std::string Fixed(double value, int decimals);
// A probability without its noise: "0.01", "1e-05".
std::string Plain(double value);

}  // namespace bench

#endif  // TRELLIS_BENCH_FILTER_LAB_RATE_H_
