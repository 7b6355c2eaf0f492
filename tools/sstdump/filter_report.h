// What a filter is, what it promises, and what it does: the figures of `sstdump filter`.
#ifndef TRELLIS_TOOLS_SSTDUMP_FILTER_REPORT_H_
#define TRELLIS_TOOLS_SSTDUMP_FILTER_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bloom/filter_policy.h"
#include "lsm/bytes/wilson_interval.h"
#include "lsm/table/table.h"
#include "tools/sstdump/store/absent_keys.h"

namespace tools {

// The filter asked about the table's own keys, and about absent ones within their range.
struct FilterMeasurement {
  uint64_t keys = 0;             // of the table, each asked once
  uint64_t false_negatives = 0;  // of these: lost
  uint64_t probes = 0;           // absent keys asked
  uint64_t probe_bytes = 0;      // of these keys
  uint64_t passed = 0;           // of the absent keys
  lsm::Interval interval;        // of the rate, 95 %
  std::vector<absl::Status>
      damage;  // of blocks, whose keys were not asked; and of each false negative

  double rate() const {
    return probes == 0 ? 0 : static_cast<double>(passed) / static_cast<double>(probes);
  }
};

// As many that about 4,000 pass if the prediction holds, so that the interval is 3 % of the rate to
// each side; within [20,000, 10,000,000].
uint64_t ProbesFor(double predicted_fpp);

// Of absent keys, in bytes: what takes a second.  Keys of more than 107 bytes have fewer than 10
// million probes.
inline constexpr uint64_t kProbeBytes = uint64_t{1} << 30;
// The same where a number was asked for: a minute or two.
inline constexpr uint64_t kProbeBytesMax = uint64_t{100} << 30;

// Reads the whole table.  REQUIRES: its filter is usable.  `probes` is how many absent keys to ask;
// there are fewer where keys have no room between them, and none in a table of one key.  None is
// made after `probe_bytes` bytes of them.
FilterMeasurement MeasureFilter(const lsm::Table& table, uint64_t probes,
                                uint64_t probe_bytes = kProbeBytes);

// How many blocks of the filter (64 bytes: a line of the blocked kind) are as full as that.
struct FillBin {
  double from = 0;  // share of ones
  double to = 0;
  uint64_t blocks = 0;
};
// Bins of 5 % from the emptiest to the fullest block; none where FilterReader::has_fill is false.
std::vector<FillBin> FillHistogram(const bloom::FilterReader& filter);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_FILTER_REPORT_H_
