// The filters of the tables that one job writes: one for all tables, or one for each by the hotness
// of its keys.
#ifndef TRELLIS_LSM_COMPACTION_OUTPUT_FILTERS_H_
#define TRELLIS_LSM_COMPACTION_OUTPUT_FILTERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"
#include "lsm/base/key_span.h"
#include "lsm/compaction/store_reads.h"
#include "lsm/filters/hotness.h"

namespace lsm::inline TRELLIS_ABI {

// The filter that a table gets.
struct TableFilter {
  std::shared_ptr<const bloom::FilterPolicy> policy;  // null: none
  double target_fpp = 0.01;
  std::string reason;  // the table's property `filter_reason`
  // Filter and index are cut into partitions of this size; 0: they are whole.
  size_t partition_bytes = 0;
};

// Immutable, once its partitions are set.
class OutputFilters {
 public:
  struct Choice {
    int hotness_step = 0;  // for tables whose step is nearest to this
    TableFilter filter;
  };

  // NOLINTNEXTLINE(google-explicit-constructor): most jobs have one for all.
  OutputFilters(TableFilter filter) : choices_{{0, std::move(filter)}} {}
  // Chooses by the counts of the tables that the job reads.  REQUIRES: at least one choice.
  OutputFilters(std::vector<Choice> choices, InputReads inputs, const HotnessScale& scale,
                uint64_t table_bytes)
      : choices_(std::move(choices)),
        inputs_(std::move(inputs)),
        scale_(scale),
        table_bytes_(table_bytes) {}

  // For all choices.
  void set_partition_bytes(size_t bytes) {
    for (Choice& choice : choices_) choice.filter.partition_bytes = bytes;
  }

  // The filter of a table that begins with this key.
  const TableFilter& For(std::string_view user_key) const;

  // The counts that a table with these keys inherits.
  WastedReads InheritedBy(const KeySpan& span) const;

 private:
  std::vector<Choice> choices_;
  InputReads inputs_;
  HotnessScale scale_;
  uint64_t table_bytes_ = 0;  // of a usual table
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_OUTPUT_FILTERS_H_
