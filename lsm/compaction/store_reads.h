// The counts of wasted reads of a store's tables, as a job uses them: how hot each table is, and
// each range of keys of the tables that the job reads.
//
// A job's outputs inherit the counts of its inputs by ranges of keys, so what is known of a range
// outlives the tables; it does not outlive the store's being open.
#ifndef TRELLIS_LSM_COMPACTION_STORE_READS_H_
#define TRELLIS_LSM_COMPACTION_STORE_READS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/filters/hotness.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

class StoreReads {
 public:
  // As counted until now; `counters`, the store's, may be null.  The version must outlive it.
  StoreReads(const Version& version, const Counters* counters);

  WastedReads Of(const OpenTable& table) const;
  const HotnessScale& scale() const { return scale_; }
  // HotnessStepOf, for a table.
  int StepOf(const OpenTable& table) const { return StepOf(Of(table)); }
  int StepOf(const WastedReads& reads) const { return HotnessStepOf(scale_.HotnessOf(reads)); }

 private:
  std::map<const OpenTable*, WastedReads> tables_;
  HotnessScale scale_;
};

// The same of those tables that a job reads, by ranges of keys; immutable.
class InputReads {
 public:
  InputReads() = default;
  // Keeps the tables open.
  InputReads(const StoreReads& store, OpenTables inputs);

  struct Range {
    std::string_view from;  // lives as long as this
    double keys = 0;
    double file_bytes = 0;
    WastedReads reads;
  };
  // The range [from, to); nullopt: to the end.  As if each block of a table had the same number of
  // keys and the same part of the counts.
  Range Between(std::string_view from, std::optional<std::string_view> to) const;
  // Cut where an input begins; together they are all inputs.
  std::vector<Range> Ranges() const;
  // The counts to expect of a table that begins at `from` and takes about `bytes` of the inputs.
  WastedReads Ahead(std::string_view from, uint64_t bytes) const;

 private:
  struct Input {
    std::shared_ptr<const OpenTable> table;
    WastedReads reads;
  };
  std::vector<Input> inputs_;
  std::vector<std::string_view> cuts_;  // user keys, ascending
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_STORE_READS_H_
