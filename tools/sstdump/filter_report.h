// The figures of `sstdump filter`: the filter's kind, its promised FPP and its measured FPP.
#ifndef TRELLIS_TOOLS_SSTDUMP_FILTER_REPORT_H_
#define TRELLIS_TOOLS_SSTDUMP_FILTER_REPORT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "bloom/filter_policy.h"
#include "lsm/bytes/wilson_interval.h"
#include "lsm/table/table.h"

namespace tools {

// The filter's answers about the table's own keys, and about absent keys within their range.
struct FilterMeasurement {
  uint64_t keys = 0;             // the table's keys, each asked once
  uint64_t false_negatives = 0;  // of these, denied
  uint64_t probes = 0;           // absent keys asked
  uint64_t probe_bytes = 0;      // bytes of these keys
  uint64_t passed = 0;           // absent keys that passed
  lsm::Interval interval;        // of the rate, 95 %
  std::vector<absl::Status>
      damage;  // of blocks, whose keys were not asked; and one for each false negative

  double rate() const {
    return probes == 0 ? 0 : static_cast<double>(passed) / static_cast<double>(probes);
  }
};

// The number of probes of which about 4,000 pass if the prediction is right.  The interval then
// extends 3 % of the rate to each side.  Within [20,000, 10,000,000].
uint64_t ProbesFor(double predicted_fpp);

// Limit for absent keys, in bytes: takes about a second.  With keys of more than 107 bytes it
// allows fewer than 10 million probes.
inline constexpr uint64_t kProbeBytes = uint64_t{1} << 30;
// The limit if the user gave a number of probes: a minute or two.
inline constexpr uint64_t kProbeBytesMax = uint64_t{100} << 30;

// Reads the whole table and asks its filter about `probes` absent keys.  Asks about fewer if there
// is no room between keys, about none in a table of one key, and about no more after `probe_bytes`
// bytes of absent keys.  REQUIRES: the filter is usable.
FilterMeasurement MeasureFilter(const lsm::Table& table, uint64_t probes,
                                uint64_t probe_bytes = kProbeBytes);

// The number of blocks of the filter (64 bytes: a line of the blocked kind) with this fill.
struct FillBin {
  double from = 0;  // share of ones
  double to = 0;
  uint64_t blocks = 0;
};
// Bins of 5 % from the emptiest to the fullest block; empty if FilterReader::has_fill is false.
std::vector<FillBin> FillHistogram(const bloom::FilterReader& filter);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_FILTER_REPORT_H_
